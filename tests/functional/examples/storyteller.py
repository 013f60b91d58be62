"""Makes the requests of a story, and writes down what was sent and answered."""

import json
from collections.abc import Mapping
from typing import Any

from baremetal_sched.web.microversions import STANDARD_HEADER
from tests.functional.examples.exchange import Constants, answer_text, request_text, shortened
from tests.reference import MICROVERSIONS, example_name
from tests.service import ADMINISTRATOR, LATEST, Service

HOST = "baremetal.example.org"
JSON = "application/json"

#: The headers of every request: they select the latest microversion, and errors as JSON.
HEADERS: Mapping[str, Mapping[str, str]] = {
    **{api: {STANDARD_HEADER: f"{api} {each.newest}"} if each else {} for api, each in MICROVERSIONS.items()},
    "baremetal": {"X-OpenStack-Ironic-API-Version": LATEST},
    "image": {"Accept": JSON},
}


class Storyteller:
    """Tells the story of an API: ``ask`` makes a request that becomes an example, ``prepare`` one that does not."""

    def __init__(self, service: Service, api: str) -> None:
        self.service = service
        self.api = api
        #: The examples, by the name of their file.
        self.told: dict[str, str] = {}
        self._constants = Constants()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        /,
        *,
        query: str = "",
        kind: str = JSON,
        status: int | str = "2*",
        longest: int | None = None,
        sort_keys: bool = False,
        version: str | None = None,
        **names: str,
    ) -> Any:
        """Make the request that is the example of ``path``, a path of the reference with ``names`` for its parameters.

        Returns the answer's document. ``longest`` is how many entries of each list and object the example shows;
        with ``sort_keys`` it shows objects in the order of their keys, because the service does not order them;
        ``version`` is an older microversion.
        """
        name = example_name(method, path)
        assert name not in self.told, f"{method} {path} has its example already"
        address = path.format(**names) + (f"?{query}" if query else "")
        asked = {} if version is None else {"OpenStack-API-Version": f"{self.api} {version}"}
        headers = {**HEADERS[self.api], **asked, **({} if body is None else {"Content-Type": kind})}
        answer = self._send(method, address, body, headers, status)
        document = _document(answer)
        shown = json.loads(json.dumps(document, sort_keys=sort_keys))
        shown = shown if longest is None else shortened(shown, longest)
        text = request_text(method, f"/{self.api}{address}", {"Host": HOST, **headers}, body)
        text += "\n" + answer_text(answer.status_code, answer.headers, shown)
        self.told[name] = self._constants.replace(text)
        return document

    def prepare(self, method: str, path: str, body: Any = None, *, kind: str = JSON, version: str | None = None) -> Any:
        """Make a request that the story needs; returns the answer's document."""
        asked = {} if version is None else {"OpenStack-API-Version": f"{self.api} {version}"}
        headers = {**HEADERS[self.api], **asked, **({} if body is None else {"Content-Type": kind})}
        if version is not None:
            headers["X-OpenStack-Ironic-API-Version"] = version
        answer = self._send(method, path, body, headers, "2*")
        return _document(answer)

    def work(self) -> None:
        """Let the conductor do all that is pending."""
        self.service.work()

    def _send(self, method: str, address: str, body: Any, headers: Mapping[str, str], status: int | str) -> Any:
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return self.service.http.request(
            f"/{self.api}{address}",
            method=method,
            headers={"Host": HOST, **headers, **(ADMINISTRATOR if self.api == "baremetal" else {})},
            body=data,
            status=status,
        )


def _document(answer: Any) -> Any:
    """The answer: JSON, text of another kind, or nothing."""
    if not answer.body:
        return None
    return json.loads(answer.text) if "json" in answer.headers["Content-Type"] else answer.text
