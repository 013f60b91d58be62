"""The answers of Glance 33 to a scenario, and the answers of this service."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance.image.exchange import play
from tests.conformance.image.scenario import STEPS, Step
from tests.service import Service

RECORDED = json.loads(Path(__file__).with_name("exchanges.json").read_text())

#: What is known of data, once there are any, which there are not here; and what the schema says of several locations.
NOT_COMPARED = ("size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value", "locations")


def test_as_glance(service: Service) -> None:
    def send(
        method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str, Mapping[str, str], str]:
        answer = service.http.request(
            f"/image{path}", method=method, body=body, headers=dict(headers), expect_errors=True
        )
        return answer.status_int, answer.content_type or "", answer.headers, answer.text

    answered = list(play(STEPS, send))
    assert len(answered) == len(RECORDED)
    wrong = [
        f"{step.method} {step.path} {step.body}\n  Glance: {original}\n  here:   {ours}"
        for step, original, ours in zip(STEPS, RECORDED, answered, strict=True)
        if not matches(step, original, ours)
    ]
    assert not wrong, "\n".join(wrong)


def matches(step: Step, original: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Return whether an answer is that of Glance, differences aside that are documented."""
    if ours["status"] != original["status"] or ours["headers"] != original["headers"]:
        return False
    if isinstance(original["body"], str) and isinstance(ours["body"], str):
        return step.own_words or ours["body"].startswith(original["body"])
    return bool(comparable(ours["body"]) == comparable(original["body"]))


def comparable(document: Any) -> Any:
    """A document without what is different on purpose: what is known of data, texts of schemas, and orders."""
    match document:
        case dict():
            shown = {name: comparable(value) for name, value in document.items() if name not in NOT_COMPARED}
            return {name: value for name, value in shown.items() if name != "description" or isinstance(value, dict)}
        case list() if all(isinstance(item, str | None) for item in document):
            return sorted(document, key=str)
        case list() if all(isinstance(item, dict) and "status" in item and "links" in item for item in document):
            return sorted(map(comparable, document), key=lambda version: str(version["id"]))
        case list():
            return [comparable(item) for item in document]
        case _:
            return document
