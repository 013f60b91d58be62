"""Candidates and all that the answer tells about them in one statement, for plain requests to a bare metal fleet.

It answers requests for one class that name no tree or aggregate, where no provider has a parent. Other requests, and
those that it finds nothing for, are left to the general search (``search``, ``response``). Where both apply they give
the same answer.
"""

from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, func, literal, select

from baremetal_sched.db.types import Query
from baremetal_sched.placement import name_memory
from baremetal_sched.placement.candidates.answer import response
from baremetal_sched.placement.candidates.answer.summaries import TRAITS_SINCE, Summaries
from baremetal_sched.placement.candidates.fast_path import compiled_queries
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import names_places, recall, resolve
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.search import Options
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.sql.conditions import is_named
from baremetal_sched.placement.candidates.sql.provider_rows import columns_of
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from baremetal_sched.placement.tables import PROVIDERS, TRAITS

#: The greatest one is the last entry of an index, which MariaDB looks up while it plans.
_NO_PROVIDER_HAS_A_PARENT = select(func.max(PROVIDERS.c.parent_id)).scalar_subquery().is_(None)

_COLUMNS = {traits: columns_of(single_provider.PROVIDER, traits=traits) for traits in (False, True)}


def answer(connection: Connection, request: CandidateRequest, version: int, options: Options) -> dict[str, Any] | None:
    """Return the document; None if the general search has to answer. Raises like ``resolve``.

    It takes one statement, and so shows one moment on every database; two if it finds nothing, and one more for names
    that were not looked up a moment ago.
    """
    memory = name_memory.of(connection)
    if not _is_plain(request) or options.randomize or memory.saw_trees():
        return None
    resolved = recall(connection, request, version) or resolve(connection, request, version)
    if resolved is None:
        return None
    limit = options.limit_of(request)
    rows = compiled_queries.rows(connection, _MAKE[version >= TRAITS_SINCE], resolved, limit)
    if not rows:
        if not connection.scalar(select(_NO_PROVIDER_HAS_A_PARENT)):
            memory.note_trees()
        return None
    summaries = Summaries(connection, request, version)
    summaries.add([ProviderRow._make(row) for row in rows])
    (group,) = resolved.groups
    resources = {resolved.class_names[class_id]: amount for class_id, amount in group.resources.items()}
    return response.render_each(resources, group.suffix, summaries, version)


def _is_plain(request: CandidateRequest) -> bool:
    groups = list(request.groups.values())
    alone = len(groups) == 1 and len(groups[0].resources) == 1
    return alone and not request.is_large and not request.root_required.names() and not names_places(request)


def _make(resolved: ResolvedRequest, limit: int | None, dialect: str, *, traits: bool) -> Query:
    """SELECT (all that a summary tells) FROM … WHERE … as in ``single_provider``
    AND (SELECT MAX(parent_id) FROM resource_providers) IS NULL AND the ids still have these names
    """
    query = single_provider.providers_of(resolved, _COLUMNS[traits], dialect)
    query = query.where(_NO_PROVIDER_HAS_A_PARENT, *_names(resolved))
    return query if limit is None else query.limit(literal(limit, Integer))


def _names(resolved: ResolvedRequest) -> list[ColumnElement[bool]]:
    """Return conditions that traits still have their names: one may have been deleted, and created with another id.

    A trait that every candidate has to have needs no condition: no provider has a deleted one, and ids are not reused.
    """
    (group,) = resolved.groups
    needed = {trait for traits in group.required if len(traits) == 1 for trait in traits}
    return [is_named(TRAITS, *item) for item in resolved.trait_names.items() if item[0] not in needed]


_MAKE = {traits: partial(_make, traits=traits) for traits in (False, True)}
