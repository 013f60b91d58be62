"""Why a request finds what it finds: one scan of the machines, and what follows from it."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocation_choice import Wanted
from baremetal_sched.baremetal.ownership import Membership, live_members
from baremetal_sched.compute import capabilities, host_choice
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import selecting
from baremetal_sched.errors.placement import TooManyCandidates, TraitNotFound, UnknownClassInQuery
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.scheduling import limits, of_nodes, of_query
from baremetal_sched.scheduling.masks import Analysis, Bucket, Condition, Kind, Verdict, analyse
from baremetal_sched.scheduling.question import CLASS, Asker, Question
from baremetal_sched.scheduling.scan import Scanned, scan, waiting_groups
from baremetal_sched.scheduling.unknown import Unknown, unknown_names
from baremetal_sched.settings import Settings

#: Each part of a request fits, and no machine all of them together.
COMBINATION = "combination"

#: The microversion of placement that queries are written for.
VERSION = 39

#: So many candidates of trees are looked at for a project, which may use some of them.
_CANDIDATES = 1000


@dataclass(frozen=True)
class WaitingGroup:
    """A conductor group, how many of its conductors are alive, and how many nodes would fit if one served them."""

    conductor_group: str
    conductors_alive: int
    fitting_if_served: int


@dataclass(frozen=True)
class Explained:
    """What is said of a question, where ``wanted`` machines are asked for.

    ``parts``: of a request for what several providers of a tree give together, each part by itself, by the parameter
    that asks for it; its own analysis has no conditions then.
    """

    wanted: int
    fitting: int
    verdict: str
    analysis: Analysis
    scanned: Scanned
    unknown: list[Unknown] = field(default_factory=list)
    groups: list[WaitingGroup] = field(default_factory=list)
    parts: dict[str, "Explained"] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What every explanation needs: ``wanted`` machines for ``asker``."""

    session: Session
    settings: Settings
    asker: Asker
    wanted: int = 1

    def membership(self) -> Membership:
        """Return the live conductors."""
        return live_members(self.session, self.settings)


def explain_query(context: Context, request: CandidateRequest) -> Explained:
    """Explain what ``GET /allocation_candidates`` answers. Raises TooManyExplanations, ExplanationTookTooLong."""

    def explain() -> Explained:
        ids, membership = of_query.look_up(context.session, request), context.membership()
        if of_query.is_flat(context.session, request, ids):
            (group,) = request.groups.values()
            return _explained(context, of_query.question(request, group, ids, membership, context.asker), membership)
        parts = {}
        for parameter, group in of_query.parts(request):
            of_tree = not group.suffix
            asked = of_query.question(request, group, ids, membership, context.asker, of_tree=of_tree)
            parts[parameter] = _explained(context, asked, membership)
        return _together(context, request, parts)

    return _bounded(context, explain)


def explain_allocation(context: Context, wanted: Wanted) -> Explained:
    """Explain what an allocation of the bare metal API gets. Raises like ``explain_query``."""

    def explain() -> Explained:
        membership = context.membership()
        return _explained(context, of_nodes.of_allocation(wanted, membership), membership)

    return _bounded(context, explain)


def explain_server(context: Context, wanted: HostRequest) -> Explained:
    """Explain what a server gets. Raises like ``explain_query``, and BadQuery."""

    def explain() -> Explained:
        membership, request = context.membership(), wanted.parsed(None)
        found = _explained(context, of_nodes.of_server(wanted, request, membership, context.asker), membership)
        if not found.fitting or _has_host(context, wanted, membership):
            return found
        return Explained(
            found.wanted, 0, COMBINATION, found.analysis, found.scanned, found.unknown, found.groups, found.parts
        )

    return _bounded(context, explain)


def _bounded(context: Context, explain: Callable[[], Explained]) -> Explained:
    with limits.one_of_few(), limits.limited(context.session, context.settings.scheduling.explain_time_limit):
        return explain()


def _has_host(context: Context, wanted: HostRequest, membership: Membership) -> bool:
    try:
        return bool(host_choice.hosts(context.session, wanted, membership, context.settings, 1))
    except (TraitNotFound, UnknownClassInQuery):
        return False


def _explained(context: Context, question: Question, membership: Membership) -> Explained:
    settings = context.settings.scheduling
    scanned = scan(context.session, question, context.asker.named, settings.explain_max_nodes)
    conditions = [check.condition for check in question.checks]
    conditions, masks = _with_capabilities(context.session, question, conditions, scanned.masks)
    # A request without any class asks for nothing.
    classes = [condition.id for condition in conditions if condition.id.startswith(CLASS)]
    analysis = analyse(conditions, masks, context.wanted, one_stays=classes)
    return Explained(
        context.wanted,
        analysis.fitting,
        analysis.verdict,
        analysis,
        scanned,
        unknown_names(context.session, question),
        _groups(context.session, question, masks, membership),
    )


