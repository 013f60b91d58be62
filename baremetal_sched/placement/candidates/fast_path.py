"""Candidates and all that the answer tells about them in one statement, for plain requests to a bare metal fleet.

It answers requests for one class that name no tree or aggregate, where no provider has a parent. Other requests are
left to the general search. If no provider fits, there is no candidate, whatever has a parent. Where both apply they
give the same answer, so the switch ``[placement] candidates_fast_path`` changes only how long it takes. No module of
the search imports this one.

Without it, the service and its database together use 1.4 to 2.2 times the processor time for a request of this kind,
and the client waits 1.4 to 2.3 times as long. This was measured with 20,000 nodes and limits of 1, 10 and 1000, for a
class, with a required trait, and with a forbidden one too, on PostgreSQL 15 (psycopg) and MariaDB 10.11 (mysqlclient).
With ``limit=1`` and both traits it is 3.2 instead of 7.0 milliseconds on PostgreSQL, and 3.1 instead of 6.6 on MariaDB.
Requests that it leaves to the general search cost the same with and without it.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, Integer, func, literal, select

from baremetal_sched.db.types import Query, Rows
from baremetal_sched.placement import name_memory
from baremetal_sched.placement.candidates.answer import TRAITS_SINCE, Summaries, render_each
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import names_places, recall, resolve
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest
from baremetal_sched.placement.candidates.search import Options
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.sql.conditions import is_named
from baremetal_sched.placement.candidates.sql.provider_rows import columns_of
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from baremetal_sched.placement.tables import PROVIDERS, TRAITS

#: Makes the statement of a request and its limit for a dialect, by name. It may look at which things are the same, and
#: at how many there are.
Make = Callable[[ResolvedRequest, int | None, str], Query]


def select_rows(connection: Connection, make: Make, resolved: ResolvedRequest, limit: int | None) -> Rows:
    """Return what ``make(resolved, limit, …)`` selects: texts and numbers, as the driver has them.

    ``resolved`` has one group, which asks for no aggregates and no tree, and there are no conditions on the root.
    """
    form = _Form()
    statement, parameters = _compiled(
        make, _form_of(resolved, form), None if limit is None else form.number("limit", limit), connection.dialect
    )
    given = [literal if place is None else form.values[place] for _, place, literal in parameters]
    if connection.dialect.positional:
        return connection.exec_driver_sql(statement, tuple(given)).all()
    named = dict(zip([name for name, _, _ in parameters], given, strict=True))
    return connection.exec_driver_sql(statement, named).all()


class _Number(int):
    """Stands for an id or an amount, by its place among the values. It equals no other number, so no literal of a
    statement is taken for one."""

    __slots__ = ()
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is _Number and int.__eq__(self, other)


class _Name(str):
    """Stands for a name: the digits of its place among the values. It equals no other text."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is _Name and str.__eq__(self, other)


class _Form:
    """The values of a request, and what stands for them."""

    def __init__(self) -> None:
        self.values: list[int | str] = []
        self._numbers: dict[tuple[str, int], _Number] = {}

    def number(self, kind: str, value: int) -> _Number:
        """Return the placeholder of an id or an amount; equal values have the same one."""
        number = self._numbers.get((kind, value))
        if number is None:
            number = self._numbers[kind, value] = _Number(len(self.values))
            self.values.append(value)
        return number

    def name(self, value: str) -> _Name:
        """Return what stands for a name."""
        self.values.append(value)
        return _Name(len(self.values) - 1)


def _form_of(resolved: ResolvedRequest, form: _Form) -> ResolvedRequest:
    """Return the request with placeholders for its ids, amounts and names; equal for all requests of one form."""
    (group,) = resolved.groups
    asked: FrozenDict[int, int] = FrozenDict(
        (form.number("class", key), form.number("amount", n)) for key, n in group.resources.items()
    )

    def traits(ids: frozenset[int]) -> frozenset[int]:
        return frozenset(form.number("trait", trait) for trait in sorted(ids))

    required = tuple(traits(ids) for ids in group.required)
    forbidden = traits(group.forbidden)
    names = [(form.number("trait", trait), name) for trait, name in resolved.trait_names.items()]
    return ResolvedRequest(
        groups=(Group(group.suffix, asked, required, forbidden),),
        class_names=FrozenDict(),
        trait_names=FrozenDict((trait, form.name(name)) for trait, name in names),
        few_classes=frozenset(form.number("class", key) for key in resolved.few_classes),
        few_traits=traits(resolved.few_traits),
    )


