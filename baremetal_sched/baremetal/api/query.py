"""Query parameters of the bare metal API: lists, flags, pages, and microversions that they need."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import TooNewParameter
from baremetal_sched.baremetal.identifiers import canonical_uuid, is_logical_name
from baremetal_sched.baremetal.schemas.base import parse_flag
from baremetal_sched.errors import InvalidValue

PAGING = ("limit", "marker", "sort_key", "sort_dir")


class Query:
    """The query string of a request, of which only the parameters in ``known`` are allowed."""

    def __init__(self, call: BaremetalCall, known: Iterable[str]) -> None:
        call.refuse_unknown(tuple(known))
        self._version = call.version
        self._max_limit: int = call.settings.api.max_limit
        self._values: dict[str, list[str]] = {}
        for name, value in call.query:
            self._values.setdefault(name, []).append(value)

    def has(self, name: str) -> bool:
        """Is the parameter given?"""
        return name in self._values

    def require(self, since: int, *names: str) -> None:
        """Raise TooNewParameter if one of ``names`` is given and the request is older than 1.``since``."""
        if self._version < since and any(name in self._values for name in names):
            raise TooNewParameter(since=since)

    def text(self, name: str) -> str | None:
        """The value of a parameter that may be given once (or repeated with the same value)."""
        values = self._values.get(name)
        if values is None:
            return None
        if len(set(values)) > 1:
            raise InvalidValue(message=f"Expected one value for {name}: {values}")
        return values[0]

    def flag(self, name: str) -> bool | None:
        """A boolean parameter. Raises InvalidValue with the words that are accepted."""
        value = self.text(name)
        return None if value is None else parse_flag(name, value)

    def uuid(self, name: str) -> str | None:
        """A parameter that has to be a UUID."""
        value = self.text(name)
        if value is None:
            return None
        canonical = canonical_uuid(value)
        if canonical is None:
            raise InvalidValue(message=f"Expected UUID for {name}: {value}")
        return canonical

    def ident(self, name: str) -> str | None:
        """A parameter that has to be a UUID or a possible name."""
        value = self.text(name)
        if value is not None and canonical_uuid(value) is None and not is_logical_name(value):
            raise InvalidValue(message=f"Expected UUID or name for {name}: {value}")
        return value

    def items(self, name: str) -> list[str] | None:
        """A comma list, which may also be repeated; blanks around the items are dropped. None if it is not given."""
        if name not in self._values:
            return None
        return [item.strip() for value in self._values[name] for item in value.split(",")]

    def names(self, name: str) -> list[str]:
        """A comma list of field names: in lower case, without repeats and empty ones; empty if it is not given."""
        return list(dict.fromkeys(item.lower() for item in self.items(name) or () if item))

    def limit(self) -> int:
        """How many items a page may have, at most ``[api] max_limit``."""
        value = self.text("limit")
        if value is None:
            return self._max_limit
        try:
            limit = int(value)
        except ValueError:
            raise InvalidValue(message=f"Expected an integer for limit: {value}") from None
        if limit <= 0:
            raise InvalidValue(message="Limit must be positive")
        return min(limit, self._max_limit)

    def descending(self) -> bool:
        """The sort direction."""
        direction = self.text("sort_dir")
        if direction not in (None, "asc", "desc"):
            raise InvalidValue(message=f"Invalid sort direction: {direction}. Acceptable values are 'asc' or 'desc'")
        return direction == "desc"

    def next_url(self, url: str, marker: str, limit: int, fields: Sequence[str] | None = None) -> str:
        """The address of the page after ``marker``: this request's parameters, with all filters kept."""
        pairs = [("sort_key", self.text("sort_key") or "id"), ("sort_dir", self.text("sort_dir") or "asc")]
        pairs += [
            (name, value)
            for name, values in self._values.items()
            if name not in (*PAGING, "fields")
            for value in dict.fromkeys(values)
        ]
        if fields:
            pairs.append(("fields", ",".join(fields)))
        pairs += [("limit", str(limit)), ("marker", marker)]
        return f"{url}?" + "&".join(f"{name}={quote(value, safe=',')}" for name, value in pairs)
