"""Nodes and verbs, as the tests of provisioning use them."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provisioning import provision
from baremetal_sched.db.models import NodeHistory
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.machines.machine import Machine
from tests.service import Service

LOG_STEP = {"interface": "vendor", "step": "log_passthrough"}
RESET_STEP = {"interface": "bios", "step": "factory_reset"}
WAIT_STEP = {"interface": "vendor", "step": "wait"}
HOLD_STEP = {"interface": "deploy", "step": "hold"}


def enrol(service: Service) -> str:
    """The node n1, which is enrolled only; returns its UUID."""
    body = {"driver": "fake-hardware", "name": "n1", "resource_class": "gold"}
    created: str = service.baremetal("POST", "/nodes", body).json["uuid"]
    return created


def ask(service: Service, verb: Any, *, version: str = "1.115", status: int = 202, **more: Any) -> Any:
    """Ask for a verb on n1, and no more."""
    body = {"target": verb, **more}
    return service.baremetal("PUT", "/nodes/n1/states/provision", body, version=version, status=status)


def do(service: Service, verb: str, **more: Any) -> dict[str, Any]:
    """Ask for a verb and let the conductor do its work; returns the node."""
    ask(service, verb, **more)
    service.work()
    return service.node("n1")


def resume(service: Service) -> None:
    """Say that the agent on n1 has reported; the conductor has not done its work yet."""
    service.database.write(
        lambda session: provision.resume(
            session, nodes.find_for_change(session, "n1"), live_members(session, service.app.settings)
        )
    )


def put_into(service: Service, uuid: str, state: str, **columns: Any) -> None:
    """Let the node be in a provision state, behind everybody's back."""
    service.set_columns(uuid, provision_state=state, **columns)


def state_of(node: dict[str, Any]) -> tuple[Any, Any]:
    """Its provision state, and where that is to lead."""
    return node["provision_state"], node["target_provision_state"]


def offered(service: Service) -> bool:
    """Is the node a candidate in placement?"""
    return bool(service.candidates("resources=CUSTOM_GOLD:1"))


def events(service: Service, kind: str) -> list[str]:
    """The events in the history whose types begin like that."""
    query = select(NodeHistory.event).where(NodeHistory.event_type.like(f"{kind}%")).order_by(NodeHistory.id)
    return list(service.database.read(lambda session: session.scalars(query).all()))


def failing(error: Exception) -> Callable[..., Any]:
    """The step ``log_passthrough`` as it raises ``error``."""

    def step(self: FakeVendor, machine: Machine) -> Any:
        raise error

    step.__dict__.update(FakeVendor.log_passthrough.__dict__)
    return step
