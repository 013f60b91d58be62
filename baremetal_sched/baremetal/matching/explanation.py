"""Why machines meet the conditions of a question or do not: the result of a scan, and the conclusions from it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import sentences
from baremetal_sched.baremetal.matching.capabilities import required_capabilities, unmet_capabilities
from baremetal_sched.baremetal.matching.conditions import (
    AVAILABILITY,
    CLASS,
    LOCK,
    Condition,
    Kind,
    of_capability,
)
from baremetal_sched.baremetal.matching.masks import HELD_BACK, Analysis, Bucket, Verdict, analyse, beside
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.scan import IN_USE_UNTIL, Scan, Unknown, scan, unknown_names
from baremetal_sched.baremetal.provider.availability import (
    HAS_STARTED,
    HELD_COLUMNS,
    MAINTENANCE,
    PLANNED,
    Held,
    held_by_type,
)
from baremetal_sched.baremetal.visibility import EVERYTHING, Conditions, Visibility
from baremetal_sched.db import deadline, requester
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.engine import WRITES
from baremetal_sched.db.models import Hold, Node, table_of
from baremetal_sched.errors.compute import ExplanationTookTooLong, TooManyExplanations
from baremetal_sched.fair_places import FairPlaces
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: The conditions that holds are behind.
_OF_HOLDS = {f"{AVAILABILITY}{MAINTENANCE}", f"{AVAILABILITY}{PLANNED}"}

#: The greatest number of conductor groups that are listed.
MOST_GROUPS = 100

#: The number of explanations that a process works on at once.
AT_ONCE = 2

_places = FairPlaces(AT_ONCE)

#: Seconds for which an explanation waits for its turn, unless it has a transaction that writes.
_PATIENCE = 2.0

#: Seconds that may be spent on explaining a failure, while others may wait for the locks of the transaction.
_SECONDS = 2.0

#: With more conditions, the database's planner alone takes longer than that, and cannot be interrupted.
_MOST_CONDITIONS = 100


@dataclass(frozen=True)
class UnservedConductorGroup:
    """A conductor group, how many of its conductors are alive, and how many nodes would fit if one served them."""

    conductor_group: str
    conductors_alive: int
    fitting_if_served: int


@dataclass(frozen=True)
class ServedPart:
    """A part in the closest tree: the provider (UUID) that is closest to it, and which conditions it fails, if any."""

    parameter: str
    provider: str | None
    failing: list[Condition]


@dataclass(frozen=True)
class ClosestTree:
    """The tree in which most parts are served, each by itself; of several, where the fewest conditions fail, and of
    these the one whose root has the least UUID. ``trees``: how many look the same to the request. ``constraints``: the
    conditions between the groups that fail where each part is served. UUIDs are None where they may not be named.
    """

    root: str | None
    trees: int
    parts: list[ServedPart]
    constraints: list[Condition]


@dataclass(frozen=True)
class Explanation:
    """The explanation of a question, where ``needed`` machines are requested.

    ``parts``: for a request that several providers of a tree serve together, each part by itself, by its parameter,
    with the providers that could serve it; its own machines are trees then. ``closest``: the tree that comes closest,
    if none fits. ``of_project``: only machines that the project of the request may use are counted.
    ``of_trees``: nodes were scanned for a request that several providers have to serve, so that the scan alone cannot
    tell what a change would bring: the summary proposes none.
    """

    needed: int
    fitting: int
    verdict: Verdict
    analysis: Analysis
    scan: Scan
    unknown: list[Unknown] = field(default_factory=list)
    groups: list[UnservedConductorGroup] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    parts: dict[str, "Explanation"] = field(default_factory=dict)
    closest: ClosestTree | None = None
    of_project: bool = False
    of_trees: bool = False
    #: Sentences behind the summary, with a blank before them.
    hint: str = ""
    #: A sentence about the domains that have too few of several machines.
    domains: str = ""
    #: Whether several machines could be had at once if all were free.
    could_be_had: bool = True

    def as_trees(self, *, fits_if_free: bool) -> "Explanation":
        """Return it for a request that several providers of a tree have to serve, and that has no candidate.

        Machines that meet each condition do not fit then; ``fits_if_free``: others would if they were free.
        """
        verdict = Verdict.BUSY if self.fitting else self.verdict
        if verdict in HELD_BACK and not fits_if_free:
            verdict = Verdict.COMBINATION
        return replace(self, fitting=0, verdict=verdict, of_trees=True)

    @property
    def summary(self) -> str:
        """All of it in one sentence, the hint, and when the first machine in use may come back."""
        ends = ""
        if self.scan.first_end is not None and self.fitting < self.needed:
            ends = sentences.in_use_until(self.scan.busy[IN_USE_UNTIL], in_words(self.scan.first_end))
        return " ".join(filter(None, [self._summary + self.hint, self.domains, ends]))

    @property
    def _summary(self) -> str:
        if self.parts:
            unmet = {parameter: part.summary for parameter, part in self.parts.items() if not part.fitting}
            return sentences.of_parts(self.verdict, self.fitting, unmet)
        found = self.analysis
        if self.verdict is Verdict.COMBINATION or (self.of_trees and found.fitting):
            others_fit = self.verdict is Verdict.BUSY
            return sentences.together(found.fitting or found.among, if_free=not found.fitting, others_fit=others_fit)
        relaxations = [] if self.of_trees else found.relaxations
        verdict = Verdict.FITS if self.domains and self.fitting >= self.needed else self.verdict
        found = replace(found, fitting=self.fitting, verdict=verdict, relaxations=relaxations)
        of_all = None if self.scan.sample is None else self.scan.nodes
        why = {part for condition, _ in found.decisive for part in re.split("[:,]", condition.id)}
        meant = {each.name: each.did_you_mean[0][0] for each in self.unknown if each.did_you_mean and each.name in why}
        return sentences.sentence(found, meant, of_project=self.of_project, of_all=of_all)


def explain(
    session: Session,
    question: Question,
    named: Visibility,
    most: int,
    needed: int = 1,
    *,
    machine: str | None = None,
    members: Membership | None = None,
    seen: Conditions = (),
) -> Explanation:
    """Explain the question by a scan of its machines, or of a sample if there are more than ``most``.

    ``named``: the nodes that may be named as examples. ``needed``: how many machines are requested. ``machine``: the
    UUID of the only machine of the question. ``members``: the live conductors, if groups of nodes without one are
    looked for. ``seen``: the conditions on holds that are counted by their types.
    """
    alone = machine is not None
    if machine is not None:
        question = question.about(machine)
    scanned = scan(session, question, named, most)
    conditions = [*question.conditions]
    looked_at = scanned.question or question
    conditions, masks = _with_capabilities(session, looked_at, conditions, scanned.masks, alone=alone)
    # A request without any class asks for nothing.
    classes = [condition.id for condition in conditions if condition.id.startswith(CLASS)]
    analysis = analyse(conditions, masks, needed, one_stays=classes)
    if scanned.scope is not None:
        analysis = beside(analysis, scanned.others, scanned.scope.others_fail)
    groups = [] if members is None else _waiting_groups(session, looked_at, masks, members)
    return Explanation(
        needed,
        analysis.fitting,
        analysis.verdict,
        analysis,
        scanned,
        unknown_names(session, question),
        groups,
        _held(session, looked_at, masks, seen),
        of_project=bool(question.where),
    )


def why_none(session: Session, settings: Settings, question: Question, needed: int = 1) -> Explanation | None:
    """Return why fewer than the ``needed`` machines meet the conditions of the question, for a request that has failed
    because of that.

    Returns None like ``within_time``, and if there are very many conditions.
    """
    if len(question.conditions) > _MOST_CONDITIONS:
        return None
    most = settings.scheduling.explain_max_nodes
    return within_time(session, settings, lambda _: explain(session, question, EVERYTHING, most, needed))


def _with_capabilities(
    session: Session, question: Question, conditions: list[Condition], masks: dict[int, Bucket], *, alone: bool
) -> tuple[list[Condition], dict[int, Bucket]]:
    """The conditions and masks with those of capabilities, which databases cannot compare. Capabilities are compared
    only for machines that meet all other conditions. In a question about one machine they are always compared."""
    capabilities = required_capabilities(question.capabilities)
    counting = 0 if alone else sum(each.counts << place for place, each in enumerate(question.conditions))
    if not capabilities or not any(not mask & counting for mask in masks):
        return conditions, masks
    names = list(capabilities)
    more = [of_capability(name, capabilities[name]) for name in names]
    counts: Counter[int] = Counter()
    counted = [] if alone else [each.holds for each in question.conditions if each.counts]
    before = next(iter(masks)) if alone else 0
    rows = session.scalars(select(Node.properties).select_from(question.source).where(*question.where, *counted))
    for properties in rows:
        lacking = unmet_capabilities(question.capabilities, properties or {})
        counts[before | sum(1 << len(conditions) + names.index(name) for name in lacking)] += 1
    others = {mask: bucket for mask, bucket in masks.items() if mask & counting}
    return conditions + more, others | {mask: Bucket(count) for mask, count in counts.items()}


def _waiting_groups(
    session: Session, question: Question, masks: Mapping[int, Bucket], members: Membership
) -> list[UnservedConductorGroup]:
    """Conductor groups whose nodes would fit if a conductor served them. The database is read only if there are any.

    Locks do not count, as they pass.
    """
    counted = [(place, each) for place, each in enumerate(question.conditions) if each.counts]
    service = sum(1 << place for place, each in enumerate(question.conditions) if each.kind is Kind.SERVICE)
    others = sum(1 << place for place, each in counted if each.kind is not Kind.SERVICE)
    if not any(mask & service and not mask & others for mask in masks):
        return []
    alive: dict[str, set[str]] = {}
    for (group, _), hosts in members.members.items():
        alive.setdefault(group, set()).update(hosts)
    holds = [
        ~each.holds if each.kind is Kind.SERVICE else each.holds for each in question.conditions if each.id != LOCK
    ]
    rows = session.execute(
        select(Node.conductor_group, func.count())
        .select_from(question.source)
        .where(*question.where, *holds)
        .group_by(Node.conductor_group)
        .order_by(Node.conductor_group)
        .limit(MOST_GROUPS)
    )
    return [
        UnservedConductorGroup(group, len(alive.get(group if members.grouped else "", ())), count)
        for group, count in rows
    ]


def _held(session: Session, question: Question, masks: Mapping[int, Bucket], seen: Conditions) -> list[Held]:
    """Return the holds, if they are ``seen``, of machines that would fit without them. The database is read only if
    there are any."""
    held = sum(1 << place for place, each in enumerate(question.conditions) if each.id in _OF_HOLDS)
    others = sum(each.counts << place for place, each in enumerate(question.conditions)) & ~held
    if not any(mask & held and not mask & others for mask in masks):
        return []
    met = [each.holds for each in question.conditions if each.counts and each.id not in _OF_HOLDS]
    holds = (
        select(*HELD_COLUMNS)
        .select_from(question.source.join(table_of(Hold), Hold.node_id == Node.id))
        .where(*question.where, *met, HAS_STARTED, *seen)
    )
    return [each for _, each in held_by_type(session, holds)]


# -- limits ------------------------------------------------------------------------------------------------------------


@contextmanager
def one_of_few(project: str | None = None, seconds: float = 0) -> Iterator[None]:
    """Work on an explanation for a project, or for none. Raises TooManyExplanations if the process is working on the
    most allowed, in all or for the project, for ``seconds``."""
    with _places.place(project, seconds) as is_free:
        if not is_free:
            raise TooManyExplanations(limit=AT_ONCE)
        yield


@contextmanager
def bounded(session: Session, seconds: float, *, cuts: bool = True) -> Iterator[None]:
    """Work on an explanation, with a time limit of ``seconds`` for the database: ``deadline.limited``. Unless the
    transaction writes, it waits for its turn among those of other projects, and of the same.

    Raises TooManyExplanations, ExplanationTookTooLong.
    """
    writes = session.connection().get_execution_options().get(WRITES)
    with one_of_few(requester.of(session).project_id, 0 if writes else _PATIENCE):
        try:
            with deadline.limited(session, seconds, cuts=cuts):
                yield
        except (TimeoutError, TookTooLong) as error:
            raise ExplanationTookTooLong(seconds=f"{seconds:.3g}") from error


def within_time(session: Session, settings: Settings, work: Callable[[TimeLimit], T]) -> T | None:
    """Return what ``work`` finds out about a request that has failed; None if it takes too long.

    The request must not fail in another way, or wait, because of its explanation.
    """
    limit = settings.scheduling.explain_time_limit
    seconds = min(limit, _SECONDS) if limit else _SECONDS
    connection = session.connection()
    # On PostgreSQL a statement that is stopped undoes all changes of the transaction since the last savepoint.
    savepoint = connection.begin_nested() if connection.get_execution_options().get(WRITES) else None
    try:
        with bounded(session, seconds, cuts=savepoint is None):
            result = work(TimeLimit(seconds))
    except (TooManyExplanations, ExplanationTookTooLong) as error:
        log.warning("cannot explain a failure", reason=str(error))
        if savepoint is not None:
            savepoint.rollback()
        return None
    if savepoint is not None:
        savepoint.commit()
    return result