@lru_cache(maxsize=500)
def _compiled(
    make: Make, resolved: ResolvedRequest, limit: int | None, dialect: Dialect
) -> tuple[str, list[tuple[str, int | None, Any]]]:
    """Return the text of the statement, and its parameters in order: the name of each, and the place of its value, or
    None and a literal."""
    compiled = make(resolved, limit, dialect.name).compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    parameters = [(name, compiled.params[name]) for name in compiled.positiontup or compiled.params]
    return str(compiled), [
        (name, int(value) if isinstance(value, _Number | _Name) else None, value) for name, value in parameters
    ]


#: The greatest one is the last entry of an index, which MariaDB looks up while it plans (seen on 10.11).
_NO_PROVIDER_HAS_A_PARENT = select(func.max(PROVIDERS.c.parent_id)).scalar_subquery().is_(None)

_COLUMNS = {traits: columns_of(single_provider.PROVIDER, traits=traits) for traits in (False, True)}


def answer(connection: Connection, request: CandidateRequest, version: int, options: Options) -> dict[str, Any] | None:
    """Return the document; None if the general search must answer. Raises like ``resolve``.

    It takes one statement, and so shows one moment on every database; and one for names that were not looked up a
    moment ago, or if it finds nothing: one of them may be gone.
    """
    memory = name_memory.of(connection)
    if not _is_plain(request) or options.randomize or memory.saw_trees():
        return None
    remembered = recall(connection, request, version)
    resolved = remembered or resolve(connection, request, version)
    if resolved is None:
        return None
    limit = options.limit_of(request)
    rows = select_rows(connection, _MAKE[version >= TRAITS_SINCE], resolved, limit)
    if rows and not rows[0][-1]:
        memory.note_trees()
        return None
    if not rows and remembered is not None:
        found = resolve(connection, request, version)
        if found is None or not remembered.asks_like(found):
            return None
    summaries = Summaries(connection, request, version)
    summaries.add([ProviderRow._make(row[:-1]) for row in rows])
    (group,) = resolved.groups
    resources = {resolved.class_names[class_id]: amount for class_id, amount in group.resources.items()}
    return render_each(resources, group.suffix, summaries, version)


def _is_plain(request: CandidateRequest) -> bool:
    groups = list(request.groups.values())
    alone = len(groups) == 1 and len(groups[0].resources) == 1
    return alone and not request.is_large and not request.root_required.names() and not names_places(request)


def _make(resolved: ResolvedRequest, limit: int | None, dialect: str, *, traits: bool) -> Query:
    """SELECT (all that a summary tells), (SELECT MAX(parent_id) FROM resource_providers) IS NULL
    FROM … WHERE … as in ``single_provider`` AND the ids still have these names
    """
    columns = (*_COLUMNS[traits], _NO_PROVIDER_HAS_A_PARENT)
    query = single_provider.providers_of(resolved, columns, dialect).where(*_names(resolved))
    return query if limit is None else query.limit(literal(limit, Integer))


def _names(resolved: ResolvedRequest) -> list[ColumnElement[bool]]:
    """Return conditions that traits still have their names: one may have been deleted, and created with another id.

    A trait that every candidate must have needs no condition: no provider has a deleted one, and ids are not reused.
    """
    (group,) = resolved.groups
    needed = {trait for traits in group.required if len(traits) == 1 for trait in traits}
    return [is_named(TRAITS, *item) for item in resolved.trait_names.items() if item[0] not in needed]


_MAKE = {traits: partial(_make, traits=traits) for traits in (False, True)}
