"""A project reads the events that were its own when they happened, masked as the API's answers are."""

from typing import Any

from tests.functional.scheduling.test_events import ADMIN, ANNA, BERT, CONSUMER, Reader, message
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, Service


def test_a_change_of_owner_is_two_events(secured: Service) -> None:
    uuid = secured.add_node("n1", owner="a")
    readers = [Reader(secured, headers) for headers in (ADMIN, ANNA, BERT)]
    secured.patch(uuid, ("add", "/owner", "b"), ("add", "/description", "x"))
    lost, got = {"before": "a", "after": None}, {"before": None, "after": "b"}
    everything, annas, berts = ([event["data"]["changed"] for event in reader.next()] for reader in readers)
    assert annas == [{"owner": lost}]
    assert berts == [{"description": {"before": None, "after": "x"}, "owner": got}]
    assert everything == annas + berts
    secured.patch(uuid, ("add", "/lessee", "a"))
    secured.patch(uuid, ("remove", "/lessee"))
    assert [[event["data"]["owner"] for event in reader.next()] for reader in readers[1:]] == [["b", "b"]] * 2
    secured.patch(uuid, ("add", "/shard", "s"))
    assert [len(reader.next()) for reader in readers] == [3, 0, 1]


def test_a_machine_that_changes_the_project_is_released_and_claimed(secured: Service) -> None:
    """Each of both projects hears of the beginning and of the end of what was its own."""
    first, second = secured.add_node("n1"), secured.add_node("n2")
    readers = {headers["X-Auth-Token"][-1]: Reader(secured, headers) for headers in (ANNA, BERT)}

    def heard() -> dict[str, list[tuple[str, str]]]:
        return {
            project: [(event["type"].rpartition(".")[2], event["subject"]) for event in reader.next()]
            for project, reader in readers.items()
        }

    _claim(secured, first, "a", None)
    assert heard() == {"a": [("claimed", first)], "b": []}
    _claim(secured, first, "b", 1)
    assert heard() == {"a": [("released", first)], "b": [("claimed", first)]}
    _claim(secured, second, "a", 2)
    assert heard() == {"a": [("claimed", second)], "b": [("released", first)]}
    _claim(secured, second, "a", 3)
    assert heard() == {"a": [], "b": []}


def test_a_consumer_does_not_see_whose_its_machine_is(secured: Service) -> None:
    uuid = secured.add_node("n1", owner="a")
    annas, berts = Reader(secured, ANNA), Reader(secured, BERT)
    _claim(secured, uuid)
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


def test_owner_and_lessee_of_one_request_do_not_hear_of_their_successors(secured: Service) -> None:
    uuid = secured.add_node("n1", owner="a", lessee="b")
    annas, berts = Reader(secured, ANNA), Reader(secured, BERT)
    secured.patch(uuid, ("add", "/owner", "c"), ("add", "/lessee", "d"), ("add", "/name", "new"))
    (of_owner,), (of_lessee,) = annas.next(), berts.next()
    assert of_owner == of_lessee
    lost = {"owner": {"before": "a", "after": None}, "lessee": {"before": "b", "after": None}}
    known = {name: of_owner["data"][name] for name in ("changed", "owner", "lessee", "name")}
    assert known == {"changed": lost, "owner": None, "lessee": None, "name": "n1"}
    for before in ({"owner": None, "lessee": "a"}, {"owner": "b", "lessee": None}):
        secured.set_columns(uuid, **before)
        number_all(secured)
        of_a, of_b = Reader(secured, ANNA), Reader(secured, BERT)
        secured.patch(uuid, ("add", "/owner", "c"), ("add", "/lessee", "d"))
        (event,) = (*of_a.next(), *of_b.next())
        assert (event["data"]["owner"], event["data"]["lessee"]) == (None, None)


def test_errors_and_actors_are_masked(secured: Service) -> None:
    uuid = secured.add_node("n1", owner="a", lessee="b")
    admins, annas, berts = (Reader(secured, headers) for headers in (ADMINISTRATOR, ANNA, BERT))
    secured.set_columns(uuid, last_error="the disk")
    told = [reader.next()[0]["data"]["changed"]["last_error"]["after"] for reader in (admins, annas, berts)]
    assert told[:2] == ["the disk"] * 2
    assert "Redacted" in told[2]
    body = {"type": "window", "reason": "x"}
    secured.http.post_json(f"/scheduling/v1/nodes/{uuid}/holds", body, headers=ADMINISTRATOR, status=201)
    actors = []
    for reader in (admins, annas, berts):
        holds = [event["data"]["hold"] for event in reader.next() if "hold" in event["data"]]
        actors += [hold["asserted_by"] for hold in holds]
    assert (actors[0], actors[1:]) == ("admin", [None, None])


def test_who_may_read_none(secured: Service) -> None:
    guest = {"X-Auth-Token": "carl:c", "X-Roles": "guest"}
    assert "scheduling:events:get" in message(secured.http.get("/scheduling/v1/events", headers=guest, status=403))
