"""/confirm and /act: what an action will do, and doing it: one request of an API for each item."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from urllib.parse import quote

from flask import Response
from sqlalchemy import false, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.api.resources.hold_actors import view_of
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.db.models import Hold, Node, Webhook
from baremetal_sched.errors import InvalidError, InvalidValue, NotFoundError
from baremetal_sched.scheduling.api import webhooks
from baremetal_sched.scheduling.api.capacity import visible_to
from baremetal_sched.ui import hold_owners, inner_requests
from baremetal_sched.ui.actions import ACTIONS, PageAction, Values
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.guard import page_below
from baremetal_sched.ui.inner_requests import InnerAnswer
from baremetal_sched.ui.rendering import MOST_SAID, SAID, page, url_of
from baremetal_sched.web.http_errors import BadRequest, message_of

#: The number of items of one action.
MOST_ITEMS = 100
#: Seconds before the deadline of the page from which on no further item is begun.
RESERVE = 2.0


@dataclass(frozen=True)
class ActionOrder:
    """An action and its items, the address of the page that it was chosen on, and the fields of its form."""

    name: str
    action: PageAction
    items: tuple[str, ...]
    back: str
    values: Values


@dataclass(frozen=True)
class ItemResult:
    """The answer about one item; None: the deadline of the page did not let it begin."""

    item: str
    answer: InnerAnswer | None

    @property
    def is_done(self) -> bool:
        """Return whether the API did it."""
        return self.answer is not None and self.answer.is_done


def show_confirmation(call: UiCall, session: Session) -> Response:
    """GET and POST /confirm: changes nothing. Raises InvalidValue."""
    order = _order(call)
    others = hold_owners.of_others(call, session, order.name, order.items)
    return _confirmation(call, order, _names(call, session, order), others)


def act(call: UiCall, session: None) -> Response:
    """POST /act: 303 to the page that it was chosen on; a page about the items if not all of it was done. Raises
    InvalidValue."""
    order = _order(call)
    names, others = call.database.read(
        lambda reader: (
            _names(call, reader, order),
            hold_owners.of_others(call, reader, order.name, order.items),
        ),
        deadline=call.deadline,
    )
    kept = {} if order.values.get("whose") == hold_owners.ALL else others
    results = [ItemResult(item, _done(call, order, item)) for item in order.items if item not in kept]
    if not results:
        return _confirmation(call, order, names, others, 409, _NOT_YOURS)
    if all(each.is_done for each in results):
        return _redirect(call, order, results, names, kept)
    refused = results[0].answer
    if len(results) == 1 and refused is not None:
        return _confirmation(call, order, names, others, refused.status, refused.message)
    status = 200 if any(each.is_done for each in results) else 409
    left = tuple(each.item for each in results if each.answer is None)
    return page(
        call,
        "results.html",
        status,
        order=order,
        names=names,
        results=results,
        left=replace(order, items=left),
        kept=hold_owners.in_words(kept),
    )


_NOT_YOURS = "Nothing was done: all the ticked rows are held by others. Choose all of them to go on."


def _order(call: UiCall) -> ActionOrder:
    pairs = list(call.form.items(multi=True)) if call.http.method == "POST" else call.query
    typed = dict(pairs)
    name = typed.get("action", "").strip()
    action = ACTIONS.get(name)
    if action is None:
        raise InvalidValue(message="Choose an action.")
    unknown = sorted({name for name, _ in pairs} - {"action", "item", "back", "csrf_token"} - action.names)
    if unknown:
        raise InvalidValue(message=f"Unexpected fields: {', '.join(unknown)}")
    items = tuple(dict.fromkeys(value for name, value in pairs if name == "item"))
    if not items:
        raise InvalidValue(message="Tick at least one row, then choose the action again.")
    if len(items) > MOST_ITEMS:
        raise InvalidValue(message=f"{len(items)} rows are ticked. Tick at most {MOST_ITEMS}.")
    passwords = {each.name for each in action.fields if each.kind == "password"}
    values = {field: text if field in passwords else text.strip() for field, text in typed.items()}
    return ActionOrder(name, action, items, page_below(call, values.get("back", "")), values)


def _done(call: UiCall, order: ActionOrder, item: str) -> InnerAnswer | None:
    """Do it, and return the answer; None if the deadline of the page is near."""
    if call.deadline is not None and monotonic() > call.deadline - RESERVE:
        return None
    try:
        path, body = order.action.path(item), order.action.body(item, order.values)
    except (InvalidError, NotFoundError, BadRequest) as error:
        return InnerAnswer(400, message=message_of(error))
    return inner_requests.send(call, order.action.method, path, body)


def _redirect(
    call: UiCall, order: ActionOrder, results: Sequence[ItemResult], names: dict[str, str], kept: dict[str, str]
) -> Response:
    """Return to the page; it says once, by a cookie, what was done."""
    url, place = url_of(call.mount), order.back
    answer = results[0].answer
    if order.name == "claim" and answer is not None:
        place = url("waiting") if answer.status == 202 else url("search", query={"q": answer.document["uuid"]})
    count = f"{len(results)} rows" if len(results) > 1 else names[results[0].item]
    response = Response("", 303, {"Location": place})
    done, outcome = order.action.done, order.action.outcome
    if outcome is not None and answer is not None and len(results) == 1:
        done = outcome(answer.document)
    left = f" Left as they are: {hold_owners.in_words(kept)}" if kept else ""
    said = quote(f"{count[:255]}: {done}{left[:200]}"[:MOST_SAID], safe="")
    response.set_cookie(
        SAID, said, max_age=60, path=call.mount, secure=call.http.is_secure, httponly=True, samesite="Strict"
    )
    return response


def _confirmation(
    call: UiCall,
    order: ActionOrder,
    names: dict[str, str],
    others: dict[str, str],
    status: int = 200,
    complaint: str | None = None,
) -> Response:
    given: dict[str, Any] = {name: value for name, value in order.values.items() if name != "password"}
    return page(
        call,
        "confirm.html",
        status,
        order=order,
        names=names,
        given=given,
        complaint=complaint,
        others=hold_owners.in_words(others),
    )


def _names(call: UiCall, session: Session, order: ActionOrder) -> dict[str, str]:
    """Return what people call the items: the names of nodes and webhooks that the caller sees, and the types of their
    holds that it sees; domains as LEVEL:NAME. Three statements at most."""
    items = order.items
    if order.name == "hold domain":
        seen_domains = visible_to(call).conditions() if sees_domains(call) else (false(),)
        return {item: item for item in items} | naming.called(session, items, seen_domains)
    wanted = [part for item in items for part in item.split("/", 1)]
    query = select(Node.uuid, Node.name).where(Node.uuid.in_(wanted), *call.visible.conditions())
    nodes: dict[str, str] = {uuid: name or uuid for uuid, name in session.execute(query)}
    holds: dict[str, str] = {}
    if any("/" in item for item in items) and nodes:
        chosen = select(Hold, Node.owner, Node.lessee).join(Node, Node.id == Hold.node_id)
        rows = session.execute(chosen.where(Hold.uuid.in_(wanted), Node.uuid.in_(nodes)))
        seen = ((hold, view_of(call, owner, lessee)) for hold, owner, lessee in rows)
        holds = {hold.uuid: rules.in_words(hold, view) for hold, view in seen if view.sees(hold)}
    if any(item.startswith("webhook/") for item in items):
        visible = webhooks.visible_to(call)
        hooks = session.execute(select(Webhook.uuid, Webhook.name).where(Webhook.uuid.in_(wanted), *visible))
        nodes |= {uuid: name or uuid for uuid, name in hooks}
    return {item: ", ".join(_called(item, nodes, holds)) for item in items}


def _called(item: str, nodes: dict[str, str], holds: dict[str, str]) -> Iterator[str]:
    for part in item.split("/", 1):
        yield nodes.get(part) or holds.get(part) or part
