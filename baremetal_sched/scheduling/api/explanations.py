"""/v1/explanations"""

from typing import Any
from urllib.parse import parse_qsl

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import allocations
from baremetal_sched.baremetal.allocation_choice import TraitEntry, Wanted
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.placement.candidates import query as queries
from baremetal_sched.placement.candidates.query import CandidateRequest
from baremetal_sched.placement.query_values import last_values
from baremetal_sched.placement.schemas.queries import candidates
from baremetal_sched.placement.schemas.validation import complaint
from baremetal_sched.scheduling import dry_run, explanations
from baremetal_sched.scheduling.api.explanation_view import document
from baremetal_sched.scheduling.api.policies import EXPLAIN_ALL
from baremetal_sched.scheduling.explanations import VERSION, Context, Explained
from baremetal_sched.scheduling.question import Asker
from baremetal_sched.scheduling.schemas.explanations import MOST_WANTED, QUERY, SERVER, WANTED
from baremetal_sched.web import body
from baremetal_sched.web.call import Call
from baremetal_sched.web.problems import BadRequest
from baremetal_sched.web.responses import json_response

_WANTED = "wanted"


def show_explanation(call: Call, session: Session) -> Response:
    """GET /v1/explanations"""
    wanted = [value for name, value in call.query if name == _WANTED]
    pairs = [(name, value) for name, value in call.query if name != _WANTED]
    return _answer(explanations.explain_query(_context(call, session, _number(wanted)), _parsed(pairs)))


def create_explanation(call: Call, session: Session) -> Response:
    """POST /v1/explanations"""
    call.refuse_query()
    try:
        asked = call.json
    except ValueError as error:
        raise BadRequest(message=f"The body of the request is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise InvalidValue(message="The body has to be an object with query, with flavor, or with resource_class.")
    if "query" in asked:
        QUERY.check(asked)
        context = _context(call, session, asked.get(_WANTED, 1))
        return _answer(explanations.explain_query(context, _parsed(_pairs(asked["query"]))))
    if "flavor" in asked:
        return _answer(_of_server(call, session, asked))
    return _answer(_of_allocation(call, session, asked))


def _context(call: Call, session: Session, wanted: int) -> Context:
    if call.allows(EXPLAIN_ALL):
        return Context(session, call.settings, Asker(), wanted)
    # Nothing belongs to the project of a caller that has none.
    project = call.caller.project_id or ""
    return Context(session, call.settings, Asker(project, Visibility(project)), wanted)


def _number(given: list[str]) -> int:
    if not given:
        return 1
    (text, *others) = given
    if others or not (text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_WANTED))):
        raise InvalidValue(message=f"Expected one integer from 1 to {MOST_WANTED} for {_WANTED}: {', '.join(given)}")
    if not 1 <= int(text) <= MOST_WANTED:
        raise InvalidValue(message=f"Expected one integer from 1 to {MOST_WANTED} for {_WANTED}: {text}")
    return int(text)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise BadRequest(message="The query is not valid UTF-8.") from None
    for name, value in pairs:
        body.check_text(name)
        body.check_text(value)
    return pairs


def _parsed(pairs: list[tuple[str, str]]) -> CandidateRequest:
    """What the query asks for, as the placement API reads it. Raises BadQuery, InvalidValue."""
    wrong = complaint(last_values(pairs), candidates(VERSION), query=True)
    if wrong is not None:
        raise InvalidValue(message=f"Invalid query string parameters: {wrong}")
    return queries.parse(pairs, VERSION)


def _of_server(call: Call, session: Session, asked: dict[str, Any]) -> Explained:
    SERVER.check(asked)
    context = _context(call, session, asked.get(_WANTED, 1))
    request = dry_run.Asked(
        asked["flavor"],
        asked.get("image"),
        asked.get("boot_from_volume", False),
        limit=1,
        project=context.asker.project,
    )
    return explanations.explain_server(context, dry_run.host_request(session, request))


def _of_allocation(call: Call, session: Session, asked: dict[str, Any]) -> Explained:
    number = {name: value for name, value in asked.items() if name == _WANTED}
    WANTED.check(number)
    rest = {name: value for name, value in asked.items() if name != _WANTED}
    values = {name: value for name, value in load(ALLOCATION_CREATE, rest, "body").items() if value}
    if values.get("node"):
        raise InvalidValue(message="An allocation for a given node is not explained: ask for the node's availability.")
    if not values.get("resource_class"):
        raise InvalidValue(message="The body has to have query, flavor, or the resource_class of an allocation.")
    context = _context(call, session, number.get(_WANTED, 1))
    owner = values.get("owner")
    if context.asker.project is None:
        named, eligible = EVERYTHING, EVERYTHING if owner is None else Visibility(owner)
    else:
        # As of their own allocations, whose owner is their project.
        named = eligible = context.asker.named
        if owner not in (None, context.asker.project):
            raise InvalidValue(message="The owner has to be your own project.")
    nodes = allocations.uuids_of(session, values.get("candidate_nodes", ()), named)
    entries = [TraitEntry(text) for text in values.get("traits", ())]
    return explanations.explain_allocation(
        context, Wanted(values["resource_class"], entries, nodes, owner, eligible=eligible)
    )


def _answer(explained: Explained) -> Response:
    return json_response(document(explained))
