"""Statements for plain requests, made once for all requests of one form.

Requests that differ only in which class, amounts and traits they name are the same statement with other values. It
takes longer to make such a statement, and to look it up in SQLAlchemy's cache, than the database takes to run it. So it
is made for a request with marks in the place of ids, amounts and names, and what it was compiled to is kept.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect

from baremetal_sched.db.types import Query
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest

#: Makes the statement of a request and its limit for a dialect, by name. It may look at which things are the same, and
#: at how many there are.
Make = Callable[[ResolvedRequest, int | None, str], Query]


def texts(connection: Connection, make: Make, resolved: ResolvedRequest, limit: int | None) -> Sequence[str]:
    """The only column of what ``make(resolved, limit, …)`` selects, a text.

    ``resolved`` has one group, which asks for no aggregates and no tree, and nothing is asked of the root.
    """
    marks = _Marks()
    statement, parameters = _compiled(
        make, _marked(resolved, marks), None if limit is None else marks.of("limit", limit), connection.dialect
    )
    value = marks.values.get
    if isinstance(parameters, dict):
        given: Any = {name: value(mark, mark) for name, mark in parameters.items()}
    else:
        given = tuple(value(mark, mark) for mark in parameters)
    return [text for (text,) in connection.exec_driver_sql(statement, given)]


class _Marks:
    """Numbers that are nobody's id and no amount, and texts that are no name; and what they stand for."""

    def __init__(self) -> None:
        self.values: dict[int | str, int | str] = {}
        self._known: dict[tuple[str, int], int] = {}

    def of(self, kind: str, value: int) -> int:
        """The mark of an id or an amount: the same for the same."""
        mark = self._known.get((kind, value))
        if mark is None:
            mark = self._known[kind, value] = -1 - len(self._known)
            self.values[mark] = value
        return mark

    def of_name(self, owner: int, name: str) -> str:
        """The mark of the name of what has the mark ``owner``."""
        mark = f"the name of {owner}"
        self.values[mark] = name
        return mark


def _marked(resolved: ResolvedRequest, marks: _Marks) -> ResolvedRequest:
    (group,) = resolved.groups
    asked = FrozenDict((marks.of("class", key), marks.of("amount", amount)) for key, amount in group.resources.items())

    def traits(ids: frozenset[int]) -> frozenset[int]:
        return frozenset(marks.of("trait", trait) for trait in sorted(ids))

    required = tuple(traits(ids) for ids in group.required)
    forbidden = traits(group.forbidden)
    names = [(marks.of("trait", trait), name) for trait, name in resolved.trait_names.items()]
    return ResolvedRequest(
        groups=(Group(group.suffix, asked, required, forbidden),),
        class_names=FrozenDict(),
        trait_names=FrozenDict((mark, marks.of_name(mark, name)) for mark, name in names),
        few_classes=frozenset(marks.of("class", key) for key in resolved.few_classes),
        few_traits=traits(resolved.few_traits),
    )


@lru_cache(maxsize=500)
def _compiled(make: Make, resolved: ResolvedRequest, limit: int | None, dialect: Dialect) -> tuple[str, Any]:
    """The text of the statement, and its parameters as the driver wants them: by name, or in order."""
    compiled = make(resolved, limit, dialect.name).compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    if compiled.positiontup is None:
        return str(compiled), dict(compiled.params)
    return str(compiled), [compiled.params[name] for name in compiled.positiontup]
