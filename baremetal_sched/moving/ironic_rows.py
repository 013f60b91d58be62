"""Rows of Ironic as rows of ours: the same columns, except those listed here."""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from typing import Any, NoReturn

from sqlalchemy import Boolean, DateTime, Table

from baremetal_sched.baremetal.holds.rules import FAULT, LEGACY, SYSTEM
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.documents import MAX_DEPTH, DocumentTooDeep, fault_of, require_depth
from baremetal_sched.db.sealing import SecretText
from baremetal_sched.db.sizes import json_columns, require_row
from baremetal_sched.db.types import LARGEST_TEXT, Json, Message, message_of
from baremetal_sched.errors import DocumentTooLarge
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.masking import names_secret
from baremetal_sched.moving import in_flight
from baremetal_sched.moving.decisions import DRIVER, Choices
from baremetal_sched.moving.forms import uuid_form
from baremetal_sched.moving.row_sync import Row
from baremetal_sched.moving.source_databases import SourceRow

#: Facts about agents that were told to speak with Ironic; they never speak with us.
_OF_AGENTS = ("agent_secret_token", "agent_secret_token_pregenerated", "agent_url", "agent_verify_ca")

#: Columns that are called otherwise in Ironic.
_OTHER_NAMES: Mapping[str, Mapping[str, str]] = {
    "node_inventories": {"inventory": "inventory_data"},
    "node_history": {"provision_state": "state"},
}


def name_in_ironic(table: str, column: str) -> str:
    """Return what Ironic calls a column of ours."""
    return _OTHER_NAMES.get(table, {}).get(column, column)


#: What a missing value means where ours must not be missing.
_DEFAULTS: Mapping[str, object] = {
    "standalone_ports_supported": True,
    "pxe_enabled": True,
    "mode": "active-backup",
    "severity": "INFO",
    "event": "",
    "event_type": "",
    "phase": "main",
    "provision_state": states.AVAILABLE,
    "conductor_group": "",
    "driver": "",
    "actions": [],
    "conditions": [],
}
#: The time of what has none.
BEGIN = datetime(1970, 1, 1)
#: The same by kinds of columns; what else is missing is reported.
_EMPTY: Mapping[str, object] = {"json": {}, "flag": False, "time": BEGIN}
#: Computed by the caller of ``row_of``, or by the service later.
_OWN = frozenset({"id", "node_id", "revision"})


def row_of(table: Table, source: SourceRow, **others: Any) -> Row:
    """Return the row of ``table`` for a row of Ironic; ``others`` are columns that are computed otherwise."""
    names = _OTHER_NAMES.get(table.name, {})
    row: Row = {}
    for name, kind in _columns(table):
        if name in others:
            row[name] = others[name]
        elif name not in _OWN:
            row[name] = _value(source, names.get(name, name), kind, name)
    if sum(len(text) for text in source.values() if isinstance(text, str)) > _LARGE:
        _require_size(table, row)
    return row | {name: value for name, value in others.items() if name not in row}


#: Rows with less text cannot become too large, whatever is escaped or encrypted.
_LARGE = LARGEST_TEXT // 8


def _require_size(table: Table, row: Row) -> None:
    """Put Unfit in the place of the largest document if the row cannot be stored."""
    documents = {name: each for name, each in json_columns(table.c.items()).items() if not isinstance(row[name], Unfit)}
    try:
        require_row(documents, row, grow=True)
    except DocumentTooLarge as error:
        largest = max(documents, key=lambda name: len(json.dumps(row[name])))
        row[largest] = Unfit(
            "is too large: the documents of the row have {size} bytes, of {limit} at most".format(**error.details)
        )


@cache
def _columns(table: Table) -> tuple[tuple[str, str], ...]:
    """Return the columns with their kinds: json, flag, message, time, or empty; with a ! if they must have a value."""
    kinds = ((Json, "json"), (Message, "message"), (Boolean, "flag"), (DateTime, "time"))
    found = []
    for column in table.columns:
        kind = next((word for of, word in kinds if isinstance(column.type, of)), "")
        found.append((column.name, kind + ("" if column.nullable else "!")))
    return tuple(found)


