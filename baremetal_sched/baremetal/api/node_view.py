"""A node as JSON."""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import ColumnElement, case, func, null, select

from baremetal_sched.baremetal import states
from baremetal_sched.baremetal.api.view import Column, Resource, View, split_traits, uuid_of_parent
from baremetal_sched.baremetal.node_fields import FIELDS, LIST_DEFAULT
from baremetal_sched.baremetal.node_list import missing
from baremetal_sched.baremetal.ownership import LiveMembers, Membership
from baremetal_sched.baremetal.secrets import mask_text
from baremetal_sched.db.models import Chassis, Node, NodeTrait
from baremetal_sched.db.packing import concatenated, constant, joined
from baremetal_sched.db.types import as_text

#: Below these, clients do not know the state.
AVAILABLE_SINCE = 2
INSPECT_WAIT_SINCE = 39


class NodeView(View):
    """Some ``fields`` of nodes; for ``conductor`` it has to know the live ones, or to ask for them with the node."""

    def __init__(
        self,
        resource: Resource,
        fields: Iterable[str],
        version: int,
        base: str,
        conductors: Membership | LiveMembers | None = None,
        *,
        with_links: bool = True,
    ) -> None:
        names = tuple(fields)
        self._conductors = conductors if "conductor" in names else None
        more = None
        match self._conductors:
            case Membership():
                more = _key_and(None)
            case LiveMembers() as live:
                more = _key_and(live.column)
        super().__init__(resource, names, version, base, with_links=with_links, more=more)

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        match name:
            case "conductor":
                return None
            case "traits":
                return _traits_column(), split_traits
            case "chassis_uuid":
                return uuid_of_parent(Chassis, Node.chassis_id), None
            case "provision_state":
                return _provision_state(version), None
            case "instance_info":
                return as_text(Node.instance_info.expression), partial(mask_text, instance=True)
            case _:
                return super().column(name, resource, version)

    def computed(self, values: list[str]) -> dict[str, Any]:
        document = super().computed(values)
        if self._conductors is not None:
            group, driver, members = values[-1].split("\t", 2)
            live = self._conductors if isinstance(self._conductors, Membership) else self._conductors.read(members)
            document["conductor"] = live.owner(values[0], group, driver)
        return document


NODES = Resource(
    path="nodes",
    plural="nodes",
    model=Node,
    fields=FIELDS,
    list_default=LIST_DEFAULT,
    missing=missing,
    view=NodeView,
    invalid_field="Field {} is not a valid field.",
)


@lru_cache
def _key_and(members: ColumnElement[str | None] | None) -> ColumnElement[str]:
    """conductor_group || '\\t' || driver || '\\t' || (what ``LiveMembers`` asks for)"""
    key = (Node.conductor_group.expression, "\t", Node.driver.expression, "\t")
    return concatenated(*key, *(() if members is None else (func.coalesce(members, constant("")),)))


def _traits_column() -> ColumnElement[Any]:
    """(SELECT group_concat(trait) FROM node_traits WHERE node_id = nodes.id)"""
    return select(joined(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()


def _provision_state(version: int) -> ColumnElement[Any]:
    column: ColumnElement[Any] = Node.provision_state.expression
    if version < AVAILABLE_SINCE:
        return case((column == states.AVAILABLE, null()), else_=column)
    if version < INSPECT_WAIT_SINCE:
        return case((column == states.INSPECTWAIT, states.INSPECTING), else_=column)
    return column
