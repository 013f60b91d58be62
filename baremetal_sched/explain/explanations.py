"""Explanations of the result of a request of candidates, an allocation or a server; and some of the machines that
fit."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlalchemy import func, select

from baremetal_sched.baremetal.matching.earliest import Earliest, earliest
from baremetal_sched.baremetal.matching.explanation import Explanation, bounded, explain
from baremetal_sched.baremetal.matching.masks import HELD_BACK, Relaxation, Verdict
from baremetal_sched.baremetal.matching.question import Question, nodes_source, providers_source
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import why_too_few
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import selecting
from baremetal_sched.errors.placement import TooManyCandidates, TraitNotFound, UnknownClassInQuery
from baremetal_sched.explain.request_conditions import ExplainedRequest, hint, tree_roots
from baremetal_sched.explain.tree_explanations import MOST_COUNTED, TreeScan
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.tables import PROVIDERS

#: The number of candidates that are read; several may be of one tree, or of nodes that must not be named.
_CANDIDATES = 1000


def explain_request(context: MachineContext, request: MachineRequest) -> Explanation:
    """Explain which machines the request finds, and why no others; for several machines, also where they run out.

    Raises TooManyExplanations, ExplanationTookTooLong, BadQuery; for several, InvalidValue for a request that other
    providers than machines have to serve.
    """
    context = request.bound(context)
    if request.several is None:
        return _of_one(context, request)
    explained = _of_one(replace(context, needed=request.several.count), request)
    with _bounded(context):
        lack = why_too_few(context, request)
    if lack is None:
        return explained
    verdict = Verdict.SHORT if explained.verdict is Verdict.FITS else explained.verdict
    return replace(explained, verdict=verdict, domains=lack.sentence, could_be_had=lack.could_be_had)


def earliest_of(context: MachineContext, request: MachineRequest, explained: Explanation) -> Earliest:
    """Return the first moment at which an explained request could be had. Raises like ``explain_request``."""
    with _bounded(context):
        return earliest(context, request, explained)


def _of_one(context: MachineContext, request: MachineRequest) -> Explanation:
    with _bounded(context):
        query = request.parsed()
        if query is None:
            return _explained(context, request.question(context))
        explained = ExplainedRequest(context.session, query, context.named)
        if request.served:
            return _of_server(context, request, explained)
        if explained.is_flat and _stands_alone(context):
            return _explained(context, explained.question(context))
        return _until_end(context, request, TreeScan(context, explained, context.tree()).explanation())


def _until_end(context: MachineContext, request: MachineRequest, explanation: Explanation) -> Explanation:
    """Return the explanation without trees of machines for which a hold is planned before the end of the context, or
    that are not of its booking."""
    opening = context.opening
    is_of_booking = opening.own.booking is not None
    if (opening.stays_open() is None and not is_of_booking) or not explanation.fitting:
        return explanation
    fitting = min(explanation.fitting, len(_hosts(context, request, max(context.needed, MOST_COUNTED))))
    verdict = Verdict.FITS if fitting >= context.needed else Verdict.SHORT if fitting else Verdict.BUSY
    held = "" if fitting == explanation.fitting else "For machines that fit, holds are planned before the end."
    if held and is_of_booking:
        held = "Machines that fit are not machines of the booking now, or holds are planned for them before the end."
    return replace(explanation, fitting=fitting, verdict=verdict, domains=held)


def _of_server(context: MachineContext, request: MachineRequest, explained: ExplainedRequest) -> Explanation:
    """Explain the result for a server. A scan of nodes counts the resources of a tree as the node's own. If the flavor
    needs several providers, the search decides.
    """
    question = request.question(context)
    explanation = _explained(context, question)
    if not explanation.fitting:
        explanation = replace(explanation, hint=hint(explained.request, explanation.analysis))
        if explained.is_flat:
            return explanation
    most = 1 if explained.is_flat else max(context.needed, MOST_COUNTED)
    hosts = len(_hosts(context, request, most)) if explanation.fitting else 0
    if not hosts:
        return _with_trees(context, request, explained, question, explanation)
    if explained.is_flat:
        return explanation
    fitting = min(explanation.fitting, hosts)
    return replace(explanation, fitting=fitting, verdict=Verdict.FITS if fitting >= context.needed else Verdict.SHORT)


def _bounded(context: MachineContext) -> AbstractContextManager[None]:
    """Within the limits of explanations. Raises TooManyExplanations, ExplanationTookTooLong."""
    return bounded(context.session, context.settings.scheduling.explain_time_limit)


def _stands_alone(context: MachineContext) -> bool:
    """Return whether the question is not about one machine that has child providers."""
    tree = context.tree()
    return tree is None or len(context.session.scalars(select(PROVIDERS.c.id).where(tree).limit(2)).all()) < 2


def _explained(context: MachineContext, question: Question) -> Explanation:
    most, machine, members = context.settings.scheduling.explain_max_nodes, context.machine, context.membership
    return explain(
        context.session,
        question,
        context.named,
        most,
        context.needed,
        machine=machine,
        members=members,
        seen=context.seen,
    )


# -- servers -----------------------------------------------------------------------------------------------------------


def _hosts(context: MachineContext, request: MachineRequest, most: int) -> list[str]:
    """The machines (UUIDs) that the server could have, ``most`` at most; none if it names something unknown."""
    return [uuid for uuid, _ in request.hosts(context, most)]


def _with_trees(
    context: MachineContext,
    request: MachineRequest,
    explained: ExplainedRequest,
    question: Question,
    explanation: Explanation,
) -> Explanation:
    """Return ``explanation``, by a scan of nodes, of a server for which there is no host, with what the search says.

    The relaxations of the scan are tried. The closest tree is that of a node which fails only conditions on its tree.
    """
    held_back = explanation.verdict in HELD_BACK
    about = question if context.machine is None else question.about(context.machine)
    scan = TreeScan(context, explained, tree_roots(about, if_free=held_back))
    fits = scan.fits_if_free
    if explanation.fitting:
        relaxations, exact = scan.relaxations()
        fits = TreeScan(context, explained, tree_roots(about, if_free=True)).fits_if_free
    else:
        relaxations = [*_tried(context, request, explanation.analysis.relaxations)]
        exact = explanation.analysis.exact
    analysis = replace(explanation.analysis, relaxations=relaxations, exact=exact)
    return replace(explanation.as_trees(fits_if_free=fits), analysis=analysis, closest=scan.closest())


def _tried(context: MachineContext, request: MachineRequest, relaxations: list[Relaxation]) -> Iterator[Relaxation]:
    """The relaxations that bring hosts, with how many these are."""
    most = max(context.needed, MOST_COUNTED)
    for each in relaxations:
        changed = request.without(each.drop)
        number = 0 if changed is None else len(_hosts(context, changed, most))
        if number:
            yield replace(each, would_fit=number)


# -- machines that fit -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FittingMachine:
    """A machine that fits. ``is_node``: whether it is one, and not another provider of placement's."""

    uuid: str
    name: str | None
    resource_class: str | None
    conductor_group: str | None
    is_node: bool