def _value(source: SourceRow, name: str, kind: str, own: str) -> Any:
    value = source.get(name)
    required = kind.endswith("!")
    kind = kind.removesuffix("!")
    if kind == "json":
        value = decoded(value)
    if value is None:
        return _DEFAULTS.get(own, _EMPTY.get(kind)) if required else None
    if kind == "message":
        return message_of(value)
    if kind == "flag":
        return bool(value)
    if kind == "time":
        return time_of(value)
    return value


def time_of(value: datetime | None) -> datetime | None:
    """Return a time as our columns hold it: whole seconds in UTC, without a zone."""
    if value is None:
        return None
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.replace(microsecond=0, tzinfo=None)


@dataclass(frozen=True)
class Unfit:
    """In the place of a document that cannot be stored: what is wrong with it. The rehearsal reports it."""

    fault: str


def decoded(text: Any) -> Any:
    """Return a document of Ironic, Unfit if the API would not take it."""
    if not isinstance(text, str):
        return text
    try:
        document = _DECODER.decode(text) if text else None
        if text.count("{") + text.count("[") > MAX_DEPTH:
            require_depth(document)
    except (RecursionError, DocumentTooDeep):
        return Unfit(f"is nested deeper than {MAX_DEPTH} levels")
    except OverflowError:
        return Unfit("has a number that is not finite")
    except ValueError:
        return Unfit("is no JSON")
    # What is wrong with a text is escaped, or is no UTF-8.
    fault = fault_of(document) if "\\u" in text or not text.isascii() else None
    return document if fault is None else Unfit(f"has {fault} in a text")


def _refuse(name: str) -> NoReturn:
    raise OverflowError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise OverflowError(text)
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


# -- rows that are more than columns -----------------------------------------------------------------------------------


def node_row(table: Table, source: SourceRow, choices: Choices, **references: Any) -> Row:
    """Return our node. ``references``: chassis_id, allocation_uuid and conductor_affinity, which Ironic has as ids."""
    row = row_of(table, source, **references)
    replaced = choices.replacements.name
    row["driver"] = replaced(DRIVER, row["driver"]) or ""
    row |= {f"{kind}_interface": replaced(kind, row[f"{kind}_interface"]) for kind in INTERFACE_TYPES}
    row["conductor_group"] = row["conductor_group"].lower()
    internal = row["driver_internal_info"]
    if isinstance(internal, dict):
        row["driver_internal_info"] = {name: value for name, value in internal.items() if name not in _OF_AGENTS}
    if choices.in_flight_failed and in_flight.reasons(source):
        row |= in_flight.failed(row, time_of(source["updated_at"]))
    return row


def allocation_row(table: Table, source: SourceRow, **references: Any) -> Row:
    """Return our allocation. ``references``: node_id and conductor_affinity."""
    row = row_of(table, source, **references)
    if isinstance(candidates := row["candidate_nodes"], list):
        row["candidate_nodes"] = [uuid_form(each) or each if isinstance(each, str) else each for each in candidates]
    if row["state"] == in_flight.ALLOCATING:
        row |= {"state": in_flight.ALLOCATION_FAILED, "last_error": in_flight.ALLOCATION_ERROR}
    return row


def bios_row(table: Table, source: SourceRow, node_id: int) -> Row:
    """Return our BIOS setting. Only its name tells whether its value is a secret."""
    row = row_of(table, source, node_id=node_id)
    if type(row["value"]) is str and names_secret(row["name"]):
        row["value"] = SecretText(row["value"])
    return row


def steps_of(rows: Iterable[SourceRow], order: str) -> list[dict[str, Any]]:
    """Return the steps of a template or a runbook as one document; ``order`` is the name of their number."""
    return [
        {
            "interface": row["interface"],
            "step": row["step"],
            "args": decoded(row["args"]) or {},
            order: row[order],
        }
        for row in rows
    ]


def hold_row(node: SourceRow) -> Row:
    """Return the hold of a node that is in maintenance: because of its fault, or because its flag was set."""
    fault, kind = node["fault"], FAULT if node["fault"] else LEGACY
    moment = utcnow().replace(tzinfo=UTC).timestamp()
    return {
        "uuid": str(uuid.uuid5(uuid.UUID(node["uuid"]), kind)),
        "node_id": node["id"],
        "type": kind,
        "reason": node["maintenance_reason"],
        "scope": SYSTEM,
        "asserted_by": "",
        "asserted_by_project": "",
        "asserted_at": moment,
        "written_at": moment,
        "begun_at": moment,
        "extra": {"kind": fault} if fault else {},
    }
