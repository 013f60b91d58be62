"""A request to the bare metal API, as its views see it."""

import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.errors import RoutingError
from baremetal_sched.baremetal.identifiers import canonical_uuid, is_logical_name
from baremetal_sched.baremetal.ownership import Membership, live_members
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.call import Call
from baremetal_sched.web.problems import BadRequest, PathNotFound

#: Since when nodes have names, and names may be more than host names.
NAMES = 5
LOGICAL_NAMES = 10

#: Paths whose bodies may be larger: they bring config drives, or all that an agent found.
_LARGE_BODIES = ("/states/provision", "/continue_inspection")
#: Most bytes in them: what MariaDB takes in one packet by default, nearly.
LARGE_BODY_SIZE = 15 * 2**20

#: What stands behind a node in a path cannot stand for a node, even if a node is called so.
_SUB_COLLECTIONS = frozenset(
    {
        *("allocation", "bios", "children", "firmware", "history", "inventory", "maintenance", "management"),
        *("portgroups", "ports", "states", "traits", "validate", "vendor_passthru", "vifs", "vmedia", "volume"),
    }
)

#: Where the node is an argument of what is asked for, and not a part of the way there: which errors tell apart.
_IDENT_IS_ARGUMENT = re.compile(r"/nodes/[^/]*/(maintenance|states|management|vendor_passthru)(/|$)|/heartbeat/")


class BaremetalCall(Call):
    """Adds what the views of this API share. ``stripped_json``: the path ended in ``.json``, which was taken off."""

    stripped_json = False

    @property
    def max_body_size(self) -> int:
        if self.http.path.endswith(_LARGE_BODIES):
            return max(super().max_body_size, LARGE_BODY_SIZE)
        return super().max_body_size

    def body(self) -> Any:
        """The JSON body; ``{}`` if there is none. Raises BadRequest if it is no JSON."""
        if not self.raw_body:
            return {}
        try:
            return self.json
        except ValueError as error:
            raise BadRequest(message=f"The body of the request is not JSON: {error}") from None

    def arguments(self, known: Iterable[str], require: str | None = None) -> dict[str, Any]:
        """What the body and the query string say together: Ironic takes arguments of some requests from either.

        Raises InvalidValue for what is not in ``known``, or if ``require`` is not there.
        """
        body = self.body()
        if not isinstance(body, dict):
            raise InvalidValue(message=f"Expected an object as the body: {body}")
        given = {**dict(self.query), **body}
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise InvalidValue(message=f"Unexpected arguments: {', '.join(unknown)}")
        if require is not None and require not in given:
            raise InvalidValue(message=f"Missing mandatory parameter: {require}")
        return given

    def refuse_query(self) -> None:
        """Raise InvalidValue if the request has a query string: this view takes none."""
        self.refuse_unknown(())

    def refuse_unknown(self, known: Any) -> None:
        """Raise InvalidValue for query parameters that are not in ``known``."""
        unknown = sorted({name for name, _ in self.query if name not in known})
        if unknown:
            raise InvalidValue(message=f"Unexpected arguments: {', '.join(unknown)}")

    def refuse_body(self) -> None:
        """Raise InvalidValue if the request has a JSON body with anything in it: this view takes none."""
        body = self.body()
        if body:
            names = ", ".join(sorted(body)) if isinstance(body, dict) else "body"
            raise InvalidValue(message=f"Unexpected arguments: {names}")

    def membership(self, session: Session) -> Membership:
        """The live conductors, now."""
        return live_members(session, self.settings)

    @property
    def prefers_representation(self) -> bool:
        """Does the client ask to see what became of its request, where the answer would not show it (RFC 7240)?"""
        return "return=representation" in self.http.headers.get("Prefer", "").replace(" ", "").split(",")

    @property
    def hostname_names(self) -> bool:
        """Are names of nodes host names still?"""
        return self.version < LOGICAL_NAMES

    def uuid(self, text: str, name: str) -> str:
        """``text`` from the path as a UUID; InvalidValue, which calls it ``name``, if it is none."""
        canonical = canonical_uuid(text)
        if canonical is None:
            raise InvalidValue(message=f"Expected UUID for {name}: {text}")
        return canonical

    def ident(self, text: str, name: str) -> str:
        """``text`` from the path, if it is a UUID or can be a name; InvalidValue, which calls it ``name``, if not."""
        if canonical_uuid(text) is None and not is_logical_name(text):
            raise InvalidValue(message=f"Expected UUID or name for {name}: {text}")
        return text

    def portgroup_ident(self, ident: str) -> str:
        """``ident`` from the path, if it can be that of a portgroup at all; else RoutingError."""
        if canonical_uuid(ident) is None and not is_logical_name(ident):
            raise RoutingError(400, f"Expected UUID or name for portgroup: {ident}")
        return ident

    def node_ident(self, ident: str) -> str:
        """``ident`` from the path, if it can be that of a node at all; else RoutingError or InvalidValue."""
        if ident in _SUB_COLLECTIONS:
            raise PathNotFound
        if canonical_uuid(ident) is None:
            if not is_logical_name(ident):
                if _IDENT_IS_ARGUMENT.search(self.http.path):
                    raise InvalidValue(message=f"Expected UUID or name for node_ident: {ident}")
                raise RoutingError(400, f"Expected UUID or name for node: {ident}")
            if NAMES <= self.version < LOGICAL_NAMES and not is_logical_name(ident, hostname_only=True):
                raise InvalidValue(message=f"Expected a logical name or UUID but received {ident}.")
        return ident
