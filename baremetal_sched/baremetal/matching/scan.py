"""A scan of machines: a bit for each condition of a question that a machine fails, counted in the database by one
statement; and names that do not exist, with the names that may have been meant."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.conditions import Condition, Kind
from baremetal_sched.baremetal.matching.masks import Bucket, Masks
from baremetal_sched.baremetal.matching.question import Question, Scope, nodes_source
from baremetal_sched.baremetal.provider.availability import ALLOCATED, PROVIDER, reason, with_ends
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node
from baremetal_sched.placement.ends import LATE
from baremetal_sched.placement.tables import CLAIM_ENDS, CLASSES, INVENTORIES, PROVIDER_TRAITS, TRAITS

#: The number of conditions that share a bit mask; databases have 63 bits for one.
_WORD = 60

#: The golden ratio, of a turn.
_TURN = 2**32
_GOLDEN = 2_654_435_761

#: Machines that meet all conditions of the request, and are not free: they are not nodes, or too little of them is
#: free.
_NOT_A_NODE = "not a node"
TOO_LITTLE = "too little is free"
_LOCKED = "locked"
#: Allocated, and the end of its consumer is known.
IN_USE_UNTIL = "in use until"


@dataclass(frozen=True)
class Scan:
    """The result: machines by mask, and machines that meet the request, by the reason why they are not free.

    ``nodes``: the number of machines. ``sample``: the number of machines that were examined; None: all. ``others``: how
    many of them were counted without being examined, as they are outside of the ``scope``. ``question`` is the question
    about the examined machines. ``first_end``: the first end of machines that are in use until one.
    """

    nodes: int
    masks: dict[int, Bucket]
    busy: dict[str, int]
    sample: int | None = None
    others: int = 0
    scope: Scope | None = None
    question: Question | None = None
    first_end: float | None = None


def scan(session: Session, question: Question, named: Visibility, most: int) -> Scan:
    """Look at all machines of the question; if there are more than ``most``, at those in its scope, or at a sample.

    SELECT word_0, …, reason, count(*), min(uuid) FROM (
      SELECT CASE WHEN <first> IS NOT true THEN 1 ELSE 0 END + CASE WHEN <second> IS NOT true THEN 2 ELSE 0 END + …
        AS word_0, …, <why it is not free> AS reason, uuid FROM … WHERE …) GROUP BY word_0, …, reason
    """
    total, part, question = _chosen(session, question, most)
    words = [
        _word(question.conditions[start : start + _WORD]).label(f"word_{number}")
        for number, start in enumerate(range(0, len(question.conditions), _WORD))
    ]
    namable = and_(true(), *named.conditions())
    # A caller who sees everything also sees providers that are not nodes.
    example = question.uuid if named.everything else case((namable, question.uuid), else_=null())
    inner = (
        select(*words, _why(question).label("reason"), example.label("example"))
        .select_from(question.source)
        .where(*question.where)
        .subquery("machines")
    )
    keys = [inner.c[word.name] for word in words]
    rows = session.execute(
        select(inner.c.reason, func.count(), func.min(inner.c.example), *keys).group_by(inner.c.reason, *keys)
    ).all()
    masks, busy = _collected(question, rows)
    below = busy.pop(_NOT_A_NODE, 0)
    if below:
        busy += _of_machines(session, question, below)
    machines = sum(bucket.machines for bucket in masks.values())
    others = 0 if question.scope is None else max(0, round(total * part) - machines)
    nodes = total if others or part < 1 else machines
    sample = machines + others if part < 1 else None
    first_end = _count_ends(session, question, busy) if busy[ALLOCATED] else None
    return Scan(nodes, masks, dict(sorted((+busy).items())), sample, others, question.scope, question, first_end)


def _count_ends(session: Session, question: Question, busy: Counter[str]) -> float | None:
    """Count allocated machines that are in use until a known end by themselves; return the first of these ends.

    SELECT count(*), min(e.ends_at) FROM <the machines> LEFT JOIN … claim_ends e … WHERE <what is asked for>
    AND e.state <> 'late'
    """
    if session.scalar(select(CLAIM_ENDS.c.consumer_id).limit(1)) is None:
        return None
    met = [each.holds for each in question.conditions if each.kind is Kind.REQUEST]
    ends = select(func.count(), func.min(CLAIM_ENDS.c.ends_at)).select_from(with_ends(question.source))
    number, first = session.execute(ends.where(*question.where, *met, CLAIM_ENDS.c.state != LATE)).one()
    busy[IN_USE_UNTIL] = number
    busy[ALLOCATED] -= number
    return None if first is None else float(first)


def _chosen(session: Session, question: Question, most: int) -> tuple[int, float, Question]:
    """The number of all machines, the part of them that is examined, and the question about that part. It has a scope
    only if other machines are not examined.
    """
    total: int = session.scalar(select(func.count()).select_from(question.counted).where(*question.where)) or 0
    everything = replace(question, scope=None)
    if total <= most:
        return total, 1, everything
    scope = question.scope
    if scope is None:
        return total, most / total, _sampled(everything, question.row_id, most / total)
    narrow = replace(question, where=(*question.where, scope.holds))
    inside: int = session.scalar(scope.count) or 0
    if inside <= most:
        return total, 1, narrow
    return total, most / inside, _sampled(narrow, scope.row_id, most / inside)


def _sampled(question: Question, row_id: Any, part: float) -> Question:
    """The question about a part of its machines, whose numbers are ``row_id``.

    (id * 2654435761) % 4294967296 < :part * 4294967296

    The fractions of multiples of the golden ratio are spread evenly in any run of ids. So the
    order in which machines of different kinds were enrolled does not matter.
    """
    place = cast(row_id, BigInteger) * literal_column(str(_GOLDEN)) % literal_column(str(_TURN))
    # As an equation: of an inequality PostgreSQL expects a third of all rows, and reads whole tables for them.
    chosen = case((place < literal(int(part * _TURN), BigInteger), literal_column("1")), else_=literal_column("0"))
    return replace(question, where=(*question.where, chosen == literal_column("1")))


def _word(conditions: Sequence[Condition]) -> ColumnElement[Any]:
    bits = [
        case((each.holds.is_not(true()), literal_column(str(1 << place))), else_=literal_column("0"))
        for place, each in enumerate(conditions)
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


def _collected(question: Question, rows: Sequence[Any]) -> tuple[dict[int, Bucket], Counter[str]]:
    request_bits = availability_bits = 0
    for place, each in enumerate(question.conditions):
        request_bits |= (each.kind is Kind.REQUEST) << place
        availability_bits |= (each.kind is Kind.AVAILABILITY) << place
    masks, busy = Masks(), Counter[str]()
    for why, machines, example, *words in rows:
        mask = sum(int(word) << (_WORD * number) for number, word in enumerate(words))
        masks.add(mask, machines, example)
        if not mask & request_bits and mask & availability_bits:
            busy[why or TOO_LITTLE] += machines
    return masks, busy


def _of_machines(session: Session, question: Question, providers: int) -> Counter[str]:
    """Why machines are not free. They are the roots of ``providers`` that are not nodes, and not free.

    SELECT coalesce(<why it is not free>, 'too little is free'), count(*) FROM nodes … JOIN (
      SELECT p.root_id FROM … WHERE <what is asked for> AND NOT (<it is free>) AND n.id IS NULL) ON p.id = root_id …
    """
    of_kind = {kind: [each.holds for each in question.conditions if each.kind is kind] for kind in Kind}
    held = or_(*(holds.is_not(true()) for holds in of_kind[Kind.AVAILABILITY]))
    below = (
        select(PROVIDER.c.root_id)
        .select_from(question.source)
        .where(*question.where, Node.id.is_(None), *of_kind[Kind.REQUEST], held)
        .subquery("below")
    )
    why = func.coalesce(reason(), literal(TOO_LITTLE, literal_execute=True))
    machines = nodes_source().join(below, below.c.root_id == PROVIDER.c.id)
    rows = session.execute(select(why, func.count()).select_from(machines).group_by(why))
    counts = Counter({word: count for word, count in rows})
    counts[TOO_LITTLE] += providers - counts.total()
    return +counts


#: The limit on the unknown names that are looked at, on the known names that each is compared with, and on their
#: length.
_MOST = 10
_COMPARED = 5_000
_LONGEST = 80
_CLOSE = 3

_CUSTOM = "CUSTOM_"
_STOCK = INVENTORIES.alias("stock_by_name")


@dataclass(frozen=True)
class Unknown:
    """A name that nothing has, and names like it, each with how many of the machines have it."""

    name: str
    did_you_mean: list[tuple[str, int]]


def unknown_names(session: Session, question: Question) -> list[Unknown]:
    """Return the unknown names of the question, with the similar names that its machines have."""
    names = question.names
    with_traits = question.source.join(PROVIDER_TRAITS, PROVIDER_TRAITS.c.provider_id == PROVIDER.c.id).join(
        TRAITS, TRAITS.c.id == PROVIDER_TRAITS.c.trait_id
    )
    traits = _unknown(session, question, names.traits, TRAITS.c.name, TRAITS, with_traits)
    if names.of_nodes:
        return (
            _unknown(session, question, names.classes, Node.resource_class, question.counted, question.counted) + traits
        )
    with_classes = question.source.join(_STOCK, _STOCK.c.provider_id == PROVIDER.c.id).join(
        CLASSES, CLASSES.c.id == _STOCK.c.resource_class_id
    )
    return _unknown(session, question, names.classes, CLASSES.c.name, CLASSES, with_classes) + traits


def _unknown(
    session: Session, question: Question, names: Collection[str], name: Any, named: Any, machines: Any
) -> list[Unknown]:
    """Return the ones of ``names`` that do not occur in the column ``name`` of ``named``. ``machines``: what has the
    names.

    If only some machines may be disclosed, only their names and standard names are known. A name that only other
    machines use is unknown, and does not hide a similar one.
    """
    if not names:
        return []
    disclosed = question.where if question.disclosed is None else question.disclosed
    within = select(name).select_from(machines if disclosed else named).where(*disclosed).distinct()
    there = set(session.scalars(within.where(name.in_(names))))
    if disclosed and name is not Node.resource_class:
        standard = [each for each in names if not each.startswith(_CUSTOM) and each not in there]
        there |= set(session.scalars(select(name).select_from(named).where(name.in_(standard)))) if standard else set()
    missing = [each for each in names if each not in there][:_MOST]
    if not missing:
        return []
    known = list(session.scalars(within.where(name.is_not(None)).limit(_COMPARED)))
    like = {each: _like(each, known) for each in missing}
    similar = {close for some in like.values() for close in some}
    counts: dict[str, int] = {}
    if similar:
        counting = select(name, func.count()).select_from(machines).where(name.in_(similar), *disclosed)
        counts = {some: count for some, count in session.execute(counting.group_by(name))}
    return [Unknown(each, [(close, counts[close]) for close in like[each] if close in counts]) for each in missing]


def _like(word: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that are most similar to ``word``. The common prefix of custom names is ignored."""
    if len(word) > _LONGEST:
        return []
    short: dict[str, str] = {}
    for name in known:
        short.setdefault(name.removeprefix(_CUSTOM).lower(), name)
    return [short[close] for close in get_close_matches(word.removeprefix(_CUSTOM).lower(), short, n=_CLOSE)]
