"""/v1/holds, /v1/nodes/{node}/holds: why machines must not be used, who asserted that, from when to when."""

from collections.abc import Iterable
from typing import Any

from flask import Response
from sqlalchemy import literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.nodes.node_filters import in_domain
from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.api.policies.holds import ADD, GET, GET_NODE, REMOVE, UPDATE
from baremetal_sched.baremetal.api.resources.hold_actors import (
    actor_of,
    asserter_named,
    name_of,
    nodes_by,
    scope_of,
    target_of,
    view_of,
)
from baremetal_sched.baremetal.bookings.times import BOOKED, COUNTS
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.holds import asserting, changing, guards, hold_list, holds, rules
from baremetal_sched.baremetal.holds.asserting import Attempt, NewHold
from baremetal_sched.baremetal.holds.hold_list import HoldFilters, HoldRow
from baremetal_sched.baremetal.holds.rules import Actor
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.visibility import Visibility, is_exactly
from baremetal_sched.db.clock import seconds_of
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.paging import Page
from baremetal_sched.documents.schema import uuid_of
from baremetal_sched.errors import NotAllowed
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.errors.holds import HoldNotFound, HoldsRefused
from baremetal_sched.scheduling.bookings import replacing
from baremetal_sched.scheduling.capacity import COLUMNS
from baremetal_sched.scheduling.schemas.answers import FLAG, TEXT, TIME, document, of_domain, said
from baremetal_sched.scheduling.schemas.holds import (
    ACTIVE,
    CHANGES,
    DRAINING,
    HOLD_MEMBERS,
    NEW_HOLD,
    NEW_HOLDS,
    PLANNED,
)
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import empty_response, json_response


def _visible(call: Call, session: Session, ident: str) -> Node:
    """Return the node with this UUID or name. Raises NodeNotFound if the caller may not see its holds."""
    return _seen(call, ident, nodes.find(session, ident))


def _changeable(call: Call, session: Session, ident: str, rule: str) -> Node:
    """Return the node with this UUID or name, its row locked. Raises NodeNotFound if the caller does not see it in the
    bare metal API, or may not see its holds, and NotAllowed."""
    node = _seen(call, ident, nodes.find_for_change(session, ident, nodes_by(call, GET_NODE)))
    call.require(rule, target_of(call, node.owner, node.lessee))
    return node


def _seen(call: Call, ident: str, node: Node) -> Node:
    if not reader(call).sees(node.owner, node.lessee):
        raise NodeNotFound(node=ident)
    return node


def _uuid_of(text: str, node: Node) -> str:
    return uuid_of(text, HoldNotFound(hold=text, node=node.uuid))


# -- holds of a node ---------------------------------------------------------------------------------------------------


def list_node_holds(call: Call, session: Session, node: str) -> Response:
    """GET /v1/nodes/{node}/holds"""
    found = _visible(call, session, node)
    return json_response({"maintenance": documents_of(call, session, guards.rows_of(session, found))})


def show_node_hold(call: Call, session: Session, node: str, hold: str) -> Response:
    """GET /v1/nodes/{node}/holds/{hold}"""
    found = _visible(call, session, node)
    return _shown(call, session, found, _uuid_of(hold, found))


def _shown(call: Call, session: Session, node: Node, uuid: str, **members: Any) -> Response:
    """Return the document of a hold, with these members. Raises HoldNotFound if the caller may not see it."""
    documents = documents_of(call, session, [each for each in guards.rows_of(session, node) if each[0].uuid == uuid])
    if not documents:
        raise HoldNotFound(hold=uuid, node=node.uuid)
    return json_response({**documents[0], **members})


def _over_bookings(call: Call, session: Session, nodes: Iterable[int]) -> dict[str, Any]:
    """Return what becomes of bookings of the nodes (ids) as a member of an answer; none if there are none."""
    found = replacing.prospects(session, call.settings, [*nodes])
    return {"bookings": found} if any(found.values()) else {}


def create_node_hold(call: Call, session: Session, node: str) -> Response:
    """POST /v1/nodes/{node}/holds"""
    found = _changeable(call, session, node, ADD)
    values = NEW_HOLD.read(call.json)
    takes_existing, new = values.pop("or_existing", False), NewHold(**values)
    (attempt,) = tried = asserting.attempts(session, [(found, _asserter(call, found, new))], new)
    if takes_existing and attempt.existing is not None:
        return _shown(call, session, found, attempt.existing.uuid)
    asserting.carry_out(session, tried, call.settings)
    made = _document(call, attempt.hold, found.uuid, found.name, is_masked=False, now=holds.now(session))
    made |= _over_bookings(call, session, [found.id])
    return json_response(made, 201, {"Location": made["links"][0]["href"]})


