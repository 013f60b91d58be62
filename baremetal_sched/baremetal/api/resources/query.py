"""Query parameters as the bare metal API takes them: UUIDs or names, one sort key, and pages that name it."""

from collections.abc import Sequence

from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web import query
from baremetal_sched.web.query import PAGING

__all__ = ["PAGING", "BaremetalQuery"]


class BaremetalQuery(query.Query):
    """The query string of a request."""

    def ident(self, name: str) -> str | None:
        """A parameter that must be a UUID or a possible name."""
        value = self.text(name)
        if value is not None and canonical_uuid(value) is None and not is_logical_name(value):
            raise InvalidValue(message=f"Expected UUID or name for {name}: {value}")
        return value

    def limit(self, *, least: int = 1) -> int:
        """How many items a page may have, at most ``[api] max_limit``; an integer as Python writes it."""
        value = self.text("limit")
        if value is None:
            return self._max_limit
        try:
            limit = int(value)
        except ValueError:
            raise InvalidValue(message=f"Expected an integer for limit: {value}") from None
        if limit < least:
            raise InvalidValue(message="Limit must be positive")
        return min(limit, self._max_limit)

    def descending(self) -> bool:
        """The sort direction."""
        direction = self.text("sort_dir")
        if direction not in (None, "asc", "desc"):
            raise InvalidValue(message=f"Invalid sort direction: {direction}. Acceptable values are 'asc' or 'desc'")
        return direction == "desc"

    def next_page(self, url: str, marker: str, limit: int, fields: Sequence[str] | None = None) -> str:
        """The address of the page after ``marker``: this request's order and filters, and the fields that it shows."""
        pairs = [("sort_key", self.text("sort_key") or "id"), ("sort_dir", self.text("sort_dir") or "asc")]
        pairs += self.others((*PAGING, "fields"))
        if fields:
            pairs.append(("fields", ",".join(fields)))
        return query.address(url, [*pairs, ("limit", str(limit)), ("marker", marker)])
