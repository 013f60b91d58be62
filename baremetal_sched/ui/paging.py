"""Pages of a list, both ways, and the columns that sort it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute

from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.types import Rows
from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.ui.forms import without
from baremetal_sched.ui.rendering import url_of
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import HttpError
from baremetal_sched.web.query import Query

#: A column of a table, as the macro of that name takes it.
Column = str | tuple[str, str] | Mapping[str, str]

#: The number of rows on a page: the default and the maximum.
USUAL, MOST = 50, 200

MARKERS = ("marker", "before")
#: Parameters that are not filters; the ones of a list that has no pages.
ORDER = ("limit", "sort_key", "sort_dir")
PAGING = (*ORDER, *MARKERS)


class MarkerGone(HttpError):
    """The entry behind which a page begins has gone."""

    status = 404
    template = "{marker}, after which the page begins, no longer exists. Begin with the first page."


@dataclass(frozen=True)
class Place:
    """Which page: at most ``limit`` rows after the one with the id ``after``, or before the one with the id ``before``;
    without either the first ones. ``sort``: the column; None: the oldest row first."""

    limit: int
    after: str | None = None
    before: str | None = None
    sort: str | None = None
    descending: bool = False

    def page(
        self,
        columns: Mapping[str, InstrumentedAttribute[Any]] | None = None,
        key: str = "uuid",
        within: ColumnElement[bool] | None = None,
    ) -> Page:
        """Return the rows to read. There is one more than are shown: it tells whether there is another page. For a
        page before a row they are in the opposite order."""
        turned = self.descending != (self.before is not None)
        sort = (SortKey(self.sort or "id", descending=turned),)
        return Page(self.limit + 1, self.before or self.after, sort, columns, key, within)


@dataclass(frozen=True)
class ListPage:
    """Some rows of a list, how many there are in all, and the ids by which the next and the previous page are
    requested."""

    rows: Rows
    total: int = 0
    next: str | None = None
    previous: str | None = None


def of_rows(place: Place, selected: Rows, total: int, key: str = "uuid") -> ListPage:
    """Return the page that shows ``selected``, the rows of ``Place.page``."""
    goes_on, rows = len(selected) > place.limit, list(selected[: place.limit])
    if not rows:
        return ListPage(rows, total)
    if place.before is not None:
        rows.reverse()
    first, last = str(getattr(rows[0], key)), str(getattr(rows[-1], key))
    if place.before is not None:
        return ListPage(rows, total, last, first if goes_on else None)
    return ListPage(rows, total, last if goes_on else None, first if place.after else None)


def place_of(
    query: Query, keys: Collection[str], default: SortKey | None = None, *, by_uuid: bool = True, most: int = MOST
) -> Place:
    """Return the requested page. ``keys``: what the list can be sorted by; ``by_uuid``: rows are known by their
    UUIDs; ``most``: the maximum of its rows. Raises InvalidValue."""
    key, direction = query.text("sort_key"), query.text("sort_dir")
    if key is not None and key not in keys:
        raise InvalidValue(
            message=f"The list cannot be sorted by '{key}', only by {', '.join(keys)}.{did_you_mean(key, keys)}"
        )
    if direction not in (None, "asc", "desc"):
        raise InvalidValue(message=f"The order is asc or desc, not '{direction}'.")
    after, before = (query.uuid(name) if by_uuid else query.text(name) for name in MARKERS)
    if after is not None and before is not None:
        raise InvalidValue(message="A page is either after a marker or before one: leave out marker or before.")
    descending = direction == "desc"
    if key is None and default is not None:
        key, descending = default.name, default.descending
    usual = USUAL if most == MOST else most
    return Place(min(query.integer("limit", least=1) or usual, most), after, before, key, descending)


def columns_of(
    call: Call, name: str, labels: Mapping[str, str], after: Mapping[str, Sequence[Column]] = MappingProxyType({})
) -> list[Column]:
    """Return the columns of the list ``name`` for its table: the columns that sort it, by their labels, each followed
    by the columns that do not (``after``). The current sort column reverses the order."""
    given = dict(call.query)
    others = without(call.query, "sort_key", "sort_dir", *MARKERS)
    columns: list[Column] = []
    for key, label in labels.items():
        is_used, descends = given.get("sort_key") == key, given.get("sort_dir") == "desc"
        turned = {"sort_key": key, "sort_dir": "desc" if is_used and not descends else None}
        address = url_of(call.mount)(name, query=dict(others, **turned))
        order = ("descending" if descends else "ascending") if is_used else "none"
        columns += [{"label": label, "order": order, "address": address}, *after.get(key, ())]
    return columns


def active_filters(call: Call) -> Sequence[tuple[str, str, dict[str, Any]]]:
    """Return the filters of the request: name, value, and the parameters of the list without it."""
    given = [pair for pair in dict.fromkeys(call.query) if pair[0] not in PAGING]
    return [(*pair, without([each for each in call.query if each != pair], *MARKERS)) for pair in given]
