"""Questions about nodes whose trees serve a request as a whole: what a scan of nodes cannot tell of their trees."""

from dataclasses import replace

from sqlalchemy import ColumnElement, Select, select

from baremetal_sched.baremetal.matching.conditions import CLASS, Kind
from baremetal_sched.baremetal.matching.masks import Analysis
from baremetal_sched.baremetal.matching.question import Question
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import BASE_CLASSES, TreeRequest
from baremetal_sched.baremetal.matching.tree_shapes import Forest
from baremetal_sched.baremetal.provider.availability import PROVIDER
from baremetal_sched.explain.request_conditions import ExplainedRequest
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.tables import PROVIDERS

#: Conditions on the tree of a node as a whole.
_OF_TREE = (CLASS, "trait:")


def fits_if_free(context: MachineContext, request: TreeRequest, question: Question, limit: TimeLimit) -> bool:
    """Return whether there would be a candidate if all machines that meet the conditions were free.

    A scan takes what a node has for what its tree has as a whole, and two groups may need the same provider of it.
    Raises TookTooLong.
    """
    asked = ExplainedRequest(context.session, request.parsed())
    if asked.is_flat:
        return True
    roots = tree_roots(question, if_free=True)
    forest = Forest(replace(context, project=request.project), asked.wanted, roots, limit)
    free = (shape.free for shape in forest.shapes)
    return next(candidates(asked.wanted, free, time_limit=limit), None) is not None


def tree_roots(question: Question, *, if_free: bool) -> ColumnElement[bool]:
    """Return the condition on ``PROVIDERS`` that the root is a node which meets all that is not asked of its tree.

    ``if_free``: only what is asked for counts, not what holds the node back.

    p.root_id IN (SELECT m.id FROM <nodes> WHERE <all that is not asked of the tree>)
    """
    held = [
        check.holds
        for check in question.checks
        if check.condition.counts
        and not check.condition.id.startswith(_OF_TREE)
        and (check.condition.kind is Kind.REQUEST or not if_free)
    ]
    roots: Select[tuple[int]] = select(PROVIDER.c.id).select_from(question.source).where(*question.where, *held)
    return PROVIDERS.c.root_id.in_(roots)


def hint(request: CandidateRequest, found: Analysis) -> str:
    """Return what to do if machines fail because they lack the base classes, with a blank before it."""
    missing = {condition.id.removeprefix(CLASS) for condition, _ in found.decisive}
    if missing.isdisjoint(BASE_CLASSES):
        return ""
    asked = {name for group in request.groups.values() for name in group.resources}
    overrides = ", ".join(f"resources:{name}=0" for name in BASE_CLASSES if name in asked)
    begin = "" if any(map(is_custom, asked)) else " Request machines by a custom resource class."
    return f"{begin} A custom resource class does not switch the base classes off: add {overrides} to the flavor."
