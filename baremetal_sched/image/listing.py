"""The list of images: which ones, in which order, and one page of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Image
from baremetal_sched.errors.image import ImageNotFound, InvalidImage
from baremetal_sched.image import filters, images
from baremetal_sched.image.access import ACCEPTED, MEMBER_STATUSES, VISIBILITIES, ImageRequester, listed
from baremetal_sched.image.records import COLUMNS, ImageRecord, select_records

#: How many images a page has if the client does not say.
DEFAULT_LIMIT = 25

#: What an image is sorted by. Empty stands for null, as the markers of pages need a value; no image has a size.
_SORT_COLUMNS: dict[str, ColumnElement[Any] | None] = {
    "name": func.coalesce(Image.name, ""),
    "status": Image.status.expression,
    "container_format": func.coalesce(Image.container_format, ""),
    "disk_format": func.coalesce(Image.disk_format, ""),
    "size": None,
    "id": Image.uuid.expression,
    "created_at": Image.created_at.expression,
    "updated_at": Image.updated_at.expression,
}
SORTED_BY = tuple(_SORT_COLUMNS)
_DESCENDING = {"asc": False, "desc": True}
#: Parameters that are not filters.
PAGING = ("limit", "marker")
SORTING = ("sort", "sort_key", "sort_dir")
_SHOWN = 200


@dataclass
class ListQuery:
    """A request for the list. ``order``: keys to sort by, and whether each is descending."""

    limit: int | None = None
    marker: str | None = None
    visibility: str | None = None
    member_status: str = ACCEPTED
    order: list[tuple[str, bool]] = field(default_factory=list)
    conditions: list[ColumnElement[bool]] = field(default_factory=list)


def parse(pairs: Iterable[tuple[str, str]]) -> ListQuery:
    """The parameters of a query string. Of one that is given twice the last counts, but each ``tag`` does.

    Raises InvalidImage.
    """
    pairs = list(pairs)
    parameters = dict(pairs)
    query = ListQuery(order=_order(pairs, parameters), marker=parameters.get("marker"))
    if "limit" in parameters:
        query.limit = _limit(parameters["limit"])
    query.visibility = _choice("Invalid visibility value", parameters.get("visibility"), (*VISIBILITIES, "all"))
    query.member_status = (
        _choice("Invalid status", parameters.get("member_status"), (*MEMBER_STATUSES, "all")) or ACCEPTED
    )
    if "changes-since" in parameters:
        raise InvalidImage(message='The "changes-since" filter is no longer available on v2.')
    others = {*PAGING, *SORTING, "visibility", "member_status", "tag", "deleted"}
    values = {"os_hidden": "false", **{name: value for name, value in parameters.items() if name not in others}}
    query.conditions = filters.conditions(values, [value.strip() for name, value in pairs if name == "tag"])
    return query


def select_page(session: Session, query: ListQuery, requester: ImageRequester, limit: int) -> list[ImageRecord]:
    """Return the images on the page, ``limit`` at most. Raises InvalidImage for an unknown marker."""
    statement = select(*COLUMNS).where(
        *query.conditions, *listed(requester, query.visibility, query.member_status), *_after(session, query, requester)
    )
    terms = [column.desc() if descending else column.asc() for column, descending in _columns(query)]
    return select_records(session, statement.order_by(*terms).limit(limit))


def _columns(query: ListQuery) -> list[tuple[ColumnElement[Any], bool]]:
    found = [(_SORT_COLUMNS[key], descending) for key, descending in query.order]
    return [(column, descending) for column, descending in found if column is not None]


def _after(session: Session, query: ListQuery, requester: ImageRequester) -> Sequence[ColumnElement[bool]]:
    """Condition: the image comes after the marker.

    a > A OR (a = A AND b > B) OR (a = A AND b = B AND c > C), with < for descending keys
    """
    if query.marker is None:
        return ()
    try:
        marker = images.get(session, query.marker, requester)
    except ImageNotFound as error:
        raise InvalidImage(message=str(error)) from None
    columns = _columns(query)
    values = session.execute(select(*(column for column, _ in columns)).where(Image.id == marker.id)).one()
    later = []
    for index, (column, descending) in enumerate(columns):
        same = [columns[before][0] == values[before] for before in range(index)]
        later.append(and_(*same, column < values[index] if descending else column > values[index]))
    return (or_(*later),)


def _order(pairs: Sequence[tuple[str, str]], parameters: dict[str, str]) -> list[tuple[str, bool]]:
    """The keys to sort by, ended by two that no two images share."""
    if "sort" in parameters:
        if "sort_key" in parameters or "sort_dir" in parameters:
            raise InvalidImage(message="Old and new sorting syntax cannot be combined")
        keys, directions = [], []
        for term in parameters["sort"].strip().split(","):
            key, _, direction = term.partition(":")
            keys.append(_sort_key(key.strip()))
            directions.append(_direction(direction.strip() or "desc"))
    else:
        keys = [_sort_key(value.strip()) for name, value in pairs if name == "sort_key"] or ["created_at"]
        directions = [_direction(value.strip()) for name, value in pairs if name == "sort_dir"] or [True]
        if len(directions) not in (1, len(keys)):
            raise InvalidImage(message="Number of sort dirs does not match the number of sort keys")
    last = directions[0] if len(directions) == 1 else True
    order: dict[str, bool] = {}
    for key, descending in zip(keys, directions if len(directions) > 1 else directions * len(keys), strict=True):
        order.setdefault(key, descending)  # a second time it decides nothing
    return [*order.items(), *((key, last) for key in ("created_at", "id") if key not in order)]


def _sort_key(key: str) -> str:
    if key not in _SORT_COLUMNS:
        raise InvalidImage(
            message=f"Invalid sort key: {key[:_SHOWN]}. It must be one of the following: {', '.join(_SORT_COLUMNS)}."
        )
    return key


def _direction(word: str) -> bool:
    if word not in _DESCENDING:
        raise InvalidImage(message=f"Invalid sort direction: {word[:_SHOWN]}")
    return _DESCENDING[word]


def _limit(text: str) -> int:
    try:
        limit = int(text)
    except ValueError:
        raise InvalidImage(message="limit param must be an integer") from None
    if limit < 0:
        raise InvalidImage(message="limit param must be positive")
    return limit


def _choice(complaint: str, word: str | None, known: Sequence[str]) -> str | None:
    if word and word not in known:
        raise InvalidImage(message=f"{complaint}: {word[:_SHOWN]}")
    return word
