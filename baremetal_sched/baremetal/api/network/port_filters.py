"""The filters that lists of ports and lists of portgroups share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import NAMES, BaremetalCall
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.nodes.node_list import in_shards
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, Port, Portgroup
from baremetal_sched.documents.schema import canonical_mac, canonical_uuid
from baremetal_sched.errors import InvalidValue


@dataclass(frozen=True)
class PortFilters:
    """The node (by UUID or name), a MAC address, and shards and conductor groups of nodes; None or empty if not asked
    for."""

    node: str | None
    address: str | None
    shards: Sequence[str] | None
    groups: Sequence[str]

    @classmethod
    def parse(cls, call: BaremetalCall, query: BaremetalQuery, node: str | None) -> Self:
        """The filters of the request; ``node``, if the path or another parameter names one, wins. Raises InvalidValue,
        TooNew."""
        return cls(node or _node(call, query), _address(query), query.items("shard"), query.names("conductor_groups"))

    def conditions(
        self, session: Session, model: type[Port | Portgroup], visible: Visibility
    ) -> list[ColumnElement[bool]]:
        """The filters as conditions on ports or portgroups of ``visible`` nodes. Raises NodeNotFound."""
        conditions: list[ColumnElement[bool]] = []
        if self.node is not None:
            conditions.append(model.node_id == nodes.find(session, self.node, visible).id)
        if self.address is not None:
            conditions.append(model.address == self.address)
        if self.shards is not None:
            conditions.append(_on_nodes(model, in_shards(self.shards)))
        if self.groups:
            conditions.append(_on_nodes(model, Node.conductor_group.in_(self.groups)))
        return conditions


def _node(call: BaremetalCall, query: BaremetalQuery) -> str | None:
    """The parameter ``node``: a UUID, or, where the client knows names, a name."""
    ident = query.ident("node")
    if ident is not None and canonical_uuid(ident) is None:
        call.require_version(NAMES)
    return ident


def _address(query: BaremetalQuery) -> str | None:
    """The parameter ``address``: a MAC address."""
    text = query.text("address")
    address = None if text is None else canonical_mac(text)
    if text is not None and address is None:
        raise InvalidValue(message=f"Expected valid MAC address for address: {text}")
    return address


def _on_nodes(model: type[Port | Portgroup], condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """node_id IN (SELECT id FROM nodes WHERE <condition>)"""
    return model.node_id.in_(select(Node.id).where(condition))
