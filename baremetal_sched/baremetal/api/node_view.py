"""A node as JSON."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Row, select

from baremetal_sched.baremetal import states
from baremetal_sched.baremetal.api.view import Column, Render, Resource, View, masked, uuid_of_parent
from baremetal_sched.baremetal.node_fields import FIELDS, LIST_DEFAULT
from baremetal_sched.baremetal.node_list import missing
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.aggregate import joined
from baremetal_sched.db.models import Chassis, Node, NodeTrait
from baremetal_sched.db.types import as_text

#: Below these, clients do not know the state.
AVAILABLE_SINCE = 2
INSPECT_WAIT_SINCE = 39


class NodeView(View):
    """Some ``fields`` of nodes; for ``conductor`` it has to know the live ones: ``membership``."""

    def __init__(
        self,
        resource: Resource,
        fields: Iterable[str],
        version: int,
        base: str,
        membership: Membership | None = None,
        *,
        with_links: bool = True,
    ) -> None:
        names = tuple(fields)
        super().__init__(resource, names, version, base, with_links=with_links)
        self._membership = membership if "conductor" in names else None
        self._group_at = len(self.columns)
        if self._membership is not None:
            self.columns += [Node.conductor_group.expression, Node.driver.expression]

    def column(self, name: str) -> Column | None:
        match name:
            case "conductor":
                return None
            case "traits":
                return _traits_column(), _traits
            case "chassis_uuid":
                return uuid_of_parent(Chassis, Node.chassis_id), None
            case "provision_state":
                return Node.provision_state.expression, _provision_state(self.version)
            case "instance_info":
                return as_text(Node.instance_info.expression), partial(masked, instance=True)
            case _:
                return super().column(name)

    def render(self, row: Row[Any]) -> dict[str, Any]:
        document = super().render(row)
        if self._membership is not None:
            group, driver = row[self._group_at : self._group_at + 2]
            document["conductor"] = self._membership.owner(row[0], group, driver)
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


def _traits_column() -> ColumnElement[Any]:
    """(SELECT group_concat(trait) FROM node_traits WHERE node_id = nodes.id)"""
    return select(joined(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()


def _traits(text: str | None) -> list[str]:
    return sorted(text.split(",")) if text else []


def _provision_state(version: int) -> Render | None:
    if version < AVAILABLE_SINCE:
        return lambda state: None if state == states.AVAILABLE else state
    if version < INSPECT_WAIT_SINCE:
        return lambda state: states.INSPECTING if state == states.INSPECTWAIT else state
    return None
