"""Statements for plain requests, made once for all requests of one form.

Requests that differ only in which class, amounts and traits they name are the same statement with other values. It
takes longer to make such a statement, and to look it up in SQLAlchemy's cache, than the database takes to run it. So it
is made for a request that has placeholders instead of ids, amounts and names, and what it was compiled to is kept.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect

from baremetal_sched.db.types import Query, Rows
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest

#: Makes the statement of a request and its limit for a dialect, by name. It may look at which things are the same, and
#: at how many there are.
Make = Callable[[ResolvedRequest, int | None, str], Query]


def rows(connection: Connection, make: Make, resolved: ResolvedRequest, limit: int | None) -> Rows:
    """Return what ``make(resolved, limit, …)`` selects: texts and numbers, as the driver has them.

    ``resolved`` has one group, which asks for no aggregates and no tree, and nothing is asked of the root.
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
        """Return what stands for an id or an amount: the same for the same."""
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
    """Return the request with what stands for its ids, amounts and names; the same for all requests of one form."""
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
