"""A node as JSON: which columns a view needs, and how a row becomes the document. No entity, no schema per row."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import secrets, states
from baremetal_sched.baremetal.api.links import links
from baremetal_sched.baremetal.node_fields import FIELDS, Kind
from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.aggregate import joined
from baremetal_sched.db.models import Chassis, Node, NodeTrait
from baremetal_sched.db.types import as_text, dump_json
from baremetal_sched.errors.baremetal import NodeNotFound

Render = Callable[[Any], Any]

_EMPTY = orjson.Fragment(b"{}")
#: Below these, clients do not know the state.
AVAILABLE_SINCE = 2
INSPECT_WAIT_SINCE = 39


class NodeView:
    """Some ``fields`` of nodes for a client of microversion 1.``version``; ``base`` is what links begin with."""

    def __init__(self, fields: Iterable[str], version: int, base: str, *, with_links: bool = True) -> None:
        self._base = base
        self._names = tuple(fields)
        self._links = tuple(name for name in self._names if FIELDS[name].kind is Kind.LINKS and name != "links")
        self._with_links = with_links
        self._columns: list[ColumnElement[Any]] = [Node.uuid.expression]
        self._renders: list[tuple[str, int, Render | None]] = []
        self._with_conductor = "conductor" in self._names
        for name in self._names:
            self._add(name, version)
        if self._with_conductor:
            self._group_at = len(self._columns)
            self._columns += [Node.conductor_group.expression, Node.driver.expression]

    @property
    def columns(self) -> list[ColumnElement[Any]]:
        """What to select for ``render``; the UUID comes first."""
        return self._columns

    @property
    def needs_membership(self) -> bool:
        """Does rendering ask who owns the node?"""
        return self._with_conductor

    def render(self, row: Row[Any], membership: Membership | None) -> dict[str, Any]:
        """The document of one row."""
        uuid = row[0]
        document: dict[str, Any] = {}
        for name, index, convert in self._renders:
            value = row[index]
            document[name] = convert(value) if convert else value
        if self._with_conductor and membership is not None:
            group, driver = row[self._group_at : self._group_at + 2]
            document["conductor"] = membership.owner(uuid, group, driver)
        if self._with_links:
            document["links"] = links(self._base, "nodes", uuid)
        for name in self._links:
            document[name] = links(self._base, "nodes", uuid, name)
        return document

    def fetch(self, session: Session, uuid: str, membership: Membership) -> dict[str, Any]:
        """The document of the node with this UUID. Raises NodeNotFound."""
        row = session.execute(select(*self._columns).where(Node.uuid == uuid)).first()
        if row is None:
            raise NodeNotFound(node=uuid)
        return self.render(row, membership)

    def _add(self, name: str, version: int) -> None:
        field = FIELDS[name]
        if field.kind is Kind.LINKS or name == "conductor":
            return
        column, convert = _column_of(name, field.kind, version)
        self._renders.append((name, len(self._columns), convert))
        self._columns.append(column)


def _column_of(name: str, kind: Kind, version: int) -> tuple[ColumnElement[Any], Render | None]:
    if name == "traits":
        return _traits_column(), _traits
    if name == "chassis_uuid":
        return select(Chassis.uuid).where(Chassis.id == Node.chassis_id).scalar_subquery(), None
    column: ColumnElement[Any] = getattr(Node, name).expression
    if name == "provision_state":
        return column, _provision_state(version)
    match kind:
        case Kind.JSON:
            return as_text(column), _passed_through
        case Kind.MASKED:
            return as_text(column), _masked_instance_info if name == "instance_info" else _masked
        case Kind.TIME:
            return column, timestamp
        case _:
            return column, None


def _traits_column() -> ColumnElement[Any]:
    """(SELECT group_concat(trait) FROM node_traits WHERE node_id = nodes.id)"""
    return select(joined(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()


def _traits(text: str | None) -> list[str]:
    return sorted(text.split(",")) if text else []


def _passed_through(text: str | None) -> Any:
    return orjson.Fragment(text) if text else _EMPTY


def _masked(text: str | None) -> Any:
    return orjson.Fragment(dump_json(secrets.mask(json.loads(text)))) if text and text != "{}" else _EMPTY


def _masked_instance_info(text: str | None) -> Any:
    if not text or text == "{}":
        return _EMPTY
    return orjson.Fragment(dump_json(secrets.mask(json.loads(text), instance=True)))


def timestamp(value: datetime | None) -> str | None:
    """A time stamp as the API shows it, in UTC."""
    return None if value is None else value.isoformat() + "+00:00"


def _provision_state(version: int) -> Render | None:
    if version < AVAILABLE_SINCE:
        return lambda state: None if state == states.AVAILABLE else state
    if version < INSPECT_WAIT_SINCE:
        return lambda state: states.INSPECTING if state == states.INSPECTWAIT else state
    return None
