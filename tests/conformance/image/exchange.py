"""The answers to the steps of a scenario, in a form in which two services can be compared."""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.conformance.image.scenario import Step

#: Sends method, path, body and headers; returns status, media type, headers and the text of the answer.
Send = Callable[[str, str, bytes, Mapping[str, str]], tuple[int, str, Mapping[str, str], str]]

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ORIGIN = re.compile(r"https?://[^/\"]+(/image)?(?=/v2/)")
#: What stands for the owner where nobody is authenticated.
_NO_OWNER = "00000000-0000-0000-0000-000000000000"
_HEADERS = ("Allow", "Location", "OpenStack-image-import-methods", "Accept-Patch")
#: What WebOb says if the message comes second.
_GENERAL = ("Access was denied to this resource.", "There was a conflict when trying to complete your request.")


def play(steps: Iterable[Step], send: Send) -> Iterator[dict[str, Any]]:
    """The answers to the steps, one after the other."""
    ids: dict[str, str] = {}
    for step in steps:
        body = step.body if isinstance(step.body, str) else "" if step.body is None else json.dumps(step.body)
        headers = {"Accept": "*/*"}
        if step.body is not None:
            headers["Content-Type"] = step.media_type
        status, media_type, given, text = send(
            step.method, _filled(step.path, ids), _filled(body, ids).encode(), headers
        )
        if step.saves:
            ids[step.saves] = json.loads(text)["id"]
        known = {name: _named(given[name], ids) for name in _HEADERS if name in given}
        yield {"status": status, "headers": known, "body": _body(media_type, _named(text, ids))}


def _filled(text: str, ids: Mapping[str, str]) -> str:
    for name, uuid in ids.items():
        text = text.replace(f"{{{name}}}", uuid)
    return text


def _named(text: str, ids: Mapping[str, str]) -> str:
    for name, uuid in ids.items():
        text = text.replace(uuid, f"{{{name}}}")
    return _STAMP.sub("STAMP", _ORIGIN.sub("HOST", text)).replace(f'"{_NO_OWNER}"', "null")


def _body(media_type: str, text: str) -> Any:
    """A JSON document, or the first line of an error's message."""
    if media_type == "application/json":
        return json.loads(text)
    match = re.search(r"</h1>\s*(.*?)<br /><br />\s*(.*?)\s*</body>", text, re.DOTALL)
    if match is None:
        return None
    message = match[2] if match[1].strip() in _GENERAL else match[1]
    return html.unescape(message).strip().split("\n")[0]
