"""A small HTTP client for the APIs, on the standard library. It uses no proxies: the service is on this machine."""

import http.client
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from baremetal_sched.placement.names import resource_class_of

BAREMETAL_VERSION = "1.115"
PLACEMENT_VERSION = "1.39"

#: Longer than any request may take: a busy machine is no failure.
_TIMEOUT_SECONDS = 120
#: Seconds for which a request is repeated, and between two of them.
_RETRY_SECONDS = 300
_PAUSE = 0.5


class DemoFailed(Exception):
    """The demo cannot continue; the message says why."""


@dataclass(frozen=True)
class DemoAnswer:
    """An answer of the service: the status, and the JSON document if there is one."""

    status: int
    body: Any = None

    @property
    def message(self) -> str:
        """Return the message of an error as one line; each API has its own body for it."""
        if not isinstance(self.body, dict):
            return ""
        if "error_message" in self.body:
            fault = json.loads(self.body["error_message"])
            text = fault.get("faultstring") or fault.get("description") or ""
        elif "error" in self.body:
            text = self.body["error"].get("message") or ""
        else:
            text = " ".join(error.get("detail", "") for error in self.body.get("errors", ()))
        return " ".join(text.split())


class DemoClient:
    """Requests to the service at ``url``, each with its own connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._address = urlsplit(url).netloc

    def baremetal(self, method: str, path: str, body: Any = None, *, version: str = BAREMETAL_VERSION) -> DemoAnswer:
        """Send a request to ``/baremetal/v1<path>``."""
        return self.send(method, f"/baremetal/v1{path}", body, {"X-OpenStack-Ironic-API-Version": version})

    def placement(self, method: str, path: str, body: Any = None) -> DemoAnswer:
        """Send a request to ``/placement<path>``."""
        headers = {"OpenStack-API-Version": f"placement {PLACEMENT_VERSION}"}
        return self.send(method, f"/placement{path}", body, headers)

    def scheduling(self, method: str, path: str, body: Any = None) -> DemoAnswer:
        """Send a request to ``/scheduling/v1<path>``."""
        return self.send(method, f"/scheduling/v1{path}", body, {})

    def send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> DemoAnswer:
        """Send a request, again as long as the answer is 503: nothing was done then, and it may succeed in a moment.

        Raises DemoFailed if there is no answer, or no readable one.
        """
        until = time.monotonic() + _RETRY_SECONDS
        while (answer := self._send_once(method, path, body, headers)).status == 503 and time.monotonic() < until:
            time.sleep(_PAUSE)
        return answer

    def _send_once(self, method: str, path: str, body: Any, headers: dict[str, str]) -> DemoAnswer:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", **headers}
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            content = response.read()
            return DemoAnswer(response.status, json.loads(content) if content else None)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DemoFailed(f"{method} {path}: {error or type(error).__name__}") from error
        finally:
            connection.close()


@dataclass(frozen=True)
class DemoMachine:
    """A node of the file: its ``fields`` as in the file, and what the demo looks at.

    ``maintenance``: the reason for maintenance; None if the node is not in maintenance.
    """

    fields: dict[str, Any]
    name: str
    group: str
    resource_class: str
    maintenance: str | None
    traits: frozenset[str]


@dataclass(frozen=True)
class Wish:
    """A request to placement: one machine of a class, with conditions on its traits."""

    resource_class: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """Return the query string of ``GET /allocation_candidates``."""
        terms = [*self.required, *(f"!{trait}" for trait in self.forbidden)]
        pairs = [("resources", f"{resource_class_of(self.resource_class)}:1")]
        pairs += [("required", ",".join(terms))] if terms else []
        pairs += [("required", "in:" + ",".join(self.any_of))] if self.any_of else []
        return urlencode(pairs, safe=":,!")

    def answer(self, machines: Iterable[DemoMachine]) -> set[str]:
        """Return the names of the machines that placement must offer while none is claimed."""
        return {
            machine.name
            for machine in machines
            if machine.resource_class == self.resource_class
            and not machine.maintenance
            and machine.traits.issuperset(self.required)
            and machine.traits.isdisjoint(self.forbidden)
            and (not self.any_of or not machine.traits.isdisjoint(self.any_of))
        }


def load() -> list[DemoMachine]:
    """Return the sample fleet."""
    text = files(__package__).joinpath("fleet.yaml").read_text(encoding="utf-8")
    return [
        DemoMachine(
            fields,
            fields["name"],
            fields["conductor_group"],
            fields["resource_class"],
            fields["extra"].get("maintenance"),
            frozenset(fields["extra"]["traits"]),
        )
        for fields in yaml.safe_load(text)["nodes"]
    ]
