"""Filters of the lists of servers: each parameter with its condition on a server."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, func, true

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.compute import availability_zones
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.hosts import network_addresses
from baremetal_sched.compute.hosts.network_addresses import compact_ipv6
from baremetal_sched.compute.schemas.servers import TAGS_SINCE
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.compute.servers.server_rows import Filters, RowCondition, decoded
from baremetal_sched.db.models import Node, Server
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.query import PAGING, Query

STATUSES = frozenset(
    {
        *("ACTIVE", "BUILD", "ERROR", "HARD_REBOOT", "REBOOT", "REBUILD", "RESCUE", "SHUTOFF"),
        # Statuses of Nova that no server has here.
        *("DELETED", "MIGRATING", "PASSWORD", "PAUSED", "RESIZE", "REVERT_RESIZE", "SHELVED", "SHELVED_OFFLOADED"),
        *("SOFT_DELETED", "SUSPENDED", "UNKNOWN", "VERIFY_RESIZE"),
    }
)

#: Below, no server has a status that Nova does not know.
UNKNOWN_STATUS_REFUSED_SINCE = 38

#: Columns that a parameter compares as they are.
_EQUAL = {
    "uuid": Server.uuid,
    "image": Server.image_id,
    "image_ref": Server.image_id,
    "flavor": Server.flavor_id,
    "user_id": Server.user_id,
    "reservation_id": Server.reservation_id,
}

#: Columns that match a part of their text; ``^`` and ``$`` stand for its ends.
_PARTS = {
    "name": Server.name,
    "display_name": Server.name,
    "description": Server.description,
    "display_description": Server.description,
    "hostname": Server.hostname,
    "access_ip_v4": Server.access_ip_v4,
    "access_ip_v6": Server.access_ip_v6,
    "node": Node.uuid,
}

_STATES: Mapping[str, Callable[[Any], Any]] = {
    "vm_state": lambda row: server_rows.state_of(row).vm_state,
    "task_state": lambda row: server_rows.state_of(row).task_state,
    "power_state": lambda row: str(server_rows.state_of(row).power_state),
}

_TAGS: Mapping[str, tuple[bool, bool]] = {
    "tags": (False, False),
    "tags-any": (True, False),
    "not-tags": (False, True),
    "not-tags-any": (True, True),
}

_ADDRESSES = {"ip": 4, "ip6": 6}

PARAMETERS = (
    *PAGING,
    *_EQUAL,
    *_PARTS,
    "status",
    *_STATES,
    *_TAGS,
    *_ADDRESSES,
    *("all_tenants", "project_id", "tenant_id", "key_name", "launch_index", "locked", "config_drive"),
    *("availability_zone", "host", "changes-since", "changes-before", "deleted", "soft_deleted"),
)

#: Parameters of administrators.
_OF_ADMINISTRATORS = ("host", "node")

#: What would be a regular expression.
_SPECIAL = re.compile(r"[*+?\[\](){}|\\]")


def filters_of(call: ComputeCall, reader: Reader, query: Query, operation: str) -> Filters:
    """Return the filters of the query; ``operation`` is the list, as rules call it. Raises InvalidValue, NotAllowed."""
    filters = Filters([_of_project(call, query, operation)])
    if any(query.has(name) for name in _OF_ADMINISTRATORS):
        call.require(name_of("servers", "allow_all_filters"))
    if _is_set(query, "deleted") or _is_set(query, "soft_deleted"):
        filters.clauses.append(~true())  # deleted servers are gone
    filters.clauses += [column == value for name, column in _EQUAL.items() if (value := query.text(name)) is not None]
    filters.clauses += [
        part_of(name, column, compact_ipv6(value) if name == "access_ip_v6" else value)
        for name, column in _PARTS.items()
        if (value := query.text(name)) is not None
    ]
    filters.clauses += [*_of_status(query), *_plain(call, query), *_of_tags(query), *_of_times(query)]
    filters.rows = [*_of_states(query), *_of_addresses(query), *_of_hosts(call, reader, query)]
    return filters


def _of_project(call: ComputeCall, query: Query, operation: str) -> ColumnElement[bool]:
    named = query.text("project_id") or query.text("tenant_id")
    if not _is_set(query, "all_tenants"):
        return Server.project_id == call.project_id
    call.require(name_of("servers", f"{operation}:get_all_tenants"))
    return true() if named is None else Server.project_id == named


def _is_set(query: Query, name: str) -> bool:
    """Return whether a flag is set; without a value it is."""
    value = query.text(name)
    return value is not None and (value == "" or parse_flag(name, value))


def part_of(name: str, column: Any, text: str) -> ColumnElement[bool]:
    """SQL condition: the column has ``text`` in it.

    ``^`` and ``$`` stand for its ends; for other regular expressions InvalidValue is raised.
    """
    if _SPECIAL.search(text):
        raise InvalidValue(message=f"{name} is not supported as a regular expression; only ^ and $ are. Given: {text}")
    begins, ends = text.startswith("^"), text.endswith("$")
    plain = text.removeprefix("^").removesuffix("$")
    condition: ColumnElement[bool]
    if begins and ends:
        condition = column == plain
    elif begins:
        condition = func.lower(column).startswith(plain.lower(), autoescape=True)
    elif ends:
        condition = func.lower(column).endswith(plain.lower(), autoescape=True)
    else:
        condition = func.lower(column).contains(plain.lower(), autoescape=True)
    return condition


def _plain(call: ComputeCall, query: Query) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if (index := query.integer("launch_index")) is not None:
        conditions.append(Server.launch_index == index)
    for name, column in (("locked", Server.locked), ("config_drive", Server.config_drive)):
        if (flag := query.flag(name)) is not None:
            conditions.append(column == flag)
    if (zone := query.text("availability_zone")) is not None:
        default: str = call.settings.compute.default_availability_zone
        conditions.append(Node.conductor_group == availability_zones.group_of(zone, default))
    return conditions


def _of_tags(query: Query) -> list[ColumnElement[bool]]:
    query.require(TAGS_SINCE, *_TAGS)
    return [
        server_rows.has_tags(tags, any_of=any_of, negated=negated)
        for name, (any_of, negated) in _TAGS.items()
        if (tags := query.items(name)) is not None
    ]


def _of_times(query: Query) -> list[ColumnElement[bool]]:
    since, before = (moment(name, query.text(name)) for name in ("changes-since", "changes-before"))
    if since and before and since > before:
        raise InvalidValue(message="The value of changes-since must be less than or equal to changes-before.")
    conditions: list[ColumnElement[bool]] = []
    if since:
        conditions.append(Server.updated_at >= since)
    if before:
        conditions.append(Server.updated_at <= before)
    return conditions


def moment(name: str, text: str | None) -> datetime | None:
    """Return the time in a parameter, in UTC; None if it is not given. Raises InvalidValue."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError):
        raise InvalidValue(message=f"Invalid filter field: {name}. A time in ISO 8601 is expected.") from None


