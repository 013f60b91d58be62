"""/v1/claims: a machine is claimed now or when one is free."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from flask import Response
from sqlalchemy import ColumnElement, false, literal, select
from sqlalchemy.orm import Session, defer

from baremetal_sched.baremetal.api.ends import SET_END_ALL, asked_end, granted_end
from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.domains import domain_list
from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.masks import HOPELESS, Verdict
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.matching.spreading import SEVERAL
from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import paging, requester
from baremetal_sched.db.models import Consumer, WaitingRequest
from baremetal_sched.db.paging import Page
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.schema import uuid_of
from baremetal_sched.errors import CommitUnknown, InvalidValue, SchedulerError
from baremetal_sched.errors.compute import ExplanationTookTooLong, TooManyExplanations
from baremetal_sched.errors.scheduling import ClaimNotFound, ConsumerInUse, FitUnknown, HasNoEnd, NeverFits, NothingFree
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.placement import ends, waiting_requests
from baremetal_sched.placement.consumers import PLACEMENT
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIMED, SERVER, WAITING
from baremetal_sched.scheduling import claim_ends, claims, machine_groups, planning, plans
from baremetal_sched.scheduling.api import rights
from baremetal_sched.scheduling.api.policies import ALL_CLAIMS, DELETE_CLAIM, GET_CLAIM
from baremetal_sched.scheduling.api.request_bodies import ClaimBody, SchedulingCall, read_claim, require_levels
from baremetal_sched.scheduling.claims import ClaimStatus, NewClaim
from baremetal_sched.scheduling.schemas.answers import COUNT, TEXT, said
from baremetal_sched.scheduling.schemas.claims import KINDS, STATES
from baremetal_sched.scheduling.schemas.ends import CLAIM_CHANGE
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import empty_response, json_response

T = TypeVar("T")


#: How often a claim that does not wait is tried while machines fit that others are just changing.
_ATTEMPTS = 3

#: Seconds before the deadline of a request at which it ends waiting for a decision.
_RESERVE = 5.0

#: Seconds after which a request that could not wait may be repeated.
_LATER = {"Retry-After": "1"}


def create_claim(call: SchedulingCall, session: None) -> Response:
    """POST /v1/claims"""
    body = read_claim(call)
    status = _claimed(call, body)
    headers = {"Location": f"{call.base_url}/v1/claims/{status.claim.uuid}"}
    # A claim of one machine stays as cheap as it can be.
    document = _document(call, status) if SEVERAL in status.claim.request else claims.document_of(status)
    return json_response(document, {CLAIMED: 201, WAITING: 202}.get(status.state, 200), headers)


def _claimed(call: SchedulingCall, body: ClaimBody) -> ClaimStatus:
    """Claim a machine now, or else enter the claim into the queue. Raises NothingFree, NeverFits, FitUnknown."""
    for _ in range(_ATTEMPTS):
        done = _write(call, lambda session, again: _claim_now(call, session, body, again))
        if isinstance(done, ClaimStatus):
            return done
        new = done
        reason, verdict = _explained(call, body, new)
        if body.wait or verdict != Verdict.FITS:
            break
    if not body.wait:
        raise NothingFree(
            reason="Others are changing all machines that fit. Try again." if verdict == Verdict.FITS else reason
        )
    if verdict is None and not body.even_if_impossible:
        raise FitUnknown(reason=reason)
    if verdict in HOPELESS and not body.even_if_impossible:
        raise NeverFits(reason=reason)
    if verdict in HOPELESS:
        new = replace(new, priority=waiting_requests.LAST)
    _write(call, lambda session, _: _enter(call, session, body, new, reason))
    # It may have been given a machine since.
    return call.database.read(lambda session: claims.show(session, body.uuid), deadline=call.deadline)


def _claim_now(call: SchedulingCall, session: Session, body: ClaimBody, again: bool) -> ClaimStatus | NewClaim:
    """Return the claim, as it is or was claimed just now; the request if nothing is free."""
    may_exist = again or body.is_named
    claim = claims.existing(session, body.uuid, body.digest, body.project) if may_exist else None
    if claim is not None:
        return claims.statuses_of(session, [claim])[0]
    new = body.new_claim(call, session)
    if body.wait or new.request.several is not None or new.request.project is not None:
        new.request.machine_class()  # raises unless it is that of a node
    claimed = claims.claim_now(session, new, call.settings)
    if claimed is None and not body.even_if_impossible:
        require_levels(call, session, new.request.several, new.request.project)
    return claimed or new


def _enter(call: SchedulingCall, session: Session, body: ClaimBody, new: NewClaim, reason: str) -> None:
    if claims.existing(session, body.uuid, body.digest, body.project) is None:
        if body.asked.booking is not None:
            new = replace(new, end=body.end(call, session))  # as its booking is now
        claims.wait(session, new, body.wait, reason, call.settings)


def _explained(call: SchedulingCall, body: ClaimBody, new: NewClaim) -> tuple[str, Verdict | None]:
    """Return why nothing is free, and the verdict on the request; None if there is no time to find out."""

    def explain(session: Session) -> Explanation:
        requester.attach(session, call.requested_by)
        context = replace(MachineContext.of_project(session, call.settings, new.request.project), end=new.end)
        return explain_request(context, machine_groups.asked(session, new.project, new.request, names_nodes=True))

    try:
        explained = call.database.read(explain, deadline=call.deadline)
    except (TooManyExplanations, ExplanationTookTooLong) as error:
        return (str(error) if body.wait and not body.even_if_impossible else FALLBACK), None
    return explained.summary, explained.verdict if explained.could_be_had else Verdict.IMPOSSIBLE


def _write(call: SchedulingCall, work: Callable[[Session, bool], T]) -> T:
    """Run ``work``, which is about one claim, in a transaction; it is told whether that is done again.

    It is repeated if its commit may have failed, or if the consumer has something already: by then the claim is found
    if it was made, by this request or by another with the same body.
    """

    def attached(session: Session, again: bool = False) -> T:
        requester.attach(session, call.requested_by)
        return work(session, again)

    try:
        return call.database.write(attached, deadline=call.deadline)
    except (CommitUnknown, ConsumerInUse):
        return call.database.write(partial(attached, again=True), deadline=call.deadline)


# -- one claim ---------------------------------------------------------------------------------------------------------

POLL = {"wait": said("For how many seconds to wait until the claim is decided.", COUNT)}


def show_claim(call: SchedulingCall, session: None, claim: str) -> Response:
    """GET /v1/claims/{claim}"""
    seconds = Query(call, POLL).integer("wait") or 0
    uuid = _uuid_of(claim)
    status = _visible(call, uuid)
    headers: dict[str, str] = {}
    until = time.monotonic() + seconds
    if call.deadline is not None:
        until = min(until, call.deadline - _RESERVE)
    if status.state == WAITING and time.monotonic() < until:
        if call.decisions.wait(uuid, until, call.caller.project_id):
            status = _visible(call, uuid)
        else:
            headers = _LATER
    return json_response(_document(call, status), headers=headers)


def _document(call: SchedulingCall, status: ClaimStatus) -> dict[str, Any]:
    """Return the claim as JSON, with the domains of its machines."""
    if not status.machines:
        return claims.document_of(status)
    return call.database.select(lambda connection: documents_of(call, connection, [status])[0], deadline=call.deadline)


def documents_of(call: Call, reader: Reader, statuses: Iterable[ClaimStatus]) -> list[dict[str, Any]]:
    """Return claims as JSON, with the domains of their machines if the caller may see domains."""
    documents = [claims.document_of(each) for each in statuses]
    machines = [machine for each in documents for machine in each["machines"]]
    if sees_domains(call):
        found = domain_list.of_nodes(reader, {each["node"] for each in machines if each["node"] is not None})
        for each in machines:
            each["domains"] = found.get(each["node"], {})
    return documents


def _visible(call: SchedulingCall, uuid: str) -> ClaimStatus:
    """Return the claim. Raises ClaimNotFound if it does not exist or the caller may not see it."""

    def see(session: Session) -> ClaimStatus:
        return planning.seen(session, call.settings, _seen(call, session, uuid))

    status = call.database.read(see, deadline=call.deadline)
    if status.claim.kind == PLACEMENT and not status.ends:
        raise ClaimNotFound(claim=uuid)
    return status


def _seen(call: SchedulingCall, session: Session, uuid: str) -> ClaimStatus:
    """Return the claim or the consumer with this UUID. Raises ClaimNotFound if the caller may not see it."""
    status = claim_ends.find(session, uuid)
    if status is None or not call.allows(GET_CLAIM, {"project_id": status.claim.consumer_project}):
        raise ClaimNotFound(claim=uuid)
    return status


def change_claim(call: SchedulingCall, session: Session, claim: str) -> Response:
    """PATCH /v1/claims/{claim}"""
    CLAIM_CHANGE.check(call.json)
    asked = asked_end(call.json)
    status = _seen(call, session, _uuid_of(claim))
    if status.claim.kind == PLACEMENT:
        raise HasNoEnd(consumer=status.claim.uuid)
    rights.require_delete(call, session, status.claim)
    ends.require_served(session)
    asked = replace(asked, booking=claim_ends.require_booking(status))
    project = status.claim.consumer_project
    end = granted_end(call, session, asked, claim_ends.began_at(status), project=project, waits=True)
    is_bound = not (call.settings.scheduling.prolong_while_others_wait or call.allows(SET_END_ALL))
    claim_ends.change(session, call.settings, status, end, is_bound=is_bound)
    session.expire_all()
    changed = _seen(call, session, status.claim.uuid)
    return json_response(documents_of(call, session, [changed])[0])


def delete_claim(call: Call, session: Session, claim: str) -> Response:
    """DELETE /v1/claims/{claim}: also of one that is gone, or never was. That of another project is as if it were not
    there: it stays."""
    uuid = _uuid_of(claim)
    known = waiting_requests.find(session, uuid) if plans.are_made(call.settings) else None
    if known is not None and call.allows(DELETE_CLAIM, {"project_id": known.consumer_project}):
        plans.end(session, call.settings, [known.id])
    found = waiting_requests.find(session, uuid, lock=True)
    status = claim_ends.find(session, uuid) if found is None else None
    if status is not None and status.claim.kind in (ALLOCATION, SERVER):
        found = status.claim
    if found is not None and call.allows(DELETE_CLAIM, {"project_id": found.consumer_project}):
        claims.withdraw(session, found)
    return empty_response()


def _uuid_of(text: str) -> str:
    return uuid_of(text, ClaimNotFound(claim=text))


# -- the list ----------------------------------------------------------------------------------------------------------

_COLUMNS = {
    "project_id": WaitingRequest.consumer_project.expression,
    "resource_class": waiting_requests.MACHINE_CLASS,
}
PARAMETERS = {
    **page_of("Claims"),
    "state": said("Only claims that are in this state now.", {**TEXT, "enum": list(STATES)}),
    "kind": said("Only claims of this kind.", {**TEXT, "enum": list(KINDS)}),
    "project_id": said("Only claims of this project.", TEXT),
    "resource_class": said("Only claims of this resource class, as placement names it.", TEXT),
    "late": said(
        "true: only claims that have ended, but whose machines cannot be given back now; also servers and allocations "
        "that never waited.",
        {**TEXT, "enum": ["true"]},
    ),
}


def list_claims(call: Call, session: Session) -> Response:
    """GET /v1/claims"""
    query = Query(call, PARAMETERS)
    if query.one_of("late", ("true",)):
        return _list_late(call, session, query)
    visible = visible_to(call)
    page = Page(query.limit(), query.text("marker"), within=visible)
    statement = select(WaitingRequest).options(defer(WaitingRequest.secret)).where(*_conditions(query))
    if visible is not None:
        statement = statement.where(visible)
    rows = paging.select_page(session, statement, WaitingRequest, page, _no_marker)
    selected = [claim for (claim,) in rows]
    documents = documents_of(call, session, claims.statuses_of(session, selected))
    return json_response({"claims": documents, **query.links("claims", [each.uuid for each in selected], page.limit)})


def _list_late(call: Call, session: Session, query: Query) -> Response:
    visible, project = visible_to(call, Consumer.project_id), query.text("project_id")
    conditions = [] if visible is None else [visible]
    conditions += [] if project is None else [is_exactly(Consumer.project_id.expression, literal(project))]
    kind, resource_class = query.one_of("kind", KINDS), query.text("resource_class")
    conditions += [] if kind is None else [Consumer.request_kind == kind]
    conditions += [] if resource_class is None else [claim_ends.has_class(resource_class)]
    conditions += [] if query.one_of("state", STATES) in (None, CLAIMED) else [false()]
    uuids, marker, limit = claim_ends.late(session, *conditions), query.text("marker"), query.limit()
    if marker is not None and marker not in uuids:
        raise _no_marker(marker)
    page = uuids[0 if marker is None else uuids.index(marker) + 1 :][:limit]
    documents = documents_of(call, session, claim_ends.statuses_of(session, page))
    return json_response({"claims": documents, **query.links("claims", page, limit)})


def _no_marker(uuid: str) -> SchedulerError:
    return InvalidValue(message=f"There is no claim {uuid}, which marker names.")


def visible_to(call: Call, column: Any = WaitingRequest.consumer_project) -> ColumnElement[bool] | None:
    """Return the condition on the claims that the caller may see, by the column of their project; None: all of them."""
    if call.allows(ALL_CLAIMS):
        return None
    project = call.caller.project_id
    return false() if project is None else is_exactly(column.expression, literal(project))


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    """Return the conditions of the filters. Raises InvalidValue."""
    conditions: list[ColumnElement[bool]] = [
        is_exactly(column, literal(value))
        for name, column in _COLUMNS.items()
        if (value := query.text(name)) is not None
    ]
    state, kind = query.one_of("state", STATES), query.one_of("kind", KINDS)
    conditions += [] if state is None else [claims.in_state(state)]
    return conditions + ([] if kind is None else [WaitingRequest.kind == kind])
