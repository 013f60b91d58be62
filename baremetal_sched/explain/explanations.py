"""Why a request finds what it finds: one scan of the machines, and what follows from it."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import select

from baremetal_sched.baremetal.allocations import allocation_choice
from baremetal_sched.baremetal.allocations.allocation_choice import Wanted
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import limits
from baremetal_sched.baremetal.matching.masks import Verdict
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.scan import diagnose
from baremetal_sched.compute import no_valid_host
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.explain import query_questions, server_trees, trees
from baremetal_sched.explain.explanation import Context, Explained
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.tables import PROVIDERS


def explain_query(context: Context, request: CandidateRequest) -> Explained:
    """Explain what ``GET /allocation_candidates`` answers. Raises TooManyExplanations, ExplanationTookTooLong."""

    def explain() -> Explained:
        ids, membership = query_questions.look_up(context.session, request), context.membership()
        if _stands_alone(context) and query_questions.is_flat(context.session, request, ids):
            (group,) = request.groups.values()
            question = query_questions.question(request, group, ids, membership, context.asker)
            return _explained(context, question, membership)
        return trees.explain(context, request, ids)

    return _bounded(context, explain)


def explain_allocation(context: Context, wanted: Wanted) -> Explained:
    """Explain what an allocation of the bare metal API gets. Raises like ``explain_query``."""

    def explain() -> Explained:
        membership = context.membership()
        return _explained(context, allocation_choice.question(wanted, membership), membership)

    return _bounded(context, explain)


def explain_server(context: Context, wanted: HostRequest) -> Explained:
    """Explain what a server gets. Raises like ``explain_query``, and BadQuery."""

    def explain() -> Explained:
        membership, request = context.membership(), wanted.parsed(None)
        question = no_valid_host.question(wanted, request, membership)
        found = _explained(context, question, membership)
        is_flat = query_questions.is_flat(context.session, request, query_questions.look_up(context.session, request))
        if not found.fitting:
            return found if is_flat else server_trees.with_trees(context, wanted, membership, question, found)
        most = 1 if is_flat else max(context.wanted, trees.MOST_COUNTED)
        hosts = server_trees.count_hosts(context, wanted, membership, most)
        if not hosts:
            return server_trees.with_trees(context, wanted, membership, question, found)
        if is_flat:
            return found
        fitting = min(found.fitting, hosts)
        return replace(found, fitting=fitting, verdict=Verdict.FITS if fitting >= context.wanted else Verdict.SHORT)

    return _bounded(context, explain)


def _stands_alone(context: Context) -> bool:
    """Return whether the question is about one machine, which has no child providers."""
    if context.machine is None:
        return True
    below = select(PROVIDERS.c.id).where(PROVIDERS.c.root_id.in_(query_questions.root_of(context.machine))).limit(2)
    return len(context.session.scalars(below).all()) < 2


def _bounded(context: Context, explain: Callable[[], Explained]) -> Explained:
    with limits.one_of_few(), limits.limited(context.session, context.settings.scheduling.explain_time_limit):
        return explain()


def _explained(context: Context, question: Question, membership: Membership) -> Explained:
    most, machine = context.settings.scheduling.explain_max_nodes, context.machine
    found = diagnose(
        context.session, question, context.asker.named, most, context.wanted, machine=machine, members=membership
    )
    analysis, of_project = found.analysis, bool(found.question.where)
    return Explained(
        context.wanted,
        analysis.fitting,
        analysis.verdict,
        analysis,
        found.scanned,
        found.unknown,
        found.groups,
        of_project=of_project,
    )
