"""The request to be explained, as clients send it: a query, a flavor and an image, or an allocation."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.allocations.allocation_choice import TraitEntry, Wanted
from baremetal_sched.baremetal.matching.question import Asker
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.explain import explanations
from baremetal_sched.explain.explanation import VERSION, Context, Explained
from baremetal_sched.placement.candidates.request import query as queries
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.query_values import last_values
from baremetal_sched.placement.schemas.queries import candidates
from baremetal_sched.placement.schemas.validation import complaint
from baremetal_sched.scheduling import dry_run
from baremetal_sched.scheduling.api.policies import EXPLAIN_ALL
from baremetal_sched.scheduling.schemas.explanations import QUERY, SERVER, WANTED
from baremetal_sched.web import body
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import BadRequest

_WANTED = "wanted"


def context_of(call: Call, session: Session, machine: str | None = None) -> Context:
    """Return what the caller may hear of; ``machine`` (UUID): of this one only."""
    if call.allows(EXPLAIN_ALL):
        return Context(session, call.settings, Asker(), machine=machine, unrestricted=call.caller.unrestricted)
    # Nothing belongs to the project of a caller that has none.
    project = call.caller.project_id or ""
    return Context(session, call.settings, Asker(project, Visibility(project)), machine=machine)


def of_query(context: Context, pairs: list[tuple[str, str]]) -> Explained:
    """Explain a query as the placement API reads it. Raises BadQuery, InvalidValue, and like ``explain_query``."""
    wrong = complaint(last_values(pairs), candidates(VERSION), query=True)
    if wrong is not None:
        raise InvalidValue(message=f"Invalid query string parameters: {wrong}")
    request: CandidateRequest = queries.parse(pairs, VERSION)
    return explanations.explain_query(context, request)


def body_of(call: Call) -> dict[str, Any]:
    """Return the body of the call, an object. Raises BadRequest, InvalidValue."""
    call.refuse_query()
    try:
        asked = call.json
    except ValueError as error:
        raise BadRequest(message=f"The body of the request is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise InvalidValue(message="The body has to be an object with query, with flavor, or with resource_class.")
    return asked


def of_body(context: Context, asked: dict[str, Any]) -> Explained:
    """Explain what the body asks for. Raises InvalidValue, and what ``dry_run`` and ``explanations`` raise."""
    if "query" in asked:
        QUERY.check(asked)
        return of_query(replace(context, wanted=asked.get(_WANTED, 1)), _pairs(asked["query"]))
    if "flavor" in asked:
        return _of_server(context, asked)
    return _of_allocation(context, asked)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadRequest(message="The query is not valid UTF-8.") from None
    for name, value in pairs:
        body.check_text(name)
        body.check_text(value)
    return pairs


def _of_server(context: Context, asked: dict[str, Any]) -> Explained:
    SERVER.check(asked)
    context = replace(context, wanted=asked.get(_WANTED, 1))
    request = dry_run.DryRunRequest(
        asked["flavor"],
        asked.get("image"),
        asked.get("boot_from_volume", False),
        limit=1,
        project=context.asker.project,
    )
    return explanations.explain_server(context, dry_run.host_request(context.session, request))


def _of_allocation(context: Context, asked: dict[str, Any]) -> Explained:
    number = {name: value for name, value in asked.items() if name == _WANTED}
    WANTED.check(number)
    rest = {name: value for name, value in asked.items() if name != _WANTED}
    values = {name: value for name, value in load(ALLOCATION_CREATE, rest, "body").items() if value}
    if values.get("node"):
        raise InvalidValue(message="An allocation for a given node is not explained: ask for the node's availability.")
    if not values.get("resource_class"):
        raise InvalidValue(message="The body has to have query, flavor, or the resource_class of an allocation.")
    context = replace(context, wanted=number.get(_WANTED, 1))
    owner = values.get("owner")
    if context.asker.project is None:
        any_node = context.unrestricted or owner is None
        named, eligible = EVERYTHING, EVERYTHING if any_node else Visibility(owner)
    else:
        # As of their own allocations, whose owner is their project.
        named = eligible = context.asker.named
        if owner not in (None, context.asker.project):
            raise InvalidValue(message="The owner has to be your own project.")
    nodes = allocations.uuids_of(context.session, values.get("candidate_nodes", ()), named)
    entries = [TraitEntry(text) for text in values.get("traits", ())]
    return explanations.explain_allocation(
        context, Wanted(values["resource_class"], entries, nodes, owner, eligible=eligible)
    )
