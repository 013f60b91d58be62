"""The service with users who log in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from webtest import TestResponse

from tests.service import Service


class Cloud:
    """The service with users, each of whom has a password."""

    def __init__(self, service: Service, passwords: dict[str, str]) -> None:
        self.service = service
        self._passwords = passwords
        self.nodes: dict[str, str] = {}
        self.servers: dict[str, str] = {}

    @contextmanager
    def by(self, name: str) -> Iterator[Service]:
        """Requests are this user's."""
        self.service.http.authorization = ("Basic", (name, self._passwords[name]))
        yield self.service
        self.service.http.authorization = None

    def status(self, name: str, method: str, path: str, body: Any = None) -> int:
        """The answer to the user."""
        return self.ask(name, method, path, body).status_int

    def ask(self, name: str, method: str, path: str, body: Any = None, **more: str) -> TestResponse:
        """The answer to a request of the user, with ``more`` headers."""
        api = path.split("/")[1]
        versions = {"placement": "placement 1.39", "compute": "compute 2.100"}
        headers = {"X-OpenStack-Ironic-API-Version": "1.115", "OpenStack-API-Version": versions.get(api, ""), **more}
        with self.by(name) as service:
            call = service.http.request if body is None else getattr(service.http, f"{method.lower()}_json")
            if body is None:
                return call(path, method=method, headers=headers, expect_errors=True)
            return call(path, body, headers=headers, expect_errors=True)

    def boot(self, name: str, flavor: str) -> TestResponse:
        """A new server of the user."""
        image = self.ask(name, "GET", "/image/v2/images").json["images"][0]["id"]
        server = {"name": f"of-{name}", "flavorRef": flavor, "imageRef": image, "networks": "none"}
        answer = self.ask(name, "POST", "/compute/v2.1/servers", {"server": server})
        with self.by("operator") as service:
            service.work()
        return answer
