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
from baremetal_sched.explain.tree_parts import Asked
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.tables import PROVIDERS


def explain_query(context: Context, request: CandidateRequest) -> Explained:
    """Explain what ``GET /allocation_candidates`` answers. Raises TooManyExplanations, ExplanationTookTooLong."""

    def explain() -> Explained:
        asked, membership = Asked(context.session, request), context.membership()
        if asked.is_flat and _stands_alone(context):
            return _explained(context, query_questions.question(asked, membership, context.asker), membership)
        return trees.explain(context, asked)

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
        asked = Asked(context.session, request)
        if not found.fitting and asked.is_flat:
            return found
        most = 1 if asked.is_flat else max(context.wanted, trees.MOST_COUNTED)
        hosts = server_trees.count_hosts(context, wanted, membership, most) if found.fitting else 0
        if not hosts:
            return server_trees.with_trees(context, wanted, membership, asked, question, found)
        if asked.is_flat:
            return found
        fitting = min(found.fitting, hosts)
        return replace(found, fitting=fitting, verdict=Verdict.FITS if fitting >= context.wanted else Verdict.SHORT)

    return _bounded(context, explain)


def _stands_alone(context: Context) -> bool:
    """Return whether the question is not about one machine that has child providers."""
    tree = context.tree()
    return tree is None or len(context.session.scalars(select(PROVIDERS.c.id).where(tree).limit(2)).all()) < 2


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