def update_node_hold(call: Call, session: Session, node: str, hold: str) -> Response:
    """PATCH /v1/nodes/{node}/holds/{hold}"""
    found = _changeable(call, session, node, UPDATE)
    changes = CHANGES.read(call.json)
    if "extra" in changes:
        changes["extra"] = changes["extra"] or {}
    uuid = _uuid_of(hold, found)
    actor = actor_of(call, found.owner, found.lessee, UPDATE)
    changing.change(session, found, holds.find(session, found, uuid), changes, actor, call.settings)
    return _shown(call, session, found, uuid, **_over_bookings(call, session, [found.id]))


def delete_node_holds(call: Call, session: Session, node: str) -> Response:
    """DELETE /v1/nodes/{node}/holds"""
    found = _changeable(call, session, node, REMOVE)
    holds.release_all(session, found, actor_of(call, found.owner, found.lessee), call.settings)
    return empty_response()


def delete_node_hold(call: Call, session: Session, node: str, hold: str) -> Response:
    """DELETE /v1/nodes/{node}/holds/{hold}"""
    found = _changeable(call, session, node, REMOVE)
    entry = holds.find(session, found, _uuid_of(hold, found))
    holds.release(session, found, entry, actor_of(call, found.owner, found.lessee), call.settings)
    return empty_response()


def _asserter(call: Call, node: Node, new: NewHold) -> Actor:
    """Return the caller as the asserter of a hold. Raises NotAllowed."""
    scope = scope_of(call, node.owner, node.lessee)
    if scope is None:
        raise NotAllowed(policy=ADD)
    user, project = call.caller.user_id or "", call.caller.project_id or ""
    entry = {"type": new.type, "scope": scope, "asserted_by": user, "asserted_by_project": project}
    call.require(ADD, target_of(call, node.owner, node.lessee, **entry))
    hides = actor_of(call, node.owner, node.lessee).hides
    return Actor(scope, user, project, hides=hides, name=name_of(call))


# -- many nodes --------------------------------------------------------------------------------------------------------


def create_holds(call: Call, session: Session) -> Response:
    """POST /v1/holds"""
    values = NEW_HOLDS.read(call.json)
    tries, skips, takes_existing = (values.pop(name, False) for name in ("dry_run", "skip_refused", "or_existing"))
    chosen = dict(values.pop("filter"))
    new = NewHold(**values)
    idents, domain, visible = chosen.pop("nodes", ()), chosen.pop("domain", None), _addable(call)
    conditions = _conditions(chosen.items())
    if domain is not None:
        conditions.append(naming.contents(session, domain, seen_among(call, visible)))
    nodes = hold_list.select_nodes(session, idents, conditions, visible)
    asserters, refusals = _asserters(call, nodes, new, skips)
    found = {each.node.id: each for each in asserting.attempts(session, asserters, new)}
    kept = {id_: each.existing for id_, each in found.items() if takes_existing and each.existing is not None}
    refusals |= {id_: str(each.refusal) for id_, each in found.items() if each.refusal is not None and id_ not in kept}
    left_out = {*kept, *(refusals if skips else ())}
    made = {} if tries else {id_: each for id_, each in found.items() if id_ not in left_out}
    if skips and not (tries or made or kept):
        raise HoldsRefused(reasons=" ".join(f"{node.name or node.uuid}: {refusals[node.id]}" for node in nodes))
    asserting.carry_out(session, list(made.values()), call.settings)
    answer: dict[str, Any] = {"maintenance": _made_documents(call, session, made.values())}
    if skips or tries or takes_existing:
        now_held = {id_: each.hold for id_, each in made.items()} | kept
        answer["nodes"] = [
            _result(node, now_held.get(node.id), refusals.get(node.id), node.id in kept) for node in nodes
        ]
    answer |= _tried(call, session, found.values()) if tries else _over_bookings(call, session, made)
    return json_response(answer, 201 if made else 200)


def _tried(call: Call, session: Session, attempts: Iterable[Attempt]) -> dict[str, Any]:
    """Return what would become of bookings if the holds that are not refused were asserted. That is done, and undone,
    if one of the nodes is booked."""
    allowed = {each.node.id: each for each in attempts if each.refusal is None}
    booked = session.scalars(select(BOOKED.c.node_id).where(BOOKED.c.node_id.in_(allowed), COUNTS).limit(1)).first()
    if booked is None:
        return {}
    savepoint = session.begin_nested()
    asserting.carry_out(session, [*allowed.values()], call.settings)
    found = _over_bookings(call, session, allowed)
    savepoint.rollback()
    return found


def _made_documents(call: Call, session: Session, made: Iterable[Attempt]) -> list[dict[str, Any]]:
    now = holds.now(session)
    return [_document(call, each.hold, each.node.uuid, each.node.name, is_masked=False, now=now) for each in made]


def _result(node: Node, hold: Hold | None, refusal: str | None, existed: bool) -> dict[str, Any]:
    uuid = None if hold is None else hold.uuid
    return {"uuid": node.uuid, "name": node.name, "hold": uuid, "existing": existed, "refusal": refusal}


