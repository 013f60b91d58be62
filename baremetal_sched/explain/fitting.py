"""Which machines fit a request: some of them, for people to look at."""

from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlalchemy import func, select

from baremetal_sched.baremetal.matching import limits
from baremetal_sched.baremetal.matching.question import nodes_source, providers_source
from baremetal_sched.baremetal.matching.reasons import PROVIDER
from baremetal_sched.compute import host_choice
from baremetal_sched.compute.host_choice import HostRequest
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import selecting
from baremetal_sched.errors.placement import TooManyCandidates, TraitNotFound, UnknownClassInQuery
from baremetal_sched.explain import query_questions
from baremetal_sched.explain.explanation import VERSION, Context
from baremetal_sched.explain.tree_parts import Asked
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest

#: The number of candidates that are read; several may be of one tree, or of nodes that must not be named.
_CANDIDATES = 1000


@dataclass(frozen=True)
class FittingMachine:
    """A machine that fits. ``is_node``: whether it is one, and not another provider of placement's."""

    uuid: str
    name: str | None
    resource_class: str | None
    conductor_group: str | None
    is_node: bool


def machines(context: Context, request: CandidateRequest, most: int) -> list[FittingMachine]:
    """Return at most ``most`` machines that are candidates for ``request``, or the roots of their trees.

    Only machines that may be named to the asker are returned. Raises TooManyExplanations, ExplanationTookTooLong,
    SearchTookTooLong.
    """
    with limits.one_of_few(), limits.limited(context.session, context.settings.scheduling.explain_time_limit):
        asked = Asked(context.session, request)
        if not asked.is_flat:
            roots = PROVIDER.c.id.in_(_roots(context, request, most))
            return _read(context, providers_source(context.asker), most, roots)
        question = query_questions.question(asked, context.membership(), context.asker)
        holds = [check.holds for check in question.checks if check.condition.counts]
        return _read(context, question.source, most, *question.where, *holds)


def hosts(context: Context, wanted: HostRequest, most: int) -> list[FittingMachine]:
    """Return at most ``most`` machines that a server may get. Raises like ``machines``."""
    with limits.one_of_few(), limits.limited(context.session, context.settings.scheduling.explain_time_limit):
        try:
            found = host_choice.hosts(context.session, wanted, context.membership(), context.settings, most)
        except (TraitNotFound, UnknownClassInQuery):
            return []
        return _read(context, nodes_source(), most, Node.uuid.in_([uuid for uuid, _ in found]))


def _roots(context: Context, request: CandidateRequest, most: int) -> set[int]:
    """The roots of the first candidates."""
    options = search.Options(seconds=context.settings.scheduling.explain_time_limit or None)
    limited = replace(request, limit=_CANDIDATES)
    roots: set[int] = set()
    # The first ones may all be candidates that the asker must not see.
    most = most if context.asker.named.everything else _CANDIDATES
    try:
        with closing(search.find(selecting(context.session), limited, VERSION, options)) as found:
            for candidate in islice(found, _CANDIDATES):
                roots.update(candidate.roots)
                if len(roots) >= most:
                    break
    except (TraitNotFound, UnknownClassInQuery, TooManyCandidates):
        return set()
    return roots


def _read(context: Context, source: Any, most: int, *where: Any) -> list[FittingMachine]:
    name = func.coalesce(Node.name, PROVIDER.c.name)
    query = (
        select(PROVIDER.c.uuid, name, Node.resource_class, Node.conductor_group, Node.id)
        .select_from(source)
        .where(*where, *context.asker.named.conditions())
        .order_by(PROVIDER.c.id)
        .limit(most)
    )
    rows = context.session.execute(query).all()
    return [
        FittingMachine(uuid, name, resource_class, group, node is not None)
        for uuid, name, resource_class, group, node in rows
    ]