def _of_status(query: Query) -> list[ColumnElement[bool]]:
    statuses = {value.upper() for value in query.texts("status")}
    if not statuses <= STATUSES and query.call.version >= UNKNOWN_STATUS_REFUSED_SINCE:
        raise InvalidValue(message=f"Invalid status value: {', '.join(sorted(statuses - STATUSES))}")
    return [server_rows.status().in_(sorted(statuses))] if statuses else []


def _of_states(query: Query) -> list[RowCondition]:
    return [_is_one_of(get, set(values)) for name, get in _STATES.items() if (values := query.texts(name))]


def _is_one_of(get: Callable[[Any], Any], values: set[str]) -> RowCondition:
    return lambda row: get(row) in values


def _of_addresses(query: Query) -> list[RowCondition]:
    return [
        _has_address(version, text.removeprefix("^").removesuffix("$"))
        for name, version in _ADDRESSES.items()
        if (text := query.text(name)) is not None
    ]


def _has_address(version: int, part: str) -> RowCondition:
    def has(row: Any) -> bool:
        found = network_addresses.of(decoded(row.network_data))
        return any(address.version == version and part in address.text for address in found)

    return has


def _of_hosts(call: ComputeCall, reader: Reader, query: Query) -> Sequence[RowCondition]:
    conditions: list[RowCondition] = []
    if (host := query.text("host")) is not None:
        membership = live_members(reader, call.settings)

        def is_on(row: Any) -> bool:
            return row.node_uuid is not None and host == membership.owner(
                row.node_uuid, row.conductor_group, row.driver
            )

        conditions.append(is_on)
    return conditions
