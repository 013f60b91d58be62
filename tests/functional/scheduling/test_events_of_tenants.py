"""A project reads the events that were its own when they happened, masked as the API's answers are."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.scheduling.test_events import ADMIN, ANNA, BERT, CONSUMER, Reader, message
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, Service


@pytest.fixture
def served(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        yield service


def test_a_change_of_owner_is_two_events(served: Service) -> None:
    uuid = served.add_node("n1", owner="a")
    readers = [Reader(served, headers) for headers in (ADMIN, ANNA, BERT)]
    served.patch(uuid, ("add", "/owner", "b"), ("add", "/description", "x"))
    lost, got = {"before": "a", "after": None}, {"before": None, "after": "b"}
    everything, annas, berts = ([event["data"]["changed"] for event in reader.next()] for reader in readers)
    assert annas == [{"owner": lost}]
    assert berts == [{"description": {"before": None, "after": "x"}, "owner": got}]
    assert everything == annas + berts
    served.patch(uuid, ("add", "/lessee", "a"))
    served.patch(uuid, ("remove", "/lessee"))
    assert [[event["data"]["owner"] for event in reader.next()] for reader in readers[1:]] == [["b", "b"]] * 2
    served.patch(uuid, ("add", "/shard", "s"))
    assert [len(reader.next()) for reader in readers] == [3, 0, 1]


def test_a_machine_that_changes_the_project_is_released_and_claimed(served: Service) -> None:
    """Each of both projects hears of the beginning and of the end of what was its own."""
    first, second = served.add_node("n1"), served.add_node("n2")
    readers = {headers["X-Auth-Token"][-1]: Reader(served, headers) for headers in (ANNA, BERT)}

    def heard() -> dict[str, list[tuple[str, str]]]:
        return {
            project: [(event["type"].rpartition(".")[2], event["subject"]) for event in reader.next()]
            for project, reader in readers.items()
        }

    _claim(served, first, "a", None)
    assert heard() == {"a": [("claimed", first)], "b": []}
    _claim(served, first, "b", 1)
    assert heard() == {"a": [("released", first)], "b": [("claimed", first)]}
    _claim(served, second, "a", 2)
    assert heard() == {"a": [("claimed", second)], "b": [("released", first)]}
    _claim(served, second, "a", 3)
    assert heard() == {"a": [], "b": []}


def test_a_consumer_does_not_see_whose_its_machine_is(served: Service) -> None:
    uuid = served.add_node("n1", owner="a")
    annas, berts = Reader(served, ANNA), Reader(served, BERT)
    _claim(served, uuid)
    (of_owner,), (of_consumer,) = annas.next(), berts.next()
    assert of_owner["id"] == of_consumer["id"]
    assert (of_owner["data"]["name"], of_owner["data"]["consumer"]) == ("n1", None)
    assert of_consumer["data"]["consumer"]["uuid"] == CONSUMER
    assert of_consumer["data"].keys() == {"uuid", "consumer"}


def _claim(service: Service, node: str, project: str = "b", generation: int | None = None) -> None:
    body: dict[str, Any] = {"allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}}, "project_id": project}
    body |= {"user_id": "u", "consumer_generation": generation, "consumer_type": "INSTANCE"}
    headers = {"OpenStack-API-Version": "placement 1.39", "X-Auth-Token": "nova:services", "X-Roles": "admin,service"}
    service.http.put_json(f"/placement/allocations/{CONSUMER}", body, headers=headers, status=204)


def test_owner_and_lessee_of_one_request_do_not_hear_of_their_successors(served: Service) -> None:
    uuid = served.add_node("n1", owner="a", lessee="b")
    annas, berts = Reader(served, ANNA), Reader(served, BERT)
    served.patch(uuid, ("add", "/owner", "c"), ("add", "/lessee", "d"), ("add", "/name", "new"))
    (of_owner,), (of_lessee,) = annas.next(), berts.next()
    assert of_owner == of_lessee
    lost = {"owner": {"before": "a", "after": None}, "lessee": {"before": "b", "after": None}}
    known = {name: of_owner["data"][name] for name in ("changed", "owner", "lessee", "name")}
    assert known == {"changed": lost, "owner": None, "lessee": None, "name": "n1"}
    for before in ({"owner": None, "lessee": "a"}, {"owner": "b", "lessee": None}):
        served.set_columns(uuid, **before)
        number_all(served)
        of_a, of_b = Reader(served, ANNA), Reader(served, BERT)
        served.patch(uuid, ("add", "/owner", "c"), ("add", "/lessee", "d"))
        (event,) = (*of_a.next(), *of_b.next())
        assert (event["data"]["owner"], event["data"]["lessee"]) == (None, None)


def test_errors_and_actors_are_masked(served: Service) -> None:
    uuid = served.add_node("n1", owner="a", lessee="b")
    admins, annas, berts = (Reader(served, headers) for headers in (ADMINISTRATOR, ANNA, BERT))
    served.set_columns(uuid, last_error="the disk")
    told = [reader.next()[0]["data"]["changed"]["last_error"]["after"] for reader in (admins, annas, berts)]
    assert told[:2] == ["the disk"] * 2
    assert "Redacted" in told[2]
    body = {"type": "window", "reason": "x"}
    served.http.post_json(f"/scheduling/v1/nodes/{uuid}/holds", body, headers=ADMINISTRATOR, status=201)
    actors = []
    for reader in (admins, annas, berts):
        holds = [event["data"]["hold"] for event in reader.next() if "hold" in event["data"]]
        actors += [hold["asserted_by"] for hold in holds]
    assert (actors[0], actors[1:]) == ("admin", [None, None])


def test_who_may_read_none(served: Service) -> None:
    guest = {"X-Auth-Token": "carl:c", "X-Roles": "guest"}
    assert "scheduling:events:get" in message(served.http.get("/scheduling/v1/events", headers=guest, status=403))
