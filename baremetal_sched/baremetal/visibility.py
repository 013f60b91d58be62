"""Whose nodes a request may know of: owner and lessee as one condition, in SQL and in plain Python.

A node has an owner and may have a lessee, both of them projects. What belongs to a node (ports, port groups, volumes,
events, its inventory) is visible to callers who may see the node. For all other callers the node does not exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, ColumnElement, SQLColumnExpression, String, false, func, literal, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from baremetal_sched.db.models import Node

#: Conditions of a query; all must hold. None: there is nothing to check.
Conditions = tuple[ColumnElement[bool], ...]


class is_exactly(FunctionElement[bool]):  # noqa: N801 - used like a function of SQL
    """A text equals another, also in blanks at the end, which MariaDB ignores (seen on 10.11) and so does MySQL; not
    true of NULL."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, column: SQLColumnExpression[Any], text: ColumnElement[str]) -> None:
        super().__init__(column, text)


@compiles(is_exactly)
def _default_is_exactly(element: is_exactly, compiler: SQLCompiler, **kw: Any) -> str:
    column, text = element.clauses
    return f"({compiler.process(column, **kw)} = {compiler.process(text, **kw)})"


@compiles(is_exactly, "mysql")
@compiles(is_exactly, "mariadb")
def _mysql_is_exactly(element: is_exactly, compiler: SQLCompiler, **kw: Any) -> str:
    # The first part uses the index, the second compares byte by byte.
    column, text = element.clauses
    same = _default_is_exactly(element, compiler, **kw)
    return f"({same} AND BINARY {compiler.process(column, **kw)} = {compiler.process(text, **kw)})"


def belongs_to(
    project: ColumnElement[str], *, as_owner: bool, as_lessee: bool, node: Any = Node
) -> ColumnElement[bool]:
    """owner = <project> OR lessee = <project>, or one of them, or false"""
    columns = [column for column, counts in ((node.owner, as_owner), (node.lessee, as_lessee)) if counts]
    return or_(false(), *(is_exactly(column.expression, project) for column in columns))


def usable_by(project: str) -> ColumnElement[bool]:
    """SQL condition: the node is the project's, or no project's. It is the lessee's; without one, the owner's.

    coalesce(lessee, owner) IS NULL OR coalesce(lessee, owner) = :project
    """
    tenant = func.coalesce(Node.lessee, Node.owner)
    return or_(tenant.is_(None), tenant == project)


@dataclass(frozen=True)
class Visibility:
    """The nodes that a request may see: ``everything``, or the ones that ``project`` owns or leases.

    ``as_owner``, ``as_lessee``: which of the two makes a node visible to the project. Without a project nothing is
    visible.
    """

    project: str | None = None
    as_owner: bool = True
    as_lessee: bool = True
    everything: bool = False

    @classmethod
    def of(cls, project: str | None, allows: Callable[[str | None, str | None], bool]) -> "Visibility":
        """Return the nodes with which a caller of this project may do something. ``allows`` returns whether it may with
        a node of this owner and this lessee."""
        if allows(None, None):
            return EVERYTHING
        if not project:
            return NOTHING
        return cls(project, allows(project, None), as_lessee=allows(None, project))

    @property
    def is_nothing(self) -> bool:
        """Return whether no node can be visible."""
        return not self.everything and not (self.project and (self.as_owner or self.as_lessee))

    def includes(self, other: "Visibility") -> bool:
        """Return whether all nodes that are visible to ``other``, of the same project, are visible."""
        if self.everything or other.everything or other.is_nothing:
            return self.everything or other.is_nothing
        return self.as_owner >= other.as_owner and self.as_lessee >= other.as_lessee

    def covers(self, owner: str | None, lessee: str | None) -> bool:
        """Return whether a node with this owner and this lessee is visible."""
        if self.everything:
            return True
        if not self.project:
            return False
        return (self.as_owner and owner == self.project) or (self.as_lessee and lessee == self.project)

    def conditions(self, node: Any = Node) -> Conditions:
        """Return the condition that ``node`` (the model, or an alias of it) is visible."""
        if self.everything:
            return ()
        if not self.project:
            return (false(),)
        project = literal(self.project, Node.owner.type)
        return (belongs_to(project, as_owner=self.as_owner, as_lessee=self.as_lessee, node=node),)

    def conditions_on(self, owner: Any) -> Conditions:
        """Return the condition that a thing with this ``owner`` (a column of what has no lessee) is visible."""
        if self.everything:
            return ()
        return (is_exactly(owner.expression, literal(self.project, String())),) if self.project else (false(),)

    def conditions_behind(self, node_id: Any) -> Conditions:
        """Return the condition that the node with this id (a column of what belongs to nodes) is visible.

        node_id IN (SELECT id FROM nodes WHERE owner = <project> OR lessee = <project>)
        """
        if self.everything:
            return ()
        return (node_id.in_(select(Node.id).where(*self.conditions())),)


EVERYTHING = Visibility(everything=True)
NOTHING = Visibility(as_owner=False, as_lessee=False)


def _anything(owner: str | None, lessee: str | None) -> None:
    """Allow it."""


@dataclass(frozen=True)
class Access:
    """The nodes that the caller of a request may see, and the caller's rights to them.

    ``require(owner, lessee)`` raises NotAllowed unless the caller may do the requested action to a node with this owner
    and this lessee; both are None for a node that does not exist, or that the caller may not see.
    """

    visible: Visibility = EVERYTHING
    require: Callable[[str | None, str | None], None] = _anything

    def check(self, node: Node) -> None:
        """Raise NotAllowed unless the caller may do it to ``node``, as the row is now."""
        self.require(node.owner, node.lessee)


#: Of the service itself, and of callers who may do everything.
UNRESTRICTED = Access()
