"""Why machines meet the conditions of a question or do not: a bit for each condition that a machine fails, counted in
the database by one statement, and what follows from it; unknown names, and the names that may have been meant."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import structlog
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

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import capabilities, limits, sentences
from baremetal_sched.baremetal.matching.masks import Analysis, Bucket, Condition, Kind, analyse, beside
from baremetal_sched.baremetal.matching.question import CLASS, LOCK, Check, Question, Scope, nodes_source
from baremetal_sched.baremetal.matching.reasons import PROVIDER, reason
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.engine import WRITES
from baremetal_sched.db.models import Node
from baremetal_sched.errors.compute import ExplanationTookTooLong, TooManyExplanations
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDER_TRAITS, TRAITS
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: The number of conditions that share a bit mask; databases have 63 bits for one.
_WORD = 60

#: The golden ratio, of a turn.
_TURN = 2**32
_GOLDEN = 2_654_435_761

#: Machines that meet all that was asked for, and are not free: they are no nodes, or have less than was asked for.
_NOT_A_NODE = "not a node"
TOO_LITTLE = "too little is free"
_LOCKED = "locked"


@dataclass(frozen=True)
class Scanned:
    """The result: machines by mask, and machines that meet the request, by the reason why they are not free.

    ``nodes``: the number of machines. ``sample``: the number of machines that were examined; None: all. ``others``: how
    many of them were counted without being examined, as they are outside of the ``scope``. ``question`` is the question
    about the examined machines.
    """

    nodes: int
    masks: dict[int, Bucket]
    busy: dict[str, int]
    sample: int | None = None
    others: int = 0
    scope: Scope | None = None
    question: Question | None = None


def scan(session: Session, question: Question, named: Visibility, most: int) -> Scanned:
    """Look at all machines of the question; if there are more than ``most``, at those in its scope, or at a sample.

    SELECT word_0, …, reason, count(*), min(uuid) FROM (
      SELECT CASE WHEN <first> IS NOT true THEN 1 ELSE 0 END + CASE WHEN <second> IS NOT true THEN 2 ELSE 0 END + …
        AS word_0, …, <why it is not free> AS reason, uuid FROM … WHERE …) GROUP BY word_0, …, reason
    """
    total, part, question = _chosen(session, question, most)
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
    found = sum(bucket.machines for bucket in masks.values())
    others = 0 if question.scope is None else max(0, round(total * part) - found)
    nodes = total if others or part < 1 else found
    sample = found + others if part < 1 else None
    return Scanned(
        nodes, masks, dict(sorted(busy.items())), sample, others=others, scope=question.scope, question=question
    )


def _chosen(session: Session, question: Question, most: int) -> tuple[int, float, Question]:
    """How many machines there are in all, the part of them that is looked at, and the question about these.

    It has a scope only if others are not looked at.
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
    """The question of a part of its machines, whose numbers are ``row_id``.

    (id * 2654435761) % 4294967296 < :part * 4294967296

    The multiples of the golden ratio, of which these are the fractions, are spread evenly: in any run of ids, and in
    whatever order machines of different kinds were enrolled.
    """
    place = cast(row_id, BigInteger) * literal_column(str(_GOLDEN)) % literal_column(str(_TURN))
    # As an equation: of an inequality PostgreSQL expects a third of all rows, and reads whole tables for them.
    chosen = case((place < literal(int(part * _TURN), BigInteger), literal_column("1")), else_=literal_column("0"))
    return replace(question, where=(*question.where, chosen == literal_column("1")))


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


def _collected(question: Question, rows: Sequence[Any]) -> tuple[dict[int, Bucket], Counter[str]]:
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
            busy[why or TOO_LITTLE] += machines
    return masks, busy


def _of_machines(session: Session, question: Question, providers: int) -> Counter[str]:
    """Why the machines are not free that the ``providers`` are below which are no nodes, and not free.

    SELECT coalesce(<why it is not free>, 'too little is free'), count(*) FROM nodes … JOIN (
      SELECT p.root_id FROM … WHERE <what is asked for> AND NOT (<it is free>) AND n.id IS NULL) ON p.id = root_id …
    """
    of_kind = {kind: [check.holds for check in question.checks if check.condition.kind is kind] for kind in Kind}
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
    found = Counter({word: count for word, count in rows})
    found[TOO_LITTLE] += providers - found.total()
    return +found


