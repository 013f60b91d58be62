"""Virtual interfaces of a node's ports, which its network interface attaches."""

from collections.abc import Mapping
from typing import Any, NoReturn

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import driver_calls
from baremetal_sched.baremetal.conductors.driver_calls import Then
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.db.models import Node

#: The network interface that ignores virtual interfaces.
_NOOP = "noop"


def list_vifs(session: Session, node: Node, membership: Membership) -> list[dict[str, str]]:
    """What is attached, each ``{"id": …}``. Raises Unanswered."""
    found: list[dict[str, str]] = driver_calls.answer(session, node, membership, "network.vif_list")
    return found


def attach(node: Node, membership: Membership, vif: Mapping[str, Any], then: Then) -> NoReturn:
    """Attach a virtual interface to a free port of the node."""
    driver_calls.order(node, membership, "network.vif_attach", {"vif": dict(vif)}, then)


def detach(node: Node, membership: Membership, vif_id: str, then: Then) -> NoReturn:
    """Detach a virtual interface from the node."""
    driver_calls.order(node, membership, "network.vif_detach", {"vif_id": vif_id}, then)


def follow_port(
    session: Session, node: Node, membership: Membership, uuid: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Have the network interface of the node follow a change of a port before that is written.

    Raises Unanswered until it has, and what the driver raises.
    """
    _follow(session, node, membership, "port", uuid, before, after)


def follow_portgroup(
    session: Session, node: Node, membership: Membership, uuid: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """The same of a portgroup."""
    _follow(session, node, membership, "portgroup", uuid, before, after)


def _follow(
    session: Session,
    node: Node,
    membership: Membership,
    kind: str,
    uuid: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    if node.network_interface != _NOOP:
        asked = {kind: uuid, "before": dict(before), "after": dict(after)}
        driver_calls.answer(session, node, membership, f"network.{kind}_changed", asked, reserves=True)
