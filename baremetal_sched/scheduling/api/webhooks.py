"""/v1/webhooks: receivers to which events are sent."""

from collections.abc import Collection
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, false, literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import paging
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Webhook
from baremetal_sched.db.paging import Page
from baremetal_sched.documents.schema import canonical_uuid, excerpt
from baremetal_sched.errors import AuthenticationUnavailable, InvalidValue, SchedulerError
from baremetal_sched.errors.webhooks import DomainOfWebhookGone, MakerGone, WebhookNotFound
from baremetal_sched.scheduling.api.events import seen_domains
from baremetal_sched.scheduling.api.policies import MANAGE_ALL_WEBHOOKS
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.api.webhook_makers import document_of
from baremetal_sched.scheduling.events import reading, types
from baremetal_sched.scheduling.events.cloud_events import cloud_event, source_of
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.events.event_pages import NOW
from baremetal_sched.scheduling.schemas.answers import TEXT, Body, document, said
from baremetal_sched.scheduling.schemas.webhooks import (
    ACTIVE,
    CHANGED_WEBHOOK,
    MOST_BEHIND,
    NEW_WEBHOOK,
    PARKED,
    RESUMPTION,
    WEBHOOK_MEMBERS,
)
from baremetal_sched.scheduling.webhooks import webhooks
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import empty_response, json_response

PARAMETERS = {
    **page_of("Webhooks"),
    "name": said("Only the webhooks of this name; a project has at most one.", TEXT),
    "state": said("Only webhooks in this state.", {**TEXT, "enum": [ACTIVE, PARKED]}),
}


def list_webhooks(call: SchedulingCall, session: Session) -> Response:
    """GET /v1/webhooks"""
    query = Query(call, PARAMETERS)
    conditions = [*visible_to(call)]
    page = Page(query.limit(), query.text("marker"), within=conditions[0] if conditions else None)
    name, state = query.text("name"), query.text("state")
    if name is not None:
        conditions.append(is_exactly(Webhook.name.expression, literal(name)))
    if state is not None:
        if state not in (ACTIVE, PARKED):
            raise InvalidValue(message=f"Expected {ACTIVE} or {PARKED} for state: {state}")
        conditions.append(Webhook.parked == (state == PARKED))
    found = paging.select_page(session, select(Webhook).where(*conditions), Webhook, page, _no_marker)
    stream = reading.stream(session)
    links = query.links("webhooks", [hook.uuid for (hook,) in found], page.limit)
    return json_response({"webhooks": [_document(call, session, stream, hook) for (hook,) in found], **links})


def show_webhook(call: SchedulingCall, session: Session, webhook: str) -> Response:
    """GET /v1/webhooks/{webhook}"""
    return _shown(call, session, find(call, session, webhook))


def create_webhook(call: SchedulingCall, session: Session) -> Response:
    """POST /v1/webhooks. Raises InvalidWebhookUrl."""
    values = _read(call, session, NEW_WEBHOOK)
    reading.stream(session).require_served(call.settings)
    project = call.caller.project_id or ""
    if not project:
        call.require(MANAGE_ALL_WEBHOOKS)
    webhooks.check_url(values["url"], call.settings)
    most = call.settings.events.most_webhooks
    hook = webhooks.create(session, project, document_of(call.caller, call.settings), values, most)
    answer = _shown(call, session, hook, secret=hook.secret)
    answer.status_code = 201
    answer.headers["Location"] = f"{call.base_url}/v1/webhooks/{hook.uuid}"
    return answer


def update_webhook(call: SchedulingCall, session: Session, webhook: str) -> Response:
    """PATCH /v1/webhooks/{webhook}

    A caller who may change only the webhooks of its project becomes the maker: it gets what it may read itself.
    Raises InvalidWebhookUrl.
    """
    values = _read(call, session, CHANGED_WEBHOOK)
    hook = find(call, session, webhook, lock=True)
    if "url" in values:
        webhooks.check_url(values["url"], call.settings)
    has_new_secret = values.pop("new_secret", False)
    if not call.allows(MANAGE_ALL_WEBHOOKS):
        values["maker"] = document_of(call.caller, call.settings)
    webhooks.change(session, hook, values)
    if not has_new_secret:
        return _shown(call, session, hook)
    webhooks.renew_secret(session, hook)
    return _shown(call, session, hook, secret=hook.secret)


def delete_webhook(call: Call, session: Session, webhook: str) -> Response:
    """DELETE /v1/webhooks/{webhook}"""
    session.delete(find(call, session, webhook, lock=True))
    return empty_response()