#: The greatest number of conductor groups that are listed.
MOST_GROUPS = 100


@dataclass(frozen=True)
class WaitingGroup:
    """A conductor group, how many of its conductors are alive, and how many nodes would fit if one served them."""

    conductor_group: str
    conductors_alive: int
    fitting_if_served: int


def _waiting_groups(
    session: Session, question: Question, masks: Mapping[int, Bucket], members: Membership
) -> list[WaitingGroup]:
    """Groups of nodes that fit but for a conductor. The database is asked only if there are any.

    Locks do not count, as they pass.
    """
    counted = [(place, check) for place, check in enumerate(question.checks) if check.condition.counts]
    service = sum(1 << place for place, check in enumerate(question.checks) if check.condition.kind is Kind.SERVICE)
    others = sum(1 << place for place, check in counted if check.condition.kind is not Kind.SERVICE)
    if not any(mask & service and not mask & others for mask in masks):
        return []
    alive: dict[str, set[str]] = {}
    for (group, _), hosts in members.members.items():
        alive.setdefault(group, set()).update(hosts)
    holds = [
        ~check.holds if check.condition.kind is Kind.SERVICE else check.holds
        for check in question.checks
        if check.condition.id != LOCK
    ]
    rows = session.execute(
        select(Node.conductor_group, func.count())
        .select_from(question.source)
        .where(*question.where, *holds)
        .group_by(Node.conductor_group)
        .order_by(Node.conductor_group)
        .limit(MOST_GROUPS)
    )
    return [WaitingGroup(group, len(alive.get(group if members.grouped else "", ())), count) for group, count in rows]


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
    session: Session, question: Question, asked: Collection[str], name: Any, named: Any, machines: Any
) -> list[Unknown]:
    """Return the ones of ``asked`` that do not occur in the column ``name`` of ``named``. ``machines``: what has the
    names.

    If only some machines may be disclosed, only the names that these have, and standard names, are known: a name that
    only other machines use is unknown, and does not hide a similar one.
    """
    if not asked:
        return []
    told = question.told or ()
    within = select(name).select_from(machines if told else named).where(*told).distinct()
    there = set(session.scalars(within.where(name.in_(asked))))
    if told and name is not Node.resource_class:
        standard = [each for each in asked if not each.startswith(_CUSTOM) and each not in there]
        there |= set(session.scalars(select(name).select_from(named).where(name.in_(standard)))) if standard else set()
    missing = [each for each in asked if each not in there][:_MOST]
    if not missing:
        return []
    known = list(session.scalars(within.where(name.is_not(None)).limit(_COMPARED)))
    like = {each: _like(each, known) for each in missing}
    wanted = {close for found in like.values() for close in found}
    counts: dict[str, int] = {}
    if wanted:
        counting = select(name, func.count()).select_from(machines).where(name.in_(wanted), *told)
        counts = {found: count for found, count in session.execute(counting.group_by(name))}
    return [Unknown(each, [(close, counts[close]) for close in like[each] if close in counts]) for each in missing]


