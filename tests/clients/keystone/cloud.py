"""A Keystone that runs: who is in it, tokens, and how services and clients are told of it."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.keystone.installation import REGION, Administration, configure, install, log_in, scope_of, start
from tests.clients.keystone.people import PEOPLE
from tests.processes import Program, Values
from tests.waiting import wait_until


@contextmanager
def keystone_in(config: pytest.Config, folder: Path, *, people: bool = True) -> Iterator["Keystone"]:
    """A new Keystone in ``folder``, which is empty. Without ``people`` its only user is an
    administrator."""
    python = install(config, folder, people=people)
    running, url = start(python, folder)
    try:
        yield Keystone(running, url, python, folder)
    finally:
        running.close()


class Keystone:
    """``url`` is where it is, without a version. Ids are by name: of ``people.PROJECTS`` and ``people.PEOPLE``."""

    def __init__(self, running: Program, url: str, python: Path, folder: Path) -> None:
        self._process = running.process
        self._python = python
        self._folder = folder
        self.url = url
        self.ask = Administration(url)
        self.project_ids = self.ask.ids("projects")
        self.user_ids = self.ask.ids("users")
        self._tokens: dict[str, str] = {}
        for endpoint in self.ask("GET", "/endpoints")["endpoints"]:
            self.ask("PATCH", f"/endpoints/{endpoint['id']}", {"endpoint": {"url": f"{url}/v3"}})

    def token(self, name: str) -> str:
        """A token of a person for what the person has a role for: always the same one."""
        if name not in self._tokens:
            self._tokens[name] = self.new_token(name)
        return self._tokens[name]

    def new_token(self, name: str, *, scoped: bool = True) -> str:
        """Another token of a person."""
        person = PEOPLE[name]
        return log_in(self.url, person, scope_of(person) if scoped else None)

    def expired_token(self, name: str) -> str:
        """A token of a person that is not valid any more: another process makes it, for a second."""
        own = self._folder / "expiring"
        own.mkdir(exist_ok=True)
        configure(self._folder, own, expiration=1)
        running, url = start(self._python, own)
        try:
            token = log_in(url, PEOPLE[name], scope_of(PEOPLE[name]))
        finally:
            running.close()
        wait_until(lambda: not self.ask.knows(token), "a token to expire")
        return token

    def revoke(self, token: str) -> None:
        """Revoke the token."""
        self.ask("DELETE", "/auth/tokens", **{"X-Subject-Token": token})

    def suspend(self) -> None:
        """Let it take connections and answer nothing, until ``resume``."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        self._process.send_signal(signal.SIGCONT)

    def offer(self, services: Mapping[str, str]) -> None:
        """Put services into the catalogue: their URLs by type. Existing ones are replaced."""
        self.withdraw(*services)
        for kind, url in services.items():
            made = self.ask("POST", "/services", {"service": {"type": kind, "name": kind}})["service"]["id"]
            for interface in ("public", "internal"):
                endpoint = {"service_id": made, "interface": interface, "url": url, "region_id": REGION}
                self.ask("POST", "/endpoints", {"endpoint": endpoint})

    def withdraw(self, *services: str) -> None:
        """Take services of these types out of the catalogue."""
        for each in self.ask("GET", "/services")["services"]:
            if each["type"] in services:
                self.ask("DELETE", f"/services/{each['id']}")

    def settings(self, **options: Any) -> Values:
        """The settings of a service that accepts tokens of this Keystone, with further options for it."""
        person = PEOPLE["baremetal-sched"]
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        user = {"username": person.name, "password": person.password, "project_name": person.scope, **domains}
        told = {"auth_type": "password", "auth_url": self.url, "www_authenticate_uri": f"{self.url}/v3", **user}
        patience = {"http_connect_timeout": 60}  # a machine that is busy with tests
        api = {"auth_strategy": "keystone", "authentication_timeout": 120}
        return {"api": api, "keystone_authtoken": {**told, **patience, **options}}

    def cloud(self, name: str) -> dict[str, Any]:
        """An entry of clouds.yaml for a person."""
        person = PEOPLE[name]
        match person.scope:
            case "system":
                scope = {"system_scope": "all"}
            case "domain":
                scope = {"domain_id": "default"}
            case project:
                scope = {"project_name": project, "project_domain_id": "default"}
        user = {"username": person.name, "password": person.password, "user_domain_id": "default"}
        return {"auth": {"auth_url": f"{self.url}/v3", **user, **scope}, "region_name": REGION}

    def variables(self, name: str) -> dict[str, str]:
        """The same for the environment of the ``openstack`` command."""
        cloud = self.cloud(name)
        given = {"region_name": cloud["region_name"], "identity_api_version": "3", **cloud["auth"]}
        return {f"OS_{option.upper()}": value for option, value in given.items()}
