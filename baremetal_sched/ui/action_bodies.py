"""The bodies of the requests that actions of pages are, made of an item and of the fields of a form."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from baremetal_sched.baremetal.matching.spreading import MOST as MOST_AT_ONCE
from baremetal_sched.errors import InvalidValue
from baremetal_sched.ui.find.form import read
from baremetal_sched.web.body import parse_json
from baremetal_sched.web.http_errors import BodyTooDeep

#: The values of a form's fields by their names.
Values = Mapping[str, str]
#: The JSON document of a request.
Body = dict[str, Any]

#: Levels of brackets in steps, as a document is written by recursion.
_STEPS_DEPTH = 64


def hold(item: str, values: Values) -> Body:
    """Return a new hold. Raises InvalidValue without a reason."""
    if not values.get("reason"):
        raise InvalidValue(message="Give a reason: others read it before they use or release the machine.")
    body: Body = {"type": values.get("type", ""), "reason": values["reason"], "drain": "drain" in values}
    body |= {name: _in_utc(values[field]) for field, name in _TIMES.items() if values.get(field)}
    return body | ({"extra": {"ticket": values["ticket"]}} if values.get("ticket") else {})


#: The members of a hold by the fields of its form.
_TIMES = {"start": "starts_at", "until": "ends_at", "deadline": "drain_deadline"}


def hold_domain(item: str, values: Values) -> Body:
    """Return a hold of the machines of a domain. Raises InvalidValue without a reason."""
    return {**hold(item, values), "filter": {"domain": item}, "skip_refused": "skip_refused" in values}


def _in_utc(text: str) -> str:
    """Return a time without a zone, which the form has in UTC, as the API takes it; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def maintenance(item: str, values: Values) -> Body:
    """Return the reason of a maintenance, if there is one."""
    return {"reason": values["reason"]} if values.get("reason") else {}


def target(target: str, item: str, values: Values) -> Body:
    """Return the body of a change of the power or provision state, with the password or the steps if it has any.
    Raises InvalidValue for steps that are no JSON."""
    body: Body = {"target": target}
    if "password" in values:
        body["rescue_password"] = values["password"]
    if "steps" in values:
        try:
            body[f"{target}_steps"] = parse_json(values["steps"].encode(), _STEPS_DEPTH)
        except (ValueError, BodyTooDeep):
            example = '[{"interface": "deploy", "step": "erase_devices"}]'
            raise InvalidValue(message=f"The steps must be a list in JSON, such as {example}") from None
    return body


def claim(item: str, values: Values) -> Body:
    """Return the claim of what a form that finds machines asks for. Raises InvalidValue."""
    end: Body = {"for": 3600 * _whole(values, "hours")} if values.get("hours") else {}
    end |= {"until": _in_utc(values["until"])} if values.get("until") else {}
    end |= {"booking": values["booking"]} if values.get("booking") else {}
    return {**_found(item), **end, "wait": 60 * _whole(values, "minutes")}


def booking(item: str, values: Values) -> Body:
    """Return the booking of what a form that finds machines asks for. Raises InvalidValue."""
    length: Body = {"for": 3600 * _whole(values, "hours")} if values.get("hours") else {}
    return {**_found(item), **length, **_of_booking(values)}


def changed_booking(item: str, values: Values) -> Body:
    """Return what changes of a booking: what is not empty. Raises InvalidValue."""
    return _of_booking(values) | ({"count": _whole(values, "count")} if values.get("count") else {})


def _of_booking(values: Values) -> Body:
    times = {"start": "starts_at", "until": "ends_at"}
    body: Body = {name: _in_utc(values[field]) for field, name in times.items() if values.get(field)}
    return body | ({"name": values["name"]} if values.get("name") else {})


def _found(item: str) -> Body:
    """Return what a form that finds machines asks for, as bodies of claims have it. Raises InvalidValue."""
    form = read(parse_qsl(item, keep_blank_values=True))
    if form is None:
        raise InvalidValue(message="Fill in the form that finds machines first.")
    body = form.claim()
    if body is None:
        raise InvalidValue(message=f"Claim at most {MOST_AT_ONCE} machines at once.")
    return body


def _whole(values: Values, name: str) -> int:
    """Return the whole number in the field, which is called by its unit; 0 if it is empty. Raises InvalidValue."""
    text = values.get(name) or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidValue(message=f"Expected a number of {name}: {text[:64]}")
    return int(text)


def end(item: str, values: Values) -> Body:
    """Return the new end of a claim: null if the field is empty."""
    return {"until": _in_utc(values["until"]) if values.get("until") else None}
