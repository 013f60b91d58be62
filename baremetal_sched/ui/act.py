"""/confirm and /act: what an action will do, and doing it: one request of an API for each item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from urllib.parse import quote

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors import InvalidError, NotFoundError
from baremetal_sched.ui import hold_owners, inner_requests
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.inner_requests import InnerAnswer
from baremetal_sched.ui.orders import MOST_ITEMS, ActionOrder, OrderWords, TooManyTicked, names_of, order_of, words_of
from baremetal_sched.ui.rendering import MOST_SAID, SAID, page, url_of
from baremetal_sched.web.http_errors import BadRequest, message_of

#: Seconds before the deadline of the page from which on no further item is begun.
RESERVE = 2.0

_NOT_YOURS = "Nothing was done: all the ticked rows are held by others. Choose all of them to go on."


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
    """GET and POST /confirm: changes nothing. 400 with the rows to choose from if too many are ticked. Raises
    InvalidValue."""
    try:
        order = order_of(call)
    except TooManyTicked as error:
        names = names_of(call, session, error.order)
        return page(call, "too_many.html", 400, order=error.order, names=names, most=MOST_ITEMS, complaint=str(error))
    return _confirmation(call, order, words_of(call, session, order))


def act(call: UiCall, session: None) -> Response:
    """POST /act: 303 to the page that it was chosen on; a page about the items if not all of it was done. Raises
    InvalidValue."""
    order = order_of(call)
    words = call.database.read(lambda reader: words_of(call, reader, order), deadline=call.deadline)
    kept = {} if order.values.get("whose") == hold_owners.ALL else words.others
    results = [ItemResult(item, _done(call, order, item, words)) for item in order.items if item not in kept]
    if not results:
        return _confirmation(call, order, words, 409, _NOT_YOURS)
    if all(each.is_done for each in results):
        return _redirect(call, order, results, words.names, kept)
    refused = results[0].answer
    if len(results) == 1 and refused is not None:
        return _confirmation(call, order, words, refused.status, refused.message)
    left = tuple(each.item for each in results if each.answer is None)
    return page(
        call,
        "results.html",
        200 if any(each.is_done for each in results) else 409,
        order=order,
        names=words.names,
        results=results,
        left=replace(order, items=left),
        kept=hold_owners.in_words(kept),
    )


def _done(call: UiCall, order: ActionOrder, item: str, words: OrderWords) -> InnerAnswer | None:
    """Do it, and return the answer; None if the deadline of the page is near."""
    if call.deadline is not None and monotonic() > call.deadline - RESERVE:
        return None
    if order.name == "give back" and words.stopped is not None and item not in words.stopped.items:
        # The API says nothing of claims that are not there, or are not the caller's.
        return InnerAnswer(404, message=f"There is no claim {item[:255]} with a machine that you may see.")
    try:
        path, body = order.action.path(item), order.action.body(item, order.values)
    except (InvalidError, NotFoundError, BadRequest) as error:
        return InnerAnswer(400, message=message_of(error))
    return inner_requests.send(call, order.action.method, path, body)


def _redirect(
    call: UiCall,
    order: ActionOrder,
    results: Sequence[ItemResult],
    names: Mapping[str, str],
    kept: Mapping[str, str],
) -> Response:
    """Return to the page, or to the claim that was made; it says once, by a cookie, what was done."""
    url, place, done = url_of(call.mount), order.back, order.action.done
    answer = results[0].answer
    if order.name == "claim" and answer is not None:
        waits = answer.status == 202
        place = url("waiting") if waits else url("claims", query={"uuid": answer.document["uuid"]})
        done = "It waits for a machine." if waits else "Claimed."
    if order.name == "book" and answer is not None:
        place = url("bookings", answer.document["uuid"])
    if order.name in ("cancel booking", "end booking"):
        place = url("bookings")  # the page of the booking is gone
    finished = replace(order, items=tuple(each.item for each in results))
    count = finished.counted if len(results) > 1 else names[results[0].item]
    response = Response("", 303, {"Location": place})
    outcome = order.action.outcome
    if outcome is not None and answer is not None and len(results) == 1:
        done = outcome(answer.document)
    left = f" Left as they are: {hold_owners.in_words(kept)}" if kept else ""
    said = quote(f"{count[:255]}: {done}{left[:200]}"[:MOST_SAID], safe="")
    response.set_cookie(
        SAID, said, max_age=60, path=call.mount, secure=call.http.is_secure, httponly=True, samesite="Strict"
    )
    return response


def _confirmation(
    call: UiCall, order: ActionOrder, words: OrderWords, status: int = 200, complaint: str | None = None
) -> Response:
    given: dict[str, Any] = {name: value for name, value in order.values.items() if name != "password"}
    others = hold_owners.in_words(words.others)
    return page(call, "confirm.html", status, order=order, words=words, given=given, complaint=complaint, others=others)
