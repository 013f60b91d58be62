"""Holds of many nodes: a list by time and by properties of their nodes, and the nodes that a filter selects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, String, and_, case, func, literal, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import rules
from baremetal_sched.baremetal.holds.holds import LONGEST
from baremetal_sched.baremetal.holds.rules import BUILT_IN, FAULT, LESSEE, OWNER, SCOPES
from baremetal_sched.baremetal.visibility import Conditions, Visibility, is_exactly
from baremetal_sched.db import paging
from baremetal_sched.db.json_members import member_text
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.paging import Page
from baremetal_sched.errors import InvalidValue, SchedulerError

#: One request asserts holds of at most this many nodes.
MOST_NODES = 1000

#: The number of holds that are read at a time.
_CHUNK = 1000

#: The columns of a hold in the list: the hold, and its node's UUID, name, owner and lessee.
HoldRow = tuple[Hold, str, str | None, str | None, str | None]

_SHOWN = select(Hold, Node.uuid, Node.name, Node.owner, Node.lessee).join(Node, Node.id == Hold.node_id)


@dataclass(frozen=True)
class Asserter:
    """A person as a filter of holds: its id or its name; None: anyone but the service itself.

    ``conditions``: those on ``Hold`` and ``Node`` that the caller may see who asserted the hold.
    """

    person: str | None
    conditions: Conditions = ()

    def where(self) -> list[ColumnElement[bool]]:
        """Return the condition as SQL."""
        if self.person is None:
            return [Hold.type != FAULT, *self.conditions]
        person = literal(self.person[:LONGEST], Hold.asserted_by.type)
        columns = (Hold.asserted_by.expression, Hold.asserted_by_name.expression)
        return [or_(*(is_exactly(column, person) for column in columns)), *self.conditions]


@dataclass(frozen=True)
class HoldFilters:
    """The filters of a list of holds: ``since`` and ``until`` leave holds that overlap the time between
    them; ``own`` leaves holds that callers of ``project`` asserted, or only others. ``reason`` is the whole text, empty
    for holds without one; ``extra`` the name and the value of a member. ``where``: further conditions."""

    type: str | None = None
    active: bool | None = None
    since: float | None = None
    until: float | None = None
    own: bool | None = None
    project: str = ""
    reason: str | None = None
    extra: tuple[str, str] | None = None
    asserter: Asserter | None = None
    where: Sequence[ColumnElement[bool]] = field(default=())

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return them as SQL."""
        found = list(self.where)
        if self.type is not None:
            found.append(Hold.type == self.type)
        if self.active is not None:
            found.append(Hold.begun_at.is_not(None) if self.active else Hold.begun_at.is_(None))
        if self.own is not None:
            is_own = and_(Hold.asserted_by_project == self.project, Hold.type.not_in(BUILT_IN))
            found.append(is_own if self.own else ~is_own)
        if self.reason is not None:
            reason = func.coalesce(Hold.reason, "")
            found.append(is_exactly(reason, literal(self.reason, Hold.reason.type)))
        if self.extra is not None:
            name, value = self.extra
            found.append(is_exactly(member_text(Hold.extra.expression, name), literal(value, String())))
        if self.asserter is not None:
            found += self.asserter.where()
        if self.since is not None:
            found.append(or_(Hold.ends_at.is_(None), Hold.ends_at > self.since))
        if self.until is not None:
            found.append(func.coalesce(Hold.starts_at, Hold.asserted_at) < self.until)
        return found


