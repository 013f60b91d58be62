"""The one scan of an explanation: a bit for each condition that a machine fails, counted in the database."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Integer, and_, case, func, literal, literal_column, null, select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node
from baremetal_sched.scheduling.masks import Bucket, Kind
from baremetal_sched.scheduling.question import LOCK, Check, Question
from baremetal_sched.scheduling.reasons import reason

#: So many conditions share a number; databases have 63 bits for one.
_WORD = 60

#: Machines that meet all that was asked for, and are not free: they are no nodes, or have less than was asked for.
_NOT_A_NODE = "not a node"
_TOO_LITTLE = "too little is free"
_LOCKED = "locked"


@dataclass(frozen=True)
class Scanned:
    """What was found: machines by mask, and by why they are not free those that meet all that was asked for.

    ``nodes``: how many there are, of which ``sample`` were looked at; None: all of them.
    """

    nodes: int
    masks: dict[int, Bucket]
    busy: dict[str, int]
    sample: int | None = None
    incapable: dict[str, int] = field(default_factory=dict)


def scan(session: Session, question: Question, named: Visibility, most: int) -> Scanned:
    """Look at all machines of the question, or at a sample if there are more than ``most``.

    SELECT word_0, …, reason, count(*), min(uuid) FROM (
      SELECT CASE WHEN <first> IS NOT true THEN 1 ELSE 0 END + CASE WHEN <second> IS NOT true THEN 2 ELSE 0 END + …
        AS word_0, …, <why it is not free> AS reason, uuid FROM … WHERE …) GROUP BY word_0, …, reason
    """
    total, sampling = _sampling(session, question, most)
    words = [
        _word(question.checks[start : start + _WORD]).label(f"word_{number}")
        for number, start in enumerate(range(0, len(question.checks), _WORD))
    ]
    shown = and_(true(), *named.conditions())
    # Who sees everything is shown providers that are no nodes, too.
    example = question.uuid if named.everything else case((shown, question.uuid), else_=null())
    inner = (
        select(*words, _why(question).label("reason"), example.label("example"))
        .select_from(question.source)
        .where(*question.where, *sampling)
        .subquery("machines")
    )
    keys = [inner.c[word.name] for word in words]
    rows = session.execute(
        select(inner.c.reason, func.count(), func.min(inner.c.example), *keys).group_by(inner.c.reason, *keys)
    ).all()
    masks, busy = _collected(question, rows)
    sample = sum(bucket.machines for bucket in masks.values()) if sampling else None
    return Scanned(total if sample is not None else _sum(masks), masks, busy, sample)


def _sum(masks: dict[int, Bucket]) -> int:
    return sum(bucket.machines for bucket in masks.values())


def _sampling(session: Session, question: Question, most: int) -> tuple[int, list[ColumnElement[bool]]]:
    """How many machines there are, and the condition of a sample if they are too many: each of every so many."""
    counted = select(func.count()).select_from(question.source).where(*question.where)
    total: int = session.scalar(counted) or 0
    step = -(-total // most)
    return total, [question.row_id % literal(step, Integer) == 0] if step > 1 else []


def _word(checks: Sequence[Check]) -> ColumnElement[Any]:
    bits = [
        case((check.holds.is_not(true()), literal_column(str(1 << place))), else_=literal_column("0"))
        for place, check in enumerate(checks)
    ]
    total: ColumnElement[Any] = bits[0]
    for bit in bits[1:]:
        total = total + bit
    return total


def _why(question: Question) -> ColumnElement[Any]:
    why = func.coalesce(reason(), case((Node.reservation.is_not(None), literal(_LOCKED, literal_execute=True))))
    if not question.of_providers:
        return why
    return case((Node.id.is_(None), literal(_NOT_A_NODE, literal_execute=True)), else_=why)


def _collected(question: Question, rows: Sequence[Any]) -> tuple[dict[int, Bucket], dict[str, int]]:
    asked = held = 0
    for place, check in enumerate(question.checks):
        asked |= (check.condition.kind is Kind.REQUEST) << place
        held |= (check.condition.kind is Kind.AVAILABILITY) << place
    masks: dict[int, Bucket] = {}
    busy: Counter[str] = Counter()
    for why, machines, example, *words in rows:
        mask = sum(int(word) << (_WORD * number) for number, word in enumerate(words))
        before = masks.get(mask, Bucket(0))
        masks[mask] = Bucket(before.machines + machines, min(filter(None, (before.example, example)), default=None))
        if not mask & asked and mask & held:
            busy[why if why and why != _NOT_A_NODE else _TOO_LITTLE] += machines
    return masks, dict(sorted(busy.items()))


def waiting_groups(session: Session, question: Question) -> list[tuple[str, int]]:
    """Return how many nodes of each conductor group would fit if a conductor served them, and are not served.

    Locks do not count, as they pass.
    """
    others = [
        check.holds
        for check in question.checks
        if check.condition.kind is not Kind.SERVICE and check.condition.id != LOCK
    ]
    unserved = [~check.holds for check in question.checks if check.condition.kind is Kind.SERVICE]
    rows = session.execute(
        select(Node.conductor_group, func.count())
        .select_from(question.source)
        .where(*question.where, *others, *unserved)
        .group_by(Node.conductor_group)
        .order_by(Node.conductor_group)
        .limit(MOST_GROUPS)
    )
    return [(group, count) for group, count in rows]


#: So many conductor groups are listed at most.
MOST_GROUPS = 100
