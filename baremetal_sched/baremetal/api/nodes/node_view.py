"""A node as JSON."""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import orjson
from sqlalchemy import ColumnElement, case, null, select

from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource, split_traits
from baremetal_sched.baremetal.conductors.ownership import LiveMembers, Membership
from baremetal_sched.baremetal.node_masking import mask_text
from baremetal_sched.baremetal.nodes.node_fields import FIELDS, LIST_DEFAULT
from baremetal_sched.baremetal.nodes.node_list import missing
from baremetal_sched.baremetal.nodes.redaction import NO_REDACTION, REPLACEMENTS, Redaction
from baremetal_sched.db.json_rows import uuid_of_parent
from baremetal_sched.db.keyring import Keyring
from baremetal_sched.db.models import Chassis, Node, NodeTrait
from baremetal_sched.db.sealing import whole_text
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.db.types import as_text
from baremetal_sched.documents.json_template import Template
from baremetal_sched.machines import states
from baremetal_sched.web.view import NO_LINKS, Column, Render, Resource

#: Below these, clients do not know the state.
AVAILABLE_SINCE = 2
INSPECT_WAIT_SINCE = 39


#: Stands for an object that is hidden. It is not JSON.
_HIDDEN = "-"


class NodeView(BaremetalView):
    """Some ``fields`` of nodes; for ``conductor`` it must know the live ones, or ask for them with the node.

    What ``redaction`` hides is replaced. See ``redacted``.
    """

    redaction = NO_REDACTION

    def __init__(
        self,
        resource: Resource,
        fields: Iterable[str],
        version: int,
        base: str,
        conductors: Membership | LiveMembers | None = None,
    ) -> None:
        names = tuple(fields)
        self._conductors = conductors if "conductor" in names else None
        more: tuple[ColumnElement[Any], ...] = ()
        if self._conductors is not None:
            asked = null() if isinstance(self._conductors, Membership) else self._conductors.column
            more = (Node.conductor_group.expression, Node.driver.expression, asked)
        super().__init__(resource, names, version, base, more=more)

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        found = cls._column(name, resource, version)
        restriction = cls.redaction.of(name)
        if found is None or restriction is None:
            return found
        expression, render = found
        if render is None:
            return restriction.expression(expression), None
        # The same for every node: the database says that it is hidden, and no more.
        replacement = orjson.Fragment(REPLACEMENTS[name])
        return restriction.expression(expression, _HIDDEN), partial(_rendered, render, replacement)

    @classmethod
    def _column(cls, name: str, resource: Resource, version: int) -> Column | None:
        match name:
            case "conductor":
                return None
            case "driver_info" | "driver_internal_info" if cls.redaction.shows_secrets:
                return as_text(getattr(Node, name).expression), partial(_whole, cls.redaction.keyring)
            case "instance_info" if cls.redaction.shows_instance_secrets:
                return as_text(Node.instance_info.expression), partial(_whole, cls.redaction.keyring)
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

    def computed(self, row: Sequence[str]) -> dict[str, Any]:
        document = super().computed(row)
        if self._conductors is not None:
            group, driver, members = row[-3:]
            live = self._conductors if isinstance(self._conductors, Membership) else self._conductors.read(members)
            document["conductor"] = live.owner(row[0], group, driver)
        return document


def _rendered(render: Render, replacement: orjson.Fragment, text: str) -> Any:
    return replacement if text == _HIDDEN else render(text)


def _whole(keyring: Keyring, text: str) -> orjson.Fragment:
    return orjson.Fragment(whole_text(text, keyring) if text else "{}")


@lru_cache(maxsize=200)
def redacted(view: type[NodeView], redaction: Redaction) -> type[NodeView]:
    """Return ``view`` with what ``redaction`` hides. Its queries have the parameter ``redaction.PROJECT`` if anything
    depends on whose the nodes are."""
    return view if redaction == NO_REDACTION else type(view.__name__, (view,), {"redaction": redaction})


class StatesView(NodeView):
    """The states of a node, without links."""

    @classmethod
    def links(cls, resource: Resource, names: tuple[str, ...], base: str) -> Template:
        return NO_LINKS


NODES = resource(
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
    return select(string_agg(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()


def _provision_state(version: int) -> ColumnElement[Any]:
    column: ColumnElement[Any] = Node.provision_state.expression
    if version < AVAILABLE_SINCE:
        return case((column == states.AVAILABLE, null()), else_=column)
    if version < INSPECT_WAIT_SINCE:
        return case((column == states.INSPECTWAIT, states.INSPECTING), else_=column)
    return column
