"""Why a server finds no machine where its request is served by the providers of a tree, not by the node alone."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Select, select

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching import capabilities
from baremetal_sched.baremetal.matching.masks import Kind, Relaxation, Verdict
from baremetal_sched.baremetal.matching.question import CLASS, Question
from baremetal_sched.baremetal.matching.reasons import PROVIDER
from baremetal_sched.baremetal.matching.wording import of_capability
from baremetal_sched.compute import host_choice
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.errors.placement import TraitNotFound, UnknownClassInQuery
from baremetal_sched.explain.changed_requests import without
from baremetal_sched.explain.explanation import COMBINATION, Context, Explained
from baremetal_sched.explain.tree_parts import Asked
from baremetal_sched.explain.trees import MOST_COUNTED, missed_trees
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.tables import PROVIDERS

#: What scans of nodes look for in the tree of a node as a whole.
_OF_TREE = (CLASS, "trait:")


@dataclass(frozen=True)
class _Changed(HostRequest):
    """A request of which conditions were left out."""

    request: CandidateRequest | None = None

    def parsed(self, limit: int | None) -> CandidateRequest:
        """The query as it was changed, for at most ``limit`` candidates."""
        return super().parsed(limit) if self.request is None else replace(self.request, limit=limit)


def count_hosts(context: Context, wanted: HostRequest, membership: Membership, most: int) -> int:
    """Return how many machines the server could have, ``most`` at most; 0 if it names something unknown."""
    if context.machine is not None:
        wanted = replace(wanted, node=context.machine)
    try:
        return len(host_choice.hosts(context.session, wanted, membership, context.settings, most))
    except (TraitNotFound, UnknownClassInQuery):
        return 0


def with_trees(
    context: Context, wanted: HostRequest, membership: Membership, asked: Asked, question: Question, found: Explained
) -> Explained:
    """Return ``found``, what a scan of nodes says of a server for which there is no host, with what the search says.
    Raises ExplanationTookTooLong.

    A scan takes what a node has for what its tree has as a whole, so its relaxations are tried; and the closest tree is
    that of a node which fails nothing but what is asked of its tree.
    """
    verdict = COMBINATION if found.fitting else found.verdict
    held_back = verdict in (Verdict.BUSY, Verdict.UNSERVED)
    missed = missed_trees(context, asked, _roots(context, question, if_free=held_back))
    tried, exact = missed.relaxations, missed.exact
    if not found.fitting:
        tried = [*_tried(context, wanted, membership, asked.request, found.analysis.relaxations)]
        exact = found.analysis.exact
    if held_back and not missed.fits_if_free:
        verdict = COMBINATION
    analysis = replace(found.analysis, relaxations=tried, exact=exact)
    return replace(found, fitting=0, verdict=verdict, analysis=analysis, closest=missed.closest)


def _roots(context: Context, question: Question, *, if_free: bool) -> ColumnElement[bool]:
    """p.root_id IN (SELECT m.id FROM <nodes> WHERE <all that is not asked of the tree>)

    ``if_free``: whether only what is asked for counts, not what holds a node back.
    """
    if context.machine is not None:
        question = question.about(context.machine)
    held = [
        check.holds
        for check in question.checks
        if check.condition.counts
        and not check.condition.id.startswith(_OF_TREE)
        and (check.condition.kind is Kind.REQUEST or not if_free)
    ]
    roots: Select[tuple[int]] = select(PROVIDER.c.id).select_from(question.source).where(*question.where, *held)
    return PROVIDERS.c.root_id.in_(roots)


def _tried(
    context: Context,
    wanted: HostRequest,
    membership: Membership,
    request: CandidateRequest,
    relaxations: list[Relaxation],
) -> Iterator[Relaxation]:
    """The relaxations that bring hosts, with how many these are."""
    most = max(context.wanted, MOST_COUNTED)
    asked_for = capabilities.wanted(wanted.extra_specs)
    for each in relaxations:
        # A condition on the whole tree is that of every group.
        drop = {_of_group(name, suffix) for name in each.drop for suffix in request.groups}
        changed = without(request, drop)
        if changed is None:
            continue
        stays = {name for name, value in asked_for.items() if of_capability(name, value).id not in each.drop}
        specs = {f"capabilities:{name}": asked_for[name] for name in stays}
        asked = _Changed(
            wanted.query, wanted.group, wanted.node, specs, wanted.excluded, wanted.project, request=changed
        )
        number = count_hosts(context, asked, membership, most)
        if number:
            yield replace(each, would_fit=number)


def _of_group(name: str, suffix: str) -> str:
    kind, colon, rest = name.partition(":")
    return f"{kind}{suffix}{colon}{rest}"