def names_asserter(project: str) -> Conditions:
    """Return the condition on ``Hold`` and ``Node`` that a caller of this project, without the system's authority, may
    see who asserted the hold: ``rules.is_masked_from``, asked for each scope.

    n.owner = <project> AND (h.scope IN (…) OR h.scope IN (…) AND h.asserted_by_project = <project>) OR …
    """
    is_own = is_exactly(Hold.asserted_by_project.expression, literal(project, Hold.asserted_by_project.type))

    def sees_as(relation: str) -> ColumnElement[bool]:
        always = [scope for scope in SCOPES if not rules.is_masked_from(scope, f"not {project}", relation, project)]
        own = [scope for scope in SCOPES if not rules.is_masked_from(scope, project, relation, project)]
        return or_(Hold.scope.in_(always), and_(Hold.scope.in_(own), is_own))

    if not project:
        return (sees_as(LESSEE),)
    # NULL is neither the project nor another one.
    is_owner = case((is_exactly(Node.owner.expression, literal(project, Node.owner.type)), 1), else_=0)
    return (or_(and_(is_owner == 1, sees_as(OWNER)), and_(is_owner == 0, sees_as(LESSEE))),)


def select_holds(session: Session, filters: HoldFilters, page: Page, visible: Visibility) -> list[HoldRow]:
    """Return the holds on the page, of visible nodes, in the order in which they were asserted. Raises InvalidValue for
    a marker that names none.

    SELECT h.*, n.uuid, n.name, n.owner, n.lessee FROM holds h JOIN nodes n ON n.id = h.node_id WHERE … ORDER BY h.id
    """
    if not visible.everything:
        page.within = Hold.node_id.in_(select(Node.id).where(*visible.conditions()))
    query = _SHOWN.where(*visible.conditions(), *filters.conditions())
    return [
        (row[0], row[1], row[2], row[3], row[4]) for row in paging.select_page(session, query, Hold, page, _missing)
    ]


def by_time(session: Session, visible: Visibility, most: int) -> Iterator[HoldRow]:
    """Yield the first holds of visible nodes, at most ``most``: first active, then planned ones, each by the time of
    their start. _CHUNK of them are read at a time.

    SELECT h.id FROM holds h JOIN nodes n ON n.id = h.node_id WHERE …
    ORDER BY h.begun_at IS NULL, coalesce(h.starts_at, h.asserted_at), h.id LIMIT …
    """
    start = func.coalesce(Hold.starts_at, Hold.asserted_at)
    query = _SHOWN.where(*visible.conditions()).with_only_columns(Hold.id)
    ids = session.scalars(query.order_by(Hold.begun_at.is_(None), start, Hold.id).limit(most)).all()
    for first in range(0, len(ids), _CHUNK):
        chunk = ids[first : first + _CHUNK]
        found = {
            row[0].id: (row[0], row[1], row[2], row[3], row[4])
            for row in session.execute(_SHOWN.where(Hold.id.in_(chunk)))
        }
        yield from (found[each] for each in chunk if each in found)


def _missing(uuid: str) -> SchedulerError:
    return InvalidValue(message=f"There is no hold {uuid}, which marker names.")


def select_nodes(
    session: Session, idents: Sequence[str], conditions: Sequence[ColumnElement[bool]], visible: Visibility
) -> list[Node]:
    """Return the visible nodes that meet the conditions, of those with these UUIDs or names if there are any; their
    rows are locked, always in the same order.

    Raises InvalidValue if there is none, if there are more than ``MOST_NODES``, or if one of ``idents`` names none.
    """
    clauses: list[ColumnElement[bool]] = [*visible.conditions()]
    if idents:
        clauses.append(or_(Node.uuid.in_(idents), Node.name.in_(idents)))
    ids = session.execute(
        select(Node.id, Node.uuid, Node.name).where(and_(*clauses, *conditions)).order_by(Node.id).limit(MOST_NODES + 1)
    ).all()
    named = {name for _, *names in ids for name in names}
    unknown = [ident for ident in idents if ident not in named]
    if unknown:
        raise InvalidValue(message=f"No node that fits the other filters is called {unknown[0]}.")
    if not ids:
        raise InvalidValue(message="No node fits the filter.")
    if len(ids) > MOST_NODES:
        raise InvalidValue(message=f"More than {MOST_NODES} nodes fit the filter: narrow it.")
    statement = select(Node).where(Node.id.in_([row_id for row_id, *_ in ids]), *clauses, *conditions)
    return list(session.scalars(statement.order_by(Node.id).with_for_update(of=Node)))
