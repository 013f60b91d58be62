"""Candidates and all that the answer tells about them in one statement, for plain requests to a bare metal fleet.

It serves a request for one class, where no provider has a parent, and whose names were looked up a moment ago. What
else there is, and whatever it finds nothing for, takes the long way (``search``, ``response``); where both serve a
request, they give the same answer.
"""

import time
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from sqlalchemy import ColumnElement, String, cast, exists, func, literal_column, select
from sqlalchemy.orm import Session

from baremetal_sched.db.packing import joined
from baremetal_sched.db.transaction import REMEMBERED
from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates import flat, response
from baremetal_sched.placement.candidates.conditions import is_named
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.candidates.resolve import recall
from baremetal_sched.placement.candidates.search import Options
from baremetal_sched.placement.candidates.summaries import TRAITS_SINCE, Summaries, traits_of
from baremetal_sched.placement.candidates.trees import Candidate, Wanted
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDERS, TRAITS

#: So many seconds it is remembered that there are trees: until then every request takes the long way at once.
_FRESH = 10.0
_TREES_SEEN = "trees seen"

_NOBODY_HAS_A_PARENT = ~exists().where(PROVIDERS.c.parent_id > 0)

_PROVIDER = flat.PROVIDER


def _text(*parts: ColumnElement[Any] | str) -> ColumnElement[str]:
    """``parts``, numbers and texts, one behind the other."""
    texts = [literal_column(f"'{part}'") if isinstance(part, str) else cast(part, String(36)) for part in parts]
    return reduce(ColumnElement.concat, texts)


#: All inventories of a provider: ``class:capacity:used,…``
_INVENTORIES = (
    select(joined(_text(INVENTORIES.c.resource_class_id, ":", INVENTORIES.c.capacity, ":", INVENTORIES.c.used)))
    .where(INVENTORIES.c.provider_id == _PROVIDER.c.id)
    .correlate(_PROVIDER)
    .scalar_subquery()
)
# One text a row, ``id;uuid;inventories;traits``: PyMySQL takes longer to read a column than the database to write it.
_ROW = _text(_PROVIDER.c.id, ";", _PROVIDER.c.uuid, ";") + _INVENTORIES + literal_column("';'")
_ROW_WITH_TRAITS = _ROW + func.coalesce(traits_of(_PROVIDER), literal_column("''"))


def answer(session: Session, request: CandidateRequest, version: int, options: Options) -> dict[str, Any] | None:
    """The document; None if the request has to go the long way. One statement, or two for nothing."""
    memory = session.info.setdefault(REMEMBERED, {})
    if not _is_plain(request) or options.randomize or time.monotonic() < memory.get(_TREES_SEEN, 0) + _FRESH:
        return None
    wanted = recall(session, request, version)
    if wanted is None:
        return None
    rows = session.scalars(_query(wanted, options.limit_of(request), version)).all()
    if not rows:
        if not session.scalar(select(_NOBODY_HAS_A_PARENT)):
            memory[_TREES_SEEN] = time.monotonic()
        return None
    unpacked = list(_unpacked(rows))
    (group,) = wanted.groups
    resources = {wanted.class_names[class_id]: amount for class_id, amount in group.resources.items()}
    ids = dict.fromkeys(row[0] for row in unpacked)
    found = [Candidate({row_id: resources}, {group.suffix: [row_id]}, {row_id}) for row_id in ids]
    summaries = Summaries(session, request, version)
    summaries.add(unpacked)
    return response.render(found, summaries, version)


def _is_plain(request: CandidateRequest) -> bool:
    groups = list(request.groups.values())
    return len(groups) == 1 and len(groups[0].resources) == 1 and not request.root_required.names()


def _query(wanted: Wanted, limit: int | None, version: int) -> Query:
    """SELECT CONCAT(p.id, p.uuid,
                     (SELECT GROUP_CONCAT(class, capacity, used) FROM inventories WHERE provider_id = p.id),
                     (SELECT GROUP_CONCAT(trait_id) FROM provider_traits WHERE provider_id = p.id))
    FROM … WHERE … as ``flat`` has it
    AND NOT EXISTS (SELECT 1 FROM resource_providers WHERE parent_id > 0) AND the ids still have these names
    """
    row = _ROW_WITH_TRAITS if version >= TRAITS_SINCE else _ROW
    return flat.providers_of(wanted, [row]).where(_NOBODY_HAS_A_PARENT, *_names(wanted)).limit(limit)


def _unpacked(rows: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows as ``summaries`` wants them, one for each inventory."""
    for row in rows:
        id_text, uuid, inventories, traits = row.split(";")
        row_id = int(id_text)
        for inventory in inventories.split(","):
            yield row_id, uuid, None, row_id, *map(int, inventory.split(":")), traits or None


def _names(wanted: Wanted) -> list[ColumnElement[bool]]:
    """What was deleted meanwhile, and perhaps made anew with another id, is not to be found."""
    return [
        is_named(table, *item)
        for table, names in ((CLASSES, wanted.class_names), (TRAITS, wanted.trait_names))
        for item in names.items()
    ]