def _like(word: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that are most similar to ``word``. The common prefix of custom names is ignored."""
    if len(word) > _LONGEST:
        return []
    short: dict[str, str] = {}
    for name in known:
        short.setdefault(name.removeprefix(_CUSTOM).lower(), name)
    return [short[close] for close in get_close_matches(word.removeprefix(_CUSTOM).lower(), short, n=_CLOSE)]


#: Seconds that may be spent on explaining a failure, while others may wait for the locks of the transaction.
_SECONDS = 2.0

#: With more conditions, the database's planner alone takes longer than that, and cannot be interrupted.
_MOST_CONDITIONS = 100


@dataclass(frozen=True)
class Diagnosis:
    """What was found of a question: machines by mask, what follows from that, names that there are not, and groups of
    nodes that no conductor serves."""

    question: Question
    scanned: Scanned
    analysis: Analysis
    unknown: list[Unknown]
    groups: list[WaitingGroup] = field(default_factory=list)

    def sentence(self) -> str:
        """Return it in one sentence."""
        return in_words(self.analysis, self.scanned, self.unknown, of_project=bool(self.question.where))


def in_words(analysis: Analysis, scanned: Scanned, unknown: Sequence[Unknown], *, of_project: bool) -> str:
    """Return what was found in one sentence."""
    of_all = None if scanned.sample is None else scanned.nodes
    why = {part for condition, _ in analysis.decisive for part in re.split("[:,]", condition.id)}
    meant = {each.name: each.did_you_mean[0][0] for each in unknown if each.did_you_mean and each.name in why}
    return sentences.sentence(analysis, meant, of_project=of_project, of_all=of_all)


def diagnose(
    session: Session,
    question: Question,
    named: Visibility,
    most: int,
    wanted: int = 1,
    *,
    machine: str | None = None,
    members: Membership | None = None,
) -> Diagnosis:
    """Look at the machines of the question, or at a sample if there are more than ``most``.

    ``named``: the nodes that may be named as examples. ``wanted``: how many machines are asked for.
    ``machine``: the UUID of the one that the question is about. ``members``: the live conductors, if groups of nodes
    that wait for one are looked for.
    """
    alone = machine is not None
    if machine is not None:
        question = question.about(machine)
    scanned = scan(session, question, named, most)
    conditions = [check.condition for check in question.checks]
    looked_at = scanned.question or question
    conditions, masks = _with_capabilities(session, looked_at, conditions, scanned.masks, alone=alone)
    # A request without any class asks for nothing.
    classes = [condition.id for condition in conditions if condition.id.startswith(CLASS)]
    analysis = analyse(conditions, masks, wanted, one_stays=classes)
    if scanned.scope is not None:
        analysis = beside(analysis, scanned.others, scanned.scope.others_fail)
    groups = [] if members is None else _waiting_groups(session, looked_at, masks, members)
    return Diagnosis(question, scanned, analysis, unknown_names(session, question), groups)


def why_none(session: Session, settings: Settings, question: Question) -> Diagnosis | None:
    """Return why no machine meets the conditions of the question, for a request that has failed because of that.

    Returns None if the reason cannot be found in a short time, or if there are very many conditions: the request must
    not fail, or wait, because of its explanation.
    """
    if len(question.checks) > _MOST_CONDITIONS:
        return None
    limit = settings.scheduling.explain_time_limit
    seconds = min(limit, _SECONDS) if limit else _SECONDS
    connection = session.connection()
    # On PostgreSQL a statement that is stopped takes with it what the transaction did since the last savepoint.
    savepoint = connection.begin_nested() if connection.get_execution_options().get(WRITES) else None
    try:
        with limits.one_of_few(), limits.limited(session, seconds, cuts=savepoint is None):
            found = diagnose(session, question, EVERYTHING, settings.scheduling.explain_max_nodes)
    except (TooManyExplanations, ExplanationTookTooLong) as error:
        log.warning("cannot explain a failure", reason=str(error))
        if savepoint is not None:
            savepoint.rollback()
        return None
    if savepoint is not None:
        savepoint.commit()
    return found


def _with_capabilities(
    session: Session, question: Question, conditions: list[Condition], masks: dict[int, Bucket], *, alone: bool
) -> tuple[list[Condition], dict[int, Bucket]]:
    """The conditions and masks with those of capabilities, which databases cannot compare. Of all machines only those
    that meet all else are looked at for them; one machine is, whatever else it fails."""
    asked = capabilities.wanted(question.capabilities)
    counting = 0 if alone else sum(check.condition.counts << place for place, check in enumerate(question.checks))
    if not asked or not any(not mask & counting for mask in masks):
        return conditions, masks
    names = list(asked)
    more = [Condition(f"capability:{name}={asked[name]}", f"has the capability {name}={asked[name]}") for name in names]
    found: Counter[int] = Counter()
    counted = [] if alone else [check.holds for check in question.checks if check.condition.counts]
    before = next(iter(masks)) if alone else 0
    rows = session.scalars(select(Node.properties).select_from(question.source).where(*question.where, *counted))
    for properties in rows:
        lacking = capabilities.unmet(question.capabilities, properties or {})
        found[before | sum(1 << len(conditions) + names.index(name) for name in lacking)] += 1
    others = {mask: bucket for mask, bucket in masks.items() if mask & counting}
    return conditions + more, others | {mask: Bucket(count) for mask, count in found.items()}
