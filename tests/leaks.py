"""Watches every test: what was sent as a secret appears in no line of a log, and in no answer.

Requests are watched where tests make them, in process (WebTest) and over HTTP (requests); lines are watched as the
service formats them. A secret is what has the name of one, or stands in a header for one, unless it is a plain word,
which may be said for another reason. ``@pytest.mark.shows_secrets`` is for tests of answers that repeat a secret to
whom it belongs; logs never do.
"""

import base64
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import requests
import webtest

from baremetal_sched import logs

#: Not asked of the service itself, which may be wrong.
_NAMES = re.compile(
    r"pass(word|wd)?$|secret|token|credential|private_?key|community|(auth|priv|kg)_key|configdrive|AdminPass"
)
_HEADERS = ("X-Auth-Token", "X-Service-Token", "X-Subject-Token", "X-OpenStack-Ironic-Agent-Token")
#: Tests that make requests up send the identifiers of things in the place of secrets.
_IDENTIFIER = re.compile(r"\W?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
_SHORTEST = 6
_LONGEST = 1000
_LARGEST = 10_000


class Watch(logging.Handler):
    """Remembers the secrets that are sent, and where one is said again."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()
        self.found: list[str] = []
        self.answers_may = False

    def begin(self, *, answers_may: bool) -> None:
        """Forget the test before; ``answers_may`` repeat secrets in this one."""
        self.secrets = set()
        self.found = []
        self.answers_may = answers_may

    def emit(self, record: logging.LogRecord) -> None:
        """Search a line of the log."""
        if self.secrets:
            self._search(f"log of {record.name}", logs.formatter().format(record))

    def asked(self, headers: Mapping[str, Any], body: bytes | str | None) -> None:
        """Note the secrets of a request."""
        # With roles of its own, as under noauth2, the token is the name of who calls, which logs say.
        names_caller = "X-Roles" in headers
        for name in _HEADERS:
            if name != "X-Auth-Token" or not names_caller:
                self._plant(headers.get(name))
        scheme, _, encoded = str(headers.get("Authorization", "")).partition(" ")
        if scheme == "Basic":
            self._plant(base64.b64decode(encoded).decode(errors="replace").partition(":")[2])
        if body:
            with suppress(ValueError, RecursionError):
                self._walk(json.loads(body))

    def told(self, settings: Mapping[str, Any]) -> None:
        """Note the secrets of settings."""
        self._walk({group: dict(values) for group, values in settings.items()})

    def answered(self, request: str, text: str) -> None:
        """Search an answer."""
        if not self.answers_may:
            self._search(f"answer to {request}", text)

    def assert_silent(self, where: str, text: str) -> None:
        """Fail if ``text`` has one of the secrets."""
        before = len(self.found)
        self._search(where, text)
        assert self.found[before:] == []

    def _plant(self, value: Any) -> None:
        if not isinstance(value, str) or not _SHORTEST <= len(value) <= _LONGEST:
            return
        if not (value.isalpha() or "*" in value or _IDENTIFIER.fullmatch(value)):
            self.secrets.add(value)

    def _walk(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._walk(each)
        elif isinstance(value, dict):
            for name, each in value.items():
                if _NAMES.search(name):
                    self._plant(each)
                self._walk(each)
            if _NAMES.search(str(value.get("path", ""))):
                self._plant(value.get("value"))

    def _search(self, where: str, text: str) -> None:
        for secret in self.secrets:
            if secret in text:
                start = text.index(secret)
                self.found.append(f"{where}: {text[max(0, start - 200) : start + len(secret) + 20]}")


WATCH = Watch()


@contextmanager
def watched() -> Iterator[None]:
    """Watch all requests, and all that is logged."""
    in_process, over_http = webtest.TestApp.do_request, requests.adapters.HTTPAdapter.send

    def do_request(app: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        # A large body would go through a file.
        WATCH.asked(request.headers, request.body if (request.content_length or 0) <= _LARGEST else None)
        answer = in_process(app, request, *arguments, **named)
        WATCH.answered(f"{request.method} {request.environ['PATH_INFO']}", answer.body.decode(errors="replace"))
        return answer

    def send(adapter: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        WATCH.asked(request.headers, request.body if isinstance(request.body, bytes | str) else None)
        return over_http(adapter, request, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webtest.TestApp, "do_request", do_request)
        patch.setattr(requests.adapters.HTTPAdapter, "send", send)
        yield
