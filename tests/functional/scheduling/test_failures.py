"""Allocations and servers that find no machine say why, and are never delayed or failed by that."""

import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import explanation
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from tests.database.test_explanation_limits import SLOW
from tests.functional.compute.world import ZEROS
from tests.functional.scheduling.test_explanations import post
from tests.service import Service

SPECS = {"resources:CUSTOM_GOLD": "1", "trait:CUSTOM_NVEM": "required", **ZEROS}
SAID = (
    "No node matches. Of 2 nodes, 2 lack CUSTOM_NVEM; 2 would match if nodes that lack CUSTOM_NVEM were accepted; did "
    "you mean CUSTOM_NVME instead of CUSTOM_NVEM?"
)


def allocate(service: Service, **more: Any) -> Any:
    body = {"resource_class": "gold", "traits": ["CUSTOM_NVEM"], **more}
    uuid = service.baremetal("POST", "/allocations", body, status=201).json["uuid"]
    return service.baremetal("GET", f"/allocations/{uuid}").json


def boot(service: Service) -> Any:
    flavor = {"name": "f", "id": "f", "ram": 1, "vcpus": 1, "disk": 1}
    service.compute("POST", "/flavors", {"flavor": flavor})
    service.compute("POST", "/flavors/f/os-extra_specs", {"extra_specs": SPECS})
    image = service.http.post_json("/image/v2/images", {"name": "i"}).json["id"]
    server = {"name": "s", "flavorRef": "f", "imageRef": image, "networks": "none"}
    uuid = service.compute("POST", "/servers", {"server": server}, status=202).json["server"]["id"]
    return service.compute("GET", f"/servers/{uuid}").json["server"]


def last_error(allocation: Any) -> str:
    found: str = allocation["last_error"]
    return found.removeprefix(f"Failed to process allocation {allocation['uuid']}: ")


def test_the_same_words_everywhere(service: Service, lines: io.StringIO) -> None:
    for name in ("n1", "n2"):
        service.add_node(name, traits=("CUSTOM_NVME",))
    allocation, server = allocate(service), boot(service)
    assert last_error(allocation) == SAID
    said = f"No valid host was found. {SAID}"
    assert (server["status"], server["fault"]["message"]) == ("ERROR", said)
    explained = post(service, resource_class="gold", traits=["CUSTOM_NVEM"])
    assert explained["summary"] == SAID
    assert post(service, query="resources=CUSTOM_GOLD:1&required=CUSTOM_NVEM")["summary"] == SAID
    flavor = {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": SPECS}
    assert post(service, flavor=flavor)["summary"] == SAID
    dry_run = service.http.post_json("/scheduling/v1/requests", {"flavor": flavor}).json
    assert dry_run["reason"] == said
    logged = [json.loads(line) for line in lines.getvalue().splitlines()]
    noted = {each["event"]: each["reason"] for each in logged if "reason" in each}
    assert noted["an allocation failed"] == SAID
    assert noted["no machine fits a server"] == said


def test_the_same_words_for_an_owner(service: Service) -> None:
    service.add_node("n1", owner="anna")
    service.add_node("n2", owner="bert", traits=("CUSTOM_NVEM",))
    said = last_error(allocate(service, owner="anna"))
    assert said.startswith("No node matches. Of 2 nodes, 1 belongs to another project or to no project and 1 lacks")
    assert post(service, resource_class="gold", traits=["CUSTOM_NVEM"], owner="anna")["summary"] == said


def test_more_than_a_node_can_give(service: Service) -> None:
    service.add_node("n1")
    flavor = {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": {**ZEROS, "resources:CUSTOM_GOLD": "2"}}
    found = post(service, flavor=flavor)
    assert found["summary"] == "No node matches. Of 1 node, 1 cannot give 2 of CUSTOM_GOLD."


def test_no_explanation_is_made_for_a_success(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_NVEM",))
    with service.statements() as seen:
        assert allocate(service)["state"] == "active"
    assert not [statement for statement in seen if "word_0" in statement]
    with service.statements() as seen:
        assert allocate(service)["state"] == "error"
    assert len([statement for statement in seen if "word_0" in statement]) == 1
    with service.statements() as more:
        assert allocate(service, traits=["CUSTOM_NVEM", "CUSTOM_NVME"])["state"] == "error"
    # Once more for names that there are not.
    assert len(more) - len(seen) in range(3)


@pytest.fixture
def occupied() -> Iterator[None]:
    with ExitStack() as others:
        for _ in range(explanation.AT_ONCE):
            others.enter_context(explanation.one_of_few())
        yield


@pytest.mark.sqlite_only
def test_too_many_explanations(service: Service, occupied: None) -> None:
    service.add_node("n1")
    assert last_error(allocate(service)) == FALLBACK
    assert boot(service)["fault"]["message"] == f"No valid host was found. {FALLBACK}"


@pytest.mark.ci
def test_an_explanation_that_takes_too_long(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction's earlier changes stay, on each database."""

    def slow(session: Session, *arguments: Any) -> None:
        session.execute(text(SLOW[service.database.engine.dialect.name])).all()

    service.add_node("n1")
    monkeypatch.setattr(explanation, "scan", slow)
    monkeypatch.setattr(explanation, "_SECONDS", 0.1)
    allocation = allocate(service, name="mine")
    assert (allocation["state"], last_error(allocation)) == ("error", FALLBACK)
    assert boot(service)["fault"]["message"] == f"No valid host was found. {FALLBACK}"
    monkeypatch.undo()
    assert "lacks CUSTOM_NVEM" in last_error(allocate(service))
