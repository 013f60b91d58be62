"""Query parameters: strings, flags, comma-separated lists, paging, and the microversions that they need."""

from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote

from baremetal_sched.db.paging import SortKey
from baremetal_sched.documents.schema import canonical_uuid, parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.call import Call

PAGING = ("limit", "marker", "sort_key", "sort_dir")

#: Maximum number of digits of a meaningful number; Python is slow at converting thousands of them.
_MOST_DIGITS = 18


class Query:
    """The query string of a request; only the parameters in ``known`` are allowed.

    All methods raise InvalidValue for an invalid value, and for several values of a parameter that takes one.
    """

    def __init__(self, call: Call, known: Collection[str]) -> None:
        call.refuse_unknown(known)
        self.call = call
        self._max_limit: int = call.settings.api.max_limit
        self._values: dict[str, list[str]] = {}
        for name, value in call.query:
            self._values.setdefault(name, []).append(value)

    def has(self, name: str) -> bool:
        """Return whether the parameter is given."""
        return name in self._values

    def require(self, since: int, *names: str) -> None:
        """Raise TooNew if one of ``names`` is given and the request is older than the minor version ``since``."""
        if any(name in self._values for name in names):
            self.call.require_version(since)

    def text(self, name: str) -> str | None:
        """Return the value of a parameter that may be given once (or repeated with the same value)."""
        values = self._values.get(name)
        if values is None:
            return None
        if len(set(values)) > 1:
            raise InvalidValue(message=f"Expected one value for {name}: {values}")
        return values[0]

    def texts(self, name: str) -> Sequence[str]:
        """Return all values of a parameter that may be repeated."""
        return self._values.get(name, ())

    def flag(self, name: str) -> bool | None:
        """Return the value of a boolean parameter. The error message lists the accepted words."""
        value = self.text(name)
        return None if value is None else parse_flag(name, value)

    def one_of(self, name: str, words: Sequence[str]) -> str | None:
        """Return the value of a parameter that must be one of these words."""
        value = self.text(name)
        if value is not None and value not in words:
            raise InvalidValue(message=f"Expected one of {', '.join(words)} for {name}: {value}")
        return value

    def integer(self, name: str, *, least: int = 0) -> int | None:
        """Return the value of a decimal number that is at least ``least``."""
        value = self.text(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS and int(value) >= least):
            raise InvalidValue(message=f"Expected an integer of at least {least} for {name}: {value}")
        return int(value)

    def uuid(self, name: str) -> str | None:
        """Return the value of a parameter that must be a UUID."""
        value = self.text(name)
        if value is None:
            return None
        canonical = canonical_uuid(value)
        if canonical is None:
            raise InvalidValue(message=f"Expected UUID for {name}: {value}")
        return canonical

    def pair(self, name: str) -> tuple[str, str] | None:
        """Return the two parts of a value that is KEY=VALUE."""
        value = self.text(name)
        if value is None:
            return None
        key, equals, text = value.partition("=")
        if not (key and equals):
            raise InvalidValue(message=f"Expected KEY=VALUE for {name}: {value}")
        return key, text

    def items(self, name: str) -> list[str] | None:
        """Return a comma-separated list, which may also be repeated; blanks around items are removed. None if it is not
        given."""
        if name not in self._values:
            return None
        return [item.strip() for value in self._values[name] for item in value.split(",")]

    def names(self, name: str) -> list[str]:
        """Return a comma-separated list of field names, in lower case, without duplicates and empty names; empty if not
        given."""
        return list(dict.fromkeys(item.lower() for item in self.items(name) or () if item))

    def limit(self, *, least: int = 1) -> int:
        """Return the page size, at most ``[api] max_limit``."""
        limit = self.integer("limit", least=least)
        return self._max_limit if limit is None else min(limit, self._max_limit)

    def sort(self, default: Sequence[SortKey] = ()) -> Sequence[SortKey]:
        """Return the keys and directions of ``sort_key`` and ``sort_dir``. Both may be repeated.

        The first direction applies to keys without one of their own; without any, that of ``default`` does. Of a key
        that is repeated, the first counts: all rows that a later one would order are equal in it.
        """
        keys, directions = self.texts("sort_key"), self.texts("sort_dir")
        for direction in directions:
            if direction not in ("asc", "desc"):
                raise InvalidValue(
                    message=f"Invalid sort direction: {direction}. Acceptable values are 'asc' or 'desc'"
                )
        if len(directions) > max(len(keys), 1):
            raise InvalidValue(message=f"There are {len(directions)} of sort_dir, but {len(keys)} of sort_key.")
        if not keys:
            return [SortKey(name, directions[0] == "desc") for name, _ in default] if directions else default
        descending = [direction == "desc" for direction in directions] or [default[0].descending if default else False]
        descending += descending[:1] * (len(keys) - len(descending))
        first: dict[str, bool] = {}
        for key, is_descending in zip(keys, descending, strict=True):
            first.setdefault(key, is_descending)
        return [SortKey(key, is_descending) for key, is_descending in first.items()]

    def others(self, without: Collection[str]) -> list[tuple[str, str]]:
        """Return names and values of the parameters that are not in ``without``, each value once."""
        return [
            (name, value)
            for name, values in self._values.items()
            if name not in without
            for value in dict.fromkeys(values)
        ]

    def next_link(self, marker: str) -> list[dict[str, str]]:
        """Return the link to the page after ``marker``: this request's URL and parameters, and that marker."""
        url = address(f"{self.call.base_url}{self.call.http.path}", [*self.others(("marker",)), ("marker", marker)])
        return [{"rel": "next", "href": url}]

    def links(self, name: str, markers: Sequence[str], limit: int) -> dict[str, Any]:
        """Return the member ``<name>_links``, which leads to the next page, if the page whose rows have these
        ``markers`` is full; otherwise nothing."""
        is_full = len(markers) == limit > 0
        return {f"{name}_links": self.next_link(markers[-1])} if is_full else {}


def address(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """Return ``url`` with these parameters."""
    return f"{url}?" + "&".join(f"{name}={quote(value, safe=',')}" for name, value in parameters)


# -- descriptions of parameters ----------------------------------------------------------------------------------------


def page_of(things: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of a list with pages; ``things``: what it lists, as the first word of a sentence."""
    size = {"type": "integer", "minimum": 1, "description": "The size of the page, at most [api] max_limit."}
    return {"limit": size, "marker": {"type": "string", "description": f"{things} after the one with this UUID."}}


def listed(description: str) -> dict[str, Any]:
    """Return the schema of a parameter with several values."""
    return {"type": "array", "items": {"type": "string"}, "description": f"{description} Separated by commas."}