def resume_webhook(call: SchedulingCall, session: Session, webhook: str) -> Response:
    """POST /v1/webhooks/{webhook}/resume

    The maker changes as with PATCH; and a maker that is gone is replaced by anyone of its project. Raises InvalidValue,
    EventsGone for a cursor as readers are answered.
    """
    hook = find(call, session, webhook, lock=True)
    wanted = call.json if call.raw_body else {}
    RESUMPTION.check(wanted)
    if not call.allows(MANAGE_ALL_WEBHOOKS) or _is_orphan(call, hook):
        hook.maker = document_of(call.caller, call.settings)
    after = wanted.get("after")
    if after is not None:
        after = reading.stream(session).now if after == NOW else Cursor.parse(after)
    more: dict[str, object] = {"lost": webhooks.resume(session, hook, after)}
    if "skip" in wanted:
        mask = call.makers.mask(hook.maker)
        event = None if mask is None else webhooks.skip(session, hook, mask)
        sent = {} if event is None else cloud_event(event, source_of(call.settings))
        more["skipped"] = {name: sent[name] for name in ("id", "type", "time")} if sent else None
    return _shown(call, session, hook, **more)


def _read(call: Call, session: Session, body: Body) -> dict[str, Any]:
    """Return the members of the body, a domain as its UUID. Raises InvalidValue: of an unknown type and domain it says
    more than a schema can."""
    named = call.json.get("types") if isinstance(call.json, dict) else None
    types.require_known(named if isinstance(named, list) else ())
    values = body.read(call.json)
    if values.get("domain") is not None:
        values["domain"] = naming.find(session, values["domain"], seen_domains(call)).uuid
    return values


def visible_to(call: Call) -> Collection[ColumnElement[bool]]:
    """Return the condition on the webhooks that are the caller's business, if there is any."""
    if call.allows(MANAGE_ALL_WEBHOOKS):
        return ()
    project = call.caller.project_id
    return (is_exactly(Webhook.project.expression, literal(project)) if project else false(),)


def find(call: Call, session: Session, text: str, *, lock: bool = False) -> Webhook:
    """Return the webhook with this UUID or name, if it is the caller's business. Raises WebhookNotFound, and
    InvalidValue for a name that several have."""
    return webhooks.find(session, canonical_uuid(text) or _called(call, session, text), visible_to(call), lock=lock)


def _called(call: Call, session: Session, name: str) -> str:
    is_called = is_exactly(Webhook.name.expression, literal(name))
    uuids = session.scalars(select(Webhook.uuid).where(is_called, *visible_to(call)).limit(2)).all()
    if len(uuids) > 1:
        raise InvalidValue(message=f"Webhooks of several projects are called {excerpt(name)}: give the UUID.")
    if not uuids:
        raise WebhookNotFound(webhook=name)
    return uuids[0]


def _is_orphan(call: SchedulingCall, hook: Webhook) -> bool:
    """Return whether the maker is gone, and the caller can replace it. Raises MakerGone for a caller of another
    project, whose rights would send more than the project may see."""
    try:
        call.makers.mask(hook.maker)
    except MakerGone:
        if (call.caller.project_id or "") != hook.project:
            raise
        return True
    return False


def _no_marker(uuid: str) -> SchedulerError:
    return InvalidValue(message=f"There is no webhook {uuid}, which marker names.")


def _shown(call: SchedulingCall, session: Session, hook: Webhook, **more: Any) -> Response:
    session.flush()
    return json_response(_document(call, session, reading.stream(session), hook) | more)


def _document(call: SchedulingCall, session: Session, stream: reading.Stream, hook: Webhook) -> dict[str, Any]:
    return document(
        WEBHOOK_MEMBERS,
        hook,
        project_id=hook.project or None,
        user_id=hook.maker.get("user_id"),
        state=PARKED if hook.parked else ACTIVE,
        cursor=str(webhooks.cursor_of(hook)),
        behind=_behind(call, session, stream, hook),
        failing_since=hook.failing_since and in_words(hook.failing_since),
        attempts=hook.attempts or [],
        previous_secret_until=hook.previous_until and in_words(hook.previous_until),
        links=[{"rel": "self", "href": f"{call.base_url}/v1/webhooks/{hook.uuid}"}],
    )


def _behind(call: SchedulingCall, session: Session, stream: reading.Stream, hook: Webhook) -> int | None:
    if hook.number != stream.last:
        stream = reading.stream(session, hook.number)
    if not stream.has(webhooks.cursor_of(hook)) or hook.number < stream.oldest - 1:
        return None
    try:
        mask = call.makers.mask(hook.maker)
    except (MakerGone, AuthenticationUnavailable):
        return None
    if mask is None:
        return None
    if hook.number == stream.last:
        return 0
    try:
        filters = webhooks.filter_of(session, hook)
    except DomainOfWebhookGone:
        return None
    until = hook.number + reading.WINDOW
    return reading.count_after(session, hook.number, MOST_BEHIND, project=mask.project, **filters, until=until)
