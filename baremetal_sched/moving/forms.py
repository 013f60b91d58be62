"""The forms of identifiers that the API enforces, and a foreign database does not: UUIDs and MAC addresses."""

import re
from collections.abc import Callable, Mapping

from baremetal_sched.documents.schema import canonical_mac, canonical_uuid

Form = Callable[[str], str | None]

_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def uuid_form(text: str) -> str | None:
    """Return a UUID in lower case with dashes, None for any other text. Quick for one that is in this form."""
    return text if _CANONICAL_UUID.fullmatch(text) else canonical_uuid(text)


def _name_form(text: str) -> str:
    """Return the name of a provider. Nova names those of nodes after the UUIDs that Ironic shows."""
    return uuid_form(text) or text


#: Identifiers by the name of the column, in all tables of both originals. IDs of Keystone are no UUIDs: they have no
#: dashes, and keep their form.
_OF_COLUMNS: Mapping[str, Form] = {
    **dict.fromkeys(("uuid", "instance_uuid", "parent_node", "consumer_id"), uuid_form),
    "address": canonical_mac,
}
_OF_TABLES: Mapping[tuple[str, str], Form] = {("resource_providers", "name"): _name_form}

#: Tables with identifiers that are not unique in them.
REPEATED = frozenset({("allocations", "consumer_id"), ("nodes", "parent_node")})


def form_of(table: str, column: str) -> Form | None:
    """Return the form of a column of an original; None if it has none."""
    return _OF_TABLES.get((table, column)) or _OF_COLUMNS.get(column)