def _asserters(
    call: Call, nodes: Iterable[Node], new: NewHold, skips: bool
) -> tuple[list[tuple[Node, Actor]], dict[int, str]]:
    """Return the nodes that the caller may hold, as their asserter; and if it ``skips`` the others, why it may not hold
    them, by id. Raises NotAllowed, of the first node that is not skipped, or if it may hold none."""
    asserters, refusals = [], {}
    for node in nodes:
        try:
            asserters.append((node, _asserter(call, node, new)))
        except NotAllowed as error:
            refusals[node.id] = str(error)
            if not skips:
                raise
    if not asserters:
        raise NotAllowed(policy=ADD)
    return asserters, refusals


def _addable(call: Call) -> Visibility:
    """Return the nodes that the caller sees in the bare metal API. Raises NotAllowed if it may assert no hold."""
    if nodes_by(call, ADD).is_nothing:
        raise NotAllowed(policy=ADD)
    return nodes_by(call, GET_NODE)


def _conditions(chosen: Iterable[tuple[str, str]]) -> list[Any]:
    return [is_exactly(COLUMNS[name].expression, _literal(name, value)) for name, value in chosen]


def _literal(name: str, value: str) -> Any:
    # Conductor groups are stored in lower case.
    return literal(value.lower() if name == "conductor_group" else value, COLUMNS[name].type)


PARAMETERS = {
    **page_of("Holds"),
    "type": said("Only holds of this type.", TEXT),
    "active": said("true: only holds that have begun. false: only those that have not.", FLAG),
    "own": said(
        "true: only holds that callers of the caller's project asserted (without a project: callers of the system). "
        "false: only all others. Those of the types legacy and fault are always others.",
        FLAG,
    ),
    "asserted_by": said(
        "Only holds that this person asserted: the user's id or name, or me. Without authentication, me is everybody "
        "but the service. Holds whose asserter is hidden from the caller are left out.",
        TEXT,
    ),
    "reason": said("Only holds with this reason, the whole text. Empty: only holds without one.", TEXT),
    "extra": said("Only holds whose extra has this member with this value, as KEY=VALUE.", TEXT),
    "since": said("Only holds that end after this time, in ISO 8601 with a time zone, or have no end.", TIME),
    "until": said("Only holds that start before this time, in ISO 8601 with a time zone.", TIME),
    "domain": of_domain("Only holds of nodes"),
    **{name: said(f"Only holds of nodes with this {name.replace('_', ' ')}.", TEXT) for name in COLUMNS},
}


def list_holds(call: Call, session: Session) -> Response:
    """GET /v1/holds"""
    query = Query(call, PARAMETERS)
    visible = seen_by(call)
    equal = [(name, value) for name in COLUMNS if (value := query.text(name)) is not None]
    filters = HoldFilters(
        type=query.text("type"),
        active=query.flag("active"),
        since=seconds_of("since", query.text("since")),
        until=seconds_of("until", query.text("until")),
        own=query.flag("own"),
        project=call.caller.project_id or "",
        reason=query.text("reason"),
        extra=query.pair("extra"),
        asserter=asserter_named(call, query.text("asserted_by")),
        where=[*_conditions(equal), *reader(call).conditions, *in_domain(session, query, visible)],
    )
    page = Page(query.limit(), query.text("marker"))
    rows = hold_list.select_holds(session, filters, page, visible)
    links = query.links("maintenance", [row[0].uuid for row in rows], page.limit)
    return json_response({"maintenance": documents_of(call, session, rows), **links})


def seen_by(call: Call) -> Visibility:
    """Return the nodes whose holds the caller may see. Raises NotAllowed if there can be none."""
    found = reader(call).nodes
    if found.is_nothing:
        raise NotAllowed(policy=GET)
    return found


# -- documents ---------------------------------------------------------------------------------------------------------


def documents_of(call: Call, session: Session, rows: Iterable[HoldRow]) -> list[dict[str, Any]]:
    """Return the holds that the caller may see, masked where they outrank it."""
    now, documents = holds.now(session), []
    for hold, uuid, name, owner, lessee in rows:
        view = view_of(call, owner, lessee)
        if view.sees(hold):
            documents.append(_document(call, hold, uuid, name, is_masked=not view.names(hold), now=now))
    return documents


def _document(call: Call, hold: Hold, node: str, name: str | None, *, is_masked: bool, now: float) -> dict[str, Any]:
    return document(
        HOLD_MEMBERS,
        hold,
        node_uuid=node,
        node_name=name,
        extra=hold.extra or {},
        state=_state(hold, now),
        links=[{"rel": "self", "href": f"{call.base_url}/v1/nodes/{node}/holds/{hold.uuid}"}],
        **(dict.fromkeys(rules.ASSERTER) if is_masked else {}),
    )


def _state(hold: Hold, now: float) -> str:
    if rules.is_active(hold):
        return ACTIVE
    return DRAINING if hold.drain and rules.start_of(hold) <= now else PLANNED
