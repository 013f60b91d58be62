"""The sample fleet of ``baremetal-sched demo``, and its story in process; tests/clients runs the real command."""

import io
import json
from collections.abc import Iterator
from importlib.resources import as_file, files
from typing import Any

import os_traits
import pytest
from ironicclient.v1.create_resources import load_from_file
from ironicclient.v1.node import NodeManager
from rich.console import Console

from baremetal_sched.cli.demo import client, steps
from baremetal_sched.cli.demo.client import DemoAnswer, DemoClient
from baremetal_sched.cli.demo.service import CONDUCTORS
from baremetal_sched.cli.demo.show import Show
from baremetal_sched.cli.demo.steps import Story
from baremetal_sched.placement.names import resource_class_of
from tests.functional.scheduling.ended import sweep
from tests.passing_time import go_by
from tests.service import Service

MACHINES = client.load()


class ClientInProcess(DemoClient):
    """The demo's client without a socket: the service is in this process, and its conductors work at once."""

    def __init__(self, service: Service) -> None:
        super().__init__("http://demo.invalid")
        self._service = service

    def send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> DemoAnswer:
        data = {} if body is None else {"body": json.dumps(body).encode(), "content_type": "application/json"}
        response = self._service.http.request(path, method=method, headers=headers, status="*", **data)
        if "/states/" in path:
            self._service.work()
        if method == "GET" and "/claims/" in path:
            self._let_claims_end()
        return DemoAnswer(response.status_int, response.json if response.body else None)

    def _let_claims_end(self) -> None:
        """Let two seconds pass, and the conductors look for claims that have ended."""
        go_by(self._service, 2.0)
        for host in CONDUCTORS:
            sweep(self._service, host)


def service_for_demo(database_url: str) -> Service:
    """The service in process, with the conductors that the demo gives it."""
    service = Service(database_url)
    for host, group in CONDUCTORS.items():
        service.add_conductor(host, group)
    return service


@pytest.fixture
def demo_service(database_url: str) -> Iterator[Service]:
    with service_for_demo(database_url) as service:
        yield service


def test_size() -> None:
    """Twenty nodes with names of their own, three groups that have conductors, three classes, some maintenance."""
    assert len(MACHINES) == 20
    assert len({machine.name for machine in MACHINES}) == 20
    assert {machine.group for machine in MACHINES} == set(CONDUCTORS.values())
    assert len({machine.group for machine in MACHINES}) == 3
    assert len({machine.resource_class for machine in MACHINES}) == 3
    assert 2 <= sum(machine.maintenance is not None for machine in MACHINES) <= 5


def test_every_class_in_every_group() -> None:
    pairs = {(machine.group, machine.resource_class) for machine in MACHINES}
    assert len(pairs) == 9


def test_traits_are_real() -> None:
    """Traits are those of os-traits or CUSTOM_ ones, of both kinds in every node, and none twice."""
    known = set(os_traits.get_traits())
    for machine in MACHINES:
        listed = machine.fields["extra"]["traits"]
        assert len(listed) == len(machine.traits)
        custom = {trait for trait in machine.traits if os_traits.is_custom(trait)}
        assert custom
        assert custom < machine.traits <= known | custom


def test_file_is_what_openstack_baremetal_create_takes() -> None:
    with as_file(files("baremetal_sched.cli.demo").joinpath("fleet.yaml")) as path:
        document = load_from_file(str(path))
    assert list(document) == ["nodes"]
    assert document["nodes"] == [machine.fields for machine in MACHINES]
    for machine in MACHINES:
        assert machine.fields.keys() <= set(NodeManager._creation_attributes)


def test_fields_are_accepted(demo_service: Service) -> None:
    """As they stand in the file, in one POST each."""
    for machine in MACHINES:
        node = demo_service.baremetal("POST", "/nodes", machine.fields, status=201).json
        assert {name: node[name] for name in machine.fields} == machine.fields


def test_questions_tell_something() -> None:
    """Conditions exclude some and leave some; the last question is the one that no machine fits."""
    *questions, (_, last) = steps._QUESTIONS
    for _, wish in (*questions, steps._CLAIM):
        everybody = {machine.name for machine in MACHINES if machine.resource_class == wish.resource_class}
        assert set() < wish.answer(MACHINES) < everybody
    assert last.answer(MACHINES) == set()
    kinds = [(bool(wish.required), bool(wish.forbidden), bool(wish.any_of)) for _, wish in questions]
    assert {(True, False, False), (False, True, False), (False, False, True), (True, True, True)} <= set(kinds)


def test_query() -> None:
    wish = client.Wish("gold.v1", ("A", "B"), ("C",), ("D", "E"))
    assert wish.query == f"resources={resource_class_of('gold.v1')}:1&required=A,B,!C&required=in:D,E"
    assert client.Wish("gold").query == "resources=CUSTOM_GOLD:1"


def test_story(demo_service: Service) -> None:
    """Everything comes out as it should, and at the end nothing is claimed."""
    output = io.StringIO()
    show = Show(Console(file=output, width=120))
    Story(ClientInProcess(demo_service), MACHINES, CONDUCTORS, show).tell()
    assert show.closing(), output.getvalue()
    assert show.wrong == 0
    assert output.getvalue().count("✓") == show.right + len(CONDUCTORS) + 1
    for machine in MACHINES:
        uuid = demo_service.node(machine.name)["uuid"]
        assert demo_service.placement("GET", f"/resource_providers/{uuid}/allocations").json["allocations"] == {}
