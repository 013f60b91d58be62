"""Why machines meet the conditions of a question or do not: one scan, and what follows from it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import capabilities, limits, sentences
from baremetal_sched.baremetal.matching.masks import Analysis, Bucket, Condition, analyse, beside
from baremetal_sched.baremetal.matching.question import CLASS, Question
from baremetal_sched.baremetal.matching.scan import Scanned, scan
from baremetal_sched.baremetal.matching.unknown import Unknown, unknown_names
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.engine import WRITES
from baremetal_sched.db.models import Node
from baremetal_sched.errors.compute import ExplanationTookTooLong, TooManyExplanations
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that may be spent on explaining a failure, while others may wait for the locks of the transaction.
_SECONDS = 2.0

#: With more conditions, the database's planner alone takes longer than that, and cannot be interrupted.
_MOST_CONDITIONS = 100


@dataclass(frozen=True)
class Diagnosis:
    """What was found of a question: machines by mask, what follows from the masks, and names that there are not."""

    question: Question
    scanned: Scanned
    masks: Mapping[int, Bucket]
    analysis: Analysis
    unknown: list[Unknown]

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
    session: Session, question: Question, named: Visibility, most: int, wanted: int = 1, *, alone: bool = False
) -> Diagnosis:
    """Look at the machines of the question, or at a sample if there are more than ``most``.

    ``named``: the nodes that may be named as examples. ``wanted``: how many machines are asked for. ``alone``: the
    question is about one machine.
    """
    scanned = scan(session, question, named, most)
    conditions = [check.condition for check in question.checks]
    looked_at = scanned.question or question
    conditions, masks = _with_capabilities(session, looked_at, conditions, scanned.masks, alone=alone)
    # A request without any class asks for nothing.
    classes = [condition.id for condition in conditions if condition.id.startswith(CLASS)]
    analysis = analyse(conditions, masks, wanted, one_stays=classes)
    if scanned.scope is not None:
        analysis = beside(analysis, scanned.others, scanned.scope.others_fail)
    return Diagnosis(question, scanned, masks, analysis, unknown_names(session, question))


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
