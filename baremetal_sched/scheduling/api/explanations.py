"""/v1/explanations: a query, a flavor and an image, or an allocation is explained."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.ends import asked_end, granted_end
from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.matching.conditions import Condition
from baremetal_sched.baremetal.matching.explanation import ClosestTree, Explanation
from baremetal_sched.baremetal.matching.masks import Share
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.db import requester
from baremetal_sched.db.clock import in_words
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain.explanations import earliest_of, explain_request
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling import machine_groups
from baremetal_sched.scheduling.api.policies import EXPLAIN_ALL
from baremetal_sched.scheduling.api.request_bodies import (
    EXPLANATIONS,
    QUERY_PARAMETERS,
    Pairs,
    body_of,
    query_request,
    read_request,
    require_levels,
)
from baremetal_sched.scheduling.schemas.answers import said
from baremetal_sched.scheduling.schemas.explanations import MOST_WANTED, NUMBER_WANTED
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response

_WANTED = "wanted"
PARAMETERS = {_WANTED: said("How many machines are wanted.", NUMBER_WANTED), **QUERY_PARAMETERS}


def show_explanation(call: Call, session: Session) -> Response:
    """GET /v1/explanations"""
    number = _number([value for name, value in call.query if name == _WANTED])
    pairs = [(name, value) for name, value in call.query if name != _WANTED]
    context = replace(context_of(call, session), needed=number)
    explained = of_query(context, pairs)
    return json_response(document(explained))


def create_explanation(call: Call, session: Session) -> Response:
    """POST /v1/explanations"""
    body = body_of(call)
    project = call.caller.project_id or call.settings.placement.incomplete_consumer_project_id
    context, request = request_of(call, context_of(call, session), body, project)
    context = replace(context, end=_end_of(call, session, body, project))
    explained = explain_request(context, request)
    answer = document(explained)
    if context.end is not None or body.get("earliest"):
        answer |= earliest_of(context, request, explained).document()
    return json_response(answer)


def _end_of(call: Call, session: Session, body: Mapping[str, Any], project: str) -> End | None:
    """Return the end of a body; None if it names none. Raises like ``asked_end`` and ``granted_end``."""
    asked = asked_end(body)
    if asked.at is None and asked.seconds is None and asked.booking is None:
        return None
    return granted_end(call, session, asked, project=project, waits=True, locks=False)


def _number(values: list[str]) -> int:
    if not values:
        return 1
    text = ", ".join(values)
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_WANTED))
    if not is_number or not 1 <= int(text) <= MOST_WANTED:
        raise InvalidValue(message=f"Expected one integer from 1 to {MOST_WANTED} for {_WANTED}: {text}")
    return int(text)


# -- requests ---------------------------------------------------------------------------------------------------------


def context_of(call: Call, session: Session, machine: str | None = None) -> MachineContext:
    """Return the context with the nodes that the caller may see; ``machine`` (UUID): with this one only."""
    requester.attach(session, call.requested_by)  # whose turn it is
    # Nothing belongs to the project of a caller that has none.
    project = None if call.allows(EXPLAIN_ALL) else call.caller.project_id or ""
    context = MachineContext.of_project(session, call.settings, project)
    unrestricted = project is None and call.caller.unrestricted
    return replace(context, machine=machine, unrestricted=unrestricted, seen=reader(call).conditions)


def of_query(context: MachineContext, pairs: Pairs) -> Explanation:
    """Explain a query as the placement API reads it. Raises BadQuery, InvalidValue, and like ``explain_request``."""
    return explain_request(context, query_request(pairs, context.project))


def request_of(
    call: Call, context: MachineContext, document: Mapping[str, Any], project: str = ""
) -> tuple[MachineContext, MachineRequest]:
    """Return the request of a body, and its context: for as many machines as are wanted, of a group of ``project``.

    Raises InvalidValue, and the errors of ``read_request`` and ``dry_run``.
    """
    session = context.session
    resolve = read_request(document, EXPLANATIONS, context.project, unrestricted=context.unrestricted)
    request = resolve(session)
    if request.several is not None and _WANTED in document:
        raise InvalidValue(message="Say how many machines are wanted by count or by wanted, not by both.")
    require_levels(call, session, request.several, context.project)
    asked = machine_groups.asked(session, project, request, names_nodes=True)
    return replace(context, needed=document.get(_WANTED, 1)), asked


# -- the explanation as JSON -------------------------------------------------------------------------------------------


def document(explained: Explanation) -> dict[str, Any]:
    """Return the explanation as clients see it; each of its parts in the same form."""
    analysis, scanned = explained.analysis, explained.scan
    answer: dict[str, Any] = {
        "nodes": scanned.nodes,
        "fitting": explained.fitting,
        "wanted": explained.needed,
        "verdict": str(explained.verdict),
        "summary": explained.summary,
        "conditions": [_condition(share) for share in analysis.shares],
        "relaxations": [
            {"drop": list(each.drop), "would_fit": each.would_fit, "example": each.example}
            for each in analysis.relaxations
        ],
        "exact": analysis.exact,
        "unknown": [
            {"name": each.name, "did_you_mean": [list(pair) for pair in each.did_you_mean]}
            for each in explained.unknown
        ],
        "busy": scanned.busy,
        "groups": [
            {
                "conductor_group": each.conductor_group,
                "conductors_alive": each.conductors_alive,
                "fitting_if_served": each.fitting_if_served,
            }
            for each in explained.groups
        ],
        "held": [each.document() for each in explained.held],
        "sampled": scanned.sample is not None,
    }
    if scanned.scope is not None:
        answer["scope"] = scanned.scope.name
    if scanned.sample is not None:
        answer["sample"] = scanned.sample
    if scanned.first_end is not None:
        answer["first_end"] = in_words(scanned.first_end)
    return answer | _of_trees(explained)


def document_of_node(explained: Explanation) -> dict[str, Any]:
    """Return the explanation of one machine: whether each condition holds, and the parts as ``document`` has them."""
    return {
        "verdict": str(explained.verdict),
        "conditions": [{**_words(share.condition), "holds": not share.fails} for share in explained.analysis.shares],
        "relaxations": [{"drop": list(each.drop)} for each in explained.analysis.relaxations],
        "exact": explained.analysis.exact,
        **_of_trees(explained),
    }


def _of_trees(explained: Explanation) -> dict[str, Any]:
    """Return the members that exist only if several providers of a tree serve the request together."""
    members: dict[str, Any] = {}
    if explained.parts:
        members["parts"] = {parameter: document(part) for parameter, part in explained.parts.items()}
    if explained.closest is not None:
        members["closest"] = _closest(explained.closest)
    return members


def _closest(tree: ClosestTree) -> dict[str, Any]:
    return {
        "root": tree.root,
        "trees": tree.trees,
        "parts": {
            part.parameter: {
                "served": not part.failing,
                "provider": part.provider,
                "failing": [{"id": each.id, "text": each.text} for each in part.failing],
            }
            for part in tree.parts
        },
        "constraints": [{"id": each.id, "text": each.text} for each in tree.constraints],
    }


def _words(condition: Condition) -> dict[str, Any]:
    return {
        "id": condition.id,
        "text": condition.text,
        "kind": str(condition.kind),
        "counts": condition.counts,
    }


def _condition(share: Share) -> dict[str, Any]:
    return {
        **_words(share.condition),
        "fails": share.fails,
        "only_this": share.only_this,
        "eliminated": share.eliminated,
        "left": share.left,
        "example": share.example,
    }