# -- capabilities, which databases cannot compare ----------------------------------------------------------------------


def _with_capabilities(
    session: Session, question: Question, conditions: list[Condition], masks: dict[int, Bucket]
) -> tuple[list[Condition], dict[int, Bucket]]:
    """The conditions and masks with those of capabilities, which only nodes that meet all else are looked at for."""
    asked = capabilities.wanted(question.capabilities)
    counting = sum(check.condition.counts << place for place, check in enumerate(question.checks))
    if not asked or not any(not mask & counting for mask in masks):
        return conditions, masks
    names = list(asked)
    more = [Condition(f"capability:{name}={asked[name]}", f"has the capability {name}={asked[name]}") for name in names]
    found: Counter[int] = Counter()
    counted = [check.holds for check in question.checks if check.condition.counts]
    rows = session.scalars(select(Node.properties).select_from(question.source).where(*question.where, *counted))
    for properties in rows:
        lacking = capabilities.unmet(question.capabilities, properties or {})
        found[sum(1 << len(conditions) + names.index(name) for name in lacking)] += 1
    others = {mask: bucket for mask, bucket in masks.items() if mask & counting}
    return conditions + more, others | {mask: Bucket(count) for mask, count in found.items()}


# -- conductor groups --------------------------------------------------------------------------------------------------


def _groups(
    session: Session, question: Question, masks: Mapping[int, Bucket], membership: Membership
) -> list[WaitingGroup]:
    """Groups of nodes that fit but for a conductor. The database is asked only if there are any."""
    service = sum(1 << place for place, check in enumerate(question.checks) if check.condition.kind is Kind.SERVICE)
    others = sum(
        1 << place
        for place, check in enumerate(question.checks)
        if check.condition.kind is not Kind.SERVICE and check.condition.counts
    )
    if not any(mask & service and not mask & others for mask in masks):
        return []
    alive: dict[str, set[str]] = {}
    for (group, _), hosts in membership.members.items():
        alive.setdefault(group, set()).update(hosts)
    return [
        WaitingGroup(group, len(alive.get(group if membership.grouped else "", ())), count)
        for group, count in waiting_groups(session, question)
    ]


# -- several providers together ----------------------------------------------------------------------------------------


def _together(context: Context, request: CandidateRequest, parts: dict[str, Explained]) -> Explained:
    """What the search finds, beside its parts. Which combinations it misses is not looked at."""
    fitting = _count_candidates(context, request)
    verdicts = [part.verdict for part in parts.values()]
    bad = next((verdict for verdict in (Verdict.IMPOSSIBLE, Verdict.BUSY) if verdict in verdicts), COMBINATION)
    verdict = Verdict.FITS if fitting >= context.wanted else Verdict.SHORT if fitting else bad
    first = next(iter(parts.values()))
    analysis = Analysis(first.analysis.nodes, fitting, Verdict.IMPOSSIBLE, [], [], exact=False)
    unknown = {each.name: each for part in parts.values() for each in part.unknown}
    return Explained(context.wanted, fitting, verdict, analysis, first.scanned, [*unknown.values()], [], parts)


def _count_candidates(context: Context, request: CandidateRequest) -> int:
    """How many candidates there are, ``wanted`` at most, for a project those whose trees are of nodes it may use."""
    asker, most = context.asker, context.wanted if context.asker.project is None else _CANDIDATES
    limited = CandidateRequest(request.groups, most, request.group_policy, request.root_required, request.same_subtrees)
    options = search.Options(seconds=context.settings.scheduling.explain_time_limit or None)
    try:
        with closing(search.find(selecting(context.session), limited, VERSION, options)) as found:
            roots = [set(candidate.roots) for candidate in islice(found, most)]
    except (TraitNotFound, UnknownClassInQuery, TooManyCandidates):
        return 0
    if asker.project is None:
        return len(roots)
    every = set[int]().union(*roots)
    usable = (
        select(PROVIDERS.c.id)
        .join(Node, Node.uuid == PROVIDERS.c.uuid)
        .where(PROVIDERS.c.id.in_(every), *asker.usable())
    )
    own = set(context.session.scalars(usable))
    return min(sum(each <= own for each in roots), context.wanted)
