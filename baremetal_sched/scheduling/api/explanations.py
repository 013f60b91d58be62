"""/v1/explanations"""

from dataclasses import replace

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling.api import explained_requests
from baremetal_sched.scheduling.api.explanation_view import document
from baremetal_sched.scheduling.schemas.explanations import MOST_WANTED
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import json_response

_WANTED = "wanted"


def show_explanation(call: Call, session: Session) -> Response:
    """GET /v1/explanations"""
    wanted = _number([value for name, value in call.query if name == _WANTED])
    pairs = [(name, value) for name, value in call.query if name != _WANTED]
    context = replace(explained_requests.context_of(call, session), wanted=wanted)
    found = explained_requests.of_query(context, pairs)
    shown = document(found)
    return json_response(shown)


def create_explanation(call: Call, session: Session) -> Response:
    """POST /v1/explanations"""
    asked = explained_requests.body_of(call)
    context = explained_requests.context_of(call, session)
    return json_response(document(explained_requests.of_body(context, asked)))


def _number(given: list[str]) -> int:
    if not given:
        return 1
    (text, *others) = given
    if others or not (text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_WANTED))):
        raise InvalidValue(message=f"Expected one integer from 1 to {MOST_WANTED} for {_WANTED}: {', '.join(given)}")
    if not 1 <= int(text) <= MOST_WANTED:
        raise InvalidValue(message=f"Expected one integer from 1 to {MOST_WANTED} for {_WANTED}: {text}")
    return int(text)
