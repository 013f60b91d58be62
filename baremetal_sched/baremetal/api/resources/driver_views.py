"""Views that let the driver of a node answer a question, or do something at once."""

from collections.abc import Mapping
from typing import Any, NoReturn

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.conductors import driver_calls
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.route import View


def answering(method: str, member: str | None = None, *, reserves: bool = False) -> View:
    """Return the view that answers with the result of ``method`` of the node's driver, as ``member`` of a document.

    ``reserves``: the node is reserved during the call.
    """

    def view(call: BaremetalCall, session: Session, ident: str) -> Response:
        call.refuse_query()
        found = ask(call, session, ident, method, reserves=reserves)
        return json_response(found if member is None else {member: found})

    return view


def ask(
    call: BaremetalCall,
    session: Session,
    ident: str,
    method: str,
    arguments: Mapping[str, Any] = driver_calls.NO_ARGUMENTS,
    *,
    reserves: bool = False,
) -> Any:
    """Return the result of ``method`` of the driver of the node that the path names.

    Raises Unanswered if the driver has not been asked yet, and like ``BaremetalCall.node_with_conductor``.
    """
    node = call.node_with_conductor(session, ident)
    return driver_calls.answer(session, node, call.membership(session), method, arguments, reserves=reserves)


def order(
    call: BaremetalCall,
    session: Session,
    ident: str,
    method: str,
    arguments: Mapping[str, Any] = driver_calls.NO_ARGUMENTS,
) -> NoReturn:
    """Have ``method`` of the driver of the node that the path names called once; the answer has no body.

    Raises Unanswered, and like ``BaremetalCall.node_to_change``.
    """
    node = call.node_to_change(session, ident)
    driver_calls.order(node, call.membership(session), method, arguments, lambda result: empty_response(204))