def fitting_machines(context: MachineContext, request: MachineRequest, most: int) -> list[FittingMachine]:
    """Return at most ``most`` machines that fit the request, or the roots of their trees.

    Only machines that may be named to the caller are returned. Raises TooManyExplanations, ExplanationTookTooLong,
    SearchTookTooLong.
    """
    with _bounded(context):
        query = request.parsed()
        if request.served or query is None:
            return _read(context, nodes_source(), most, Node.uuid.in_(_hosts(context, request, most)))
        explained = ExplainedRequest(context.session, query, context.named)
        if not explained.is_flat:
            roots = PROVIDER.c.id.in_(_roots_of_candidates(context, explained.request, most))
            return _read(context, providers_source(nodes_only=context.project is not None), most, roots)
        question = explained.question(context)
        holds = [each.holds for each in question.conditions if each.counts]
        return _read(context, question.source, most, *question.where, *holds)


def _roots_of_candidates(context: MachineContext, request: CandidateRequest, most: int) -> set[int]:
    """The roots of the first candidates."""
    options = search.Options(seconds=context.settings.scheduling.explain_time_limit or None, unknown_traits=True)
    limited = replace(request, limit=_CANDIDATES)
    roots: set[int] = set()
    # The first ones may all be candidates that the caller must not see.
    most = most if context.named.everything else _CANDIDATES
    try:
        with closing(search.find(selecting(context.session), limited, QUERY_VERSION, options)) as results:
            for candidate in islice(results, _CANDIDATES):
                roots.update(candidate.roots)
                if len(roots) >= most:
                    break
    except (TraitNotFound, UnknownClassInQuery, TooManyCandidates):
        return set()
    return roots


def _read(context: MachineContext, source: Any, most: int, *where: Any) -> list[FittingMachine]:
    name = func.coalesce(Node.name, PROVIDER.c.name)
    query = (
        select(PROVIDER.c.uuid, name, Node.resource_class, Node.conductor_group, Node.id)
        .select_from(source)
        .where(*where, *context.named.conditions())
        .order_by(PROVIDER.c.id)
        .limit(most)
    )
    rows = context.session.execute(query).all()
    return [
        FittingMachine(uuid, name, resource_class, group, node is not None)
        for uuid, name, resource_class, group, node in rows
    ]
