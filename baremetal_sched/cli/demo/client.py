"""A small HTTP client for both APIs, on the standard library. It uses no proxies: the service is on this machine."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

BAREMETAL_VERSION = "1.115"
PLACEMENT_VERSION = "1.39"

_TIMEOUT_SECONDS = 30


class DemoFailed(Exception):
    """The demo cannot continue; the message says why."""


@dataclass(frozen=True)
class Answer:
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
        else:
            text = " ".join(error.get("detail", "") for error in self.body.get("errors", ()))
        return " ".join(text.split())


class Client:
    """Requests to the service at ``url``, each with its own connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._address = urlsplit(url).netloc

    def baremetal(self, method: str, path: str, body: Any = None, *, version: str = BAREMETAL_VERSION) -> Answer:
        """Send a request to ``/baremetal/v1<path>``."""
        return self.send(method, f"/baremetal/v1{path}", body, {"X-OpenStack-Ironic-API-Version": version})

    def placement(self, method: str, path: str, body: Any = None) -> Answer:
        """Send a request to ``/placement<path>``."""
        headers = {"OpenStack-API-Version": f"placement {PLACEMENT_VERSION}"}
        return self.send(method, f"/placement{path}", body, headers)

    def send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
        """Send a request. Raises DemoFailed if there is no answer, or no readable one."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", **headers}
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            content = response.read()
            return Answer(response.status, json.loads(content) if content else None)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DemoFailed(f"{method} {path}: {error or type(error).__name__}") from error
        finally:
            connection.close()
