"""Fields of nodes that are hidden from some callers: their replacements, and who sees the fields."""

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, String, bindparam, case, cast

from baremetal_sched.baremetal.visibility import belongs_to
from baremetal_sched.db.keyring import Keyring, keyring_of
from baremetal_sched.db.sql_functions import constant


def _content(text: str) -> str:
    return json.dumps({"content": text})


#: Texts that are shown instead of a field, in Ironic's words; the last is ours. An object is written as JSON.
REPLACEMENTS = {
    "last_error": "** Value Redacted - Requires baremetal:node:get:last_error permission. **",
    "reservation": "** Redacted - requires baremetal:node:get:reservation permission. **",
    "driver_internal_info": _content("** Redacted - Requires baremetal:node:get:driver_internal_info permission. **"),
    "driver_info": _content("** Redacted - requires baremetal:node:get:driver_info permission. **"),
    "maintenance_reason": "** Redacted - requires baremetal:node:maintenance:get permission. **",
}

#: The parameter of a query that is the caller's project.
PROJECT = "own_project"


@dataclass(frozen=True)
class Restriction:
    """A field that is shown for nodes that the caller's project owns (``as_owner``) or leases (``as_lessee``) only."""

    field: str
    as_owner: bool = False
    as_lessee: bool = False

    def expression(self, shown: ColumnElement[Any], hidden: str | None = None) -> ColumnElement[Any]:
        """CASE WHEN owner = :own_project OR lessee = :own_project THEN <shown> ELSE <the replacement> END

        ``hidden`` is what the replacement is instead, where it is put in later.
        """
        replacement = constant(REPLACEMENTS[self.field] if hidden is None else hidden)
        if not (self.as_owner or self.as_lessee):
            return cast(replacement, String())  # PostgreSQL makes no JSON of a literal without a type
        project: ColumnElement[str] = bindparam(PROJECT, type_=String())
        return case((belongs_to(project, as_owner=self.as_owner, as_lessee=self.as_lessee), shown), else_=replacement)

    def hides(self, owner: str | None, lessee: str | None, project: str | None) -> bool:
        """Return whether the field of a node with this owner and lessee is hidden from ``project``."""
        if not project:
            return True
        return not ((self.as_owner and owner == project) or (self.as_lessee and lessee == project))


@dataclass(frozen=True)
class Redaction:
    """The fields that are hidden from a caller. They are the same for all nodes with the same relation to the caller's
    project, so they are decided once for a request.

    ``shows_secrets``: whether the secrets in driver_info and driver_internal_info are shown;
    ``shows_instance_secrets``: the secrets in instance_info. Both need the ``keyring`` of the settings.
    """

    restrictions: tuple[Restriction, ...] = ()
    shows_secrets: bool = False
    shows_instance_secrets: bool = False
    keyring: Keyring = field(default_factory=partial(keyring_of, None))

    def of(self, field: str) -> Restriction | None:
        """Return who sees the field; None: all who see the node."""
        return next((each for each in self.restrictions if each.field == field), None)

    def values(self, project: str | None) -> dict[str, str]:
        """Return the values of the parameters that queries have, for a caller of ``project``."""
        return {PROJECT: project} if self.restrictions and project else {}


#: Everything is shown but secrets.
NO_REDACTION = Redaction()
