"""Methods that only some hardware has."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import nodes, work
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.baremetal.drivers.vendor import VendorMethod
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

#: The kind of work that an asynchronous call is.
KIND = "vendor"


def methods(node: Node, settings: Settings) -> Mapping[str, VendorMethod]:
    """The methods of the node's vendor interface, by name."""
    return Driver(Machine.of(node, settings)).vendor.methods


def call(
    session: Session,
    node: Node,
    method: str,
    http_method: str,
    arguments: Mapping[str, Any],
    membership: Membership,
    settings: Settings,
) -> tuple[bool, Any]:
    """Call a method of the node (its row locked): is it done later, and what does it say if not?

    Raises NoValidHost, NoConductors, NodeLocked, InvalidValue if there is no such method or if it does not take this.
    """
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    machine = Machine.of(node, settings)
    vendor = Driver(machine).vendor
    known = vendor.methods.get(method)
    if known is None:
        raise InvalidValue(message=f"No handler for method {method}")
    if http_method not in known.http_methods:
        raise InvalidValue(message=f"The method {method} does not support HTTP {http_method}")
    vendor.validate_call(machine, method, arguments)
    if known.asynchronous or known.require_exclusive_lock:
        nodes.require_unlocked(node)
    if not known.asynchronous:
        return False, vendor.call(machine, method, arguments)
    work.request(session, node, owner, KIND, {"method": method, "arguments": dict(arguments)})
    return True, None


def finish(session: Session, work_id: int, conductor: str, error: str | None) -> bool:
    """An asynchronous call has ended. False, and nothing is written, if the work was taken away meanwhile."""
    node = work.finish(session, work_id, conductor)
    if node is None:
        return False
    if error is not None:
        node.last_error = error
    return True
