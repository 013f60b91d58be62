"""Keystone, installed and filled: once, in pytest's cache."""

import os
import shutil
import subprocess
from grp import getgrgid
from pathlib import Path
from pwd import getpwuid
from typing import Any

import pytest
import requests

from tests.clients.environments import made_once, python_with
from tests.clients.keystone.people import PEOPLE, PROJECTS, Person
from tests.processes import Program, environment

REQUIREMENT = "keystone==30.*"
ADMIN_PASSWORD = "password-of-the-first-administrator"
REGION = "RegionOne"
_READY = "keystone is ready at "
#: It takes five on a machine that has nothing else to do.
_SERVER = Path(__file__).with_name("server.py")
#: Passwords are hashed as fast as bcrypt can, and nothing is remembered: who is revoked is gone at once.
_SETTINGS = """\
[DEFAULT]
log_file = {folder}/keystone.log
[database]
connection = sqlite:///{folder}/keystone.sqlite
[token]
provider = fernet
expiration = {expiration}
[fernet_tokens]
key_repository = {folder}/fernet
[credential]
key_repository = {folder}/credential
[identity]
password_hash_rounds = 4
[cache]
enabled = false
"""
#: To be made anew when any of it changes.
_VERSION = f"1 {REQUIREMENT} {PROJECTS} {PEOPLE} {_SETTINGS}"


def python_of_keystone(config: pytest.Config) -> Path:
    """A Python that has Keystone."""
    return python_with(config, "keystone", REQUIREMENT)


def install(config: pytest.Config, folder: Path, *, people: bool = True) -> Path:
    """Put a Keystone into ``folder``, where nothing is yet; returns the Python for it.

    It has ``people.PEOPLE``, or only what ``keystone-manage bootstrap`` makes.
    """
    python = python_of_keystone(config)
    if people:
        template = made_once(config, "keystone-filled", _VERSION, lambda made: _fill(python, made))
    else:
        template = made_once(config, "keystone-fresh", _VERSION, lambda made: _bootstrap(python, made))
    shutil.copytree(template, folder, ignore=shutil.ignore_patterns("keystone.log", "keystone.out"))
    configure(folder, folder)
    return python


def configure(folder: Path, own: Path, expiration: int = 3600) -> None:
    """Write into the folder ``own`` the settings of a process that serves what is in ``folder``, with tokens that are
    valid for so many seconds."""
    (own / "keystone.conf").write_text(_SETTINGS.format(folder=folder, expiration=expiration))


def start(python: Path, folder: Path) -> tuple[Program, str]:
    """Start the Keystone of a folder; returns the process, which the caller must close, and its address."""
    running = Program((str(python), str(_SERVER), str(folder)), folder, "keystone")
    try:
        running.wait_for(_READY, lambda: running.output)
    except BaseException:
        running.close()
        raise
    return running, running.output.split(_READY)[1].split()[0]


def log_in(url: str, person: Person, scope: dict[str, Any] | None) -> str:
    """A token for a person; without ``scope`` it is for nothing in particular."""
    user = {"name": person.name, "password": person.password, "domain": {"id": "default"}}
    return _log_in(url, user, scope)


def scope_of(person: Person) -> dict[str, Any]:
    """The scope in which the person has a role, as a log-in asks for it."""
    match person.scope:
        case "system":
            return {"system": {"all": True}}
        case "domain":
            return {"domain": {"id": "default"}}
        case project:
            return {"project": {"name": project, "domain": {"id": "default"}}}


class Administration:
    """Identity's API, as an administrator uses it."""

    def __init__(self, url: str) -> None:
        self.url = url
        user = {"name": "admin", "password": ADMIN_PASSWORD, "domain": {"id": "default"}}
        self._headers = {"X-Auth-Token": _log_in(url, user, {"system": {"all": True}})}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One request, which must succeed; returns the JSON that is answered."""
        response = requests.request(
            method, f"{self.url}/v3{path}", json=body, headers={**self._headers, **headers}, timeout=60
        )
        assert response.ok, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def knows(self, token: str) -> bool:
        """Return whether the token is valid."""
        headers = {**self._headers, "X-Subject-Token": token}
        return requests.head(f"{self.url}/v3/auth/tokens", headers=headers, timeout=60).ok

    def ids(self, kind: str) -> dict[str, str]:
        """The ids of all ``users``, ``projects``, ``roles``, ``services``, by name."""
        return {each["name"]: each["id"] for each in self("GET", f"/{kind}")[kind]}


def _fill(python: Path, folder: Path) -> None:
    _bootstrap(python, folder)
    running, url = start(python, folder)
    try:
        _add_people(Administration(url))
    finally:
        running.close()


def _bootstrap(python: Path, folder: Path) -> None:
    configure(folder, folder)
    for name in ("fernet", "credential"):
        (folder / name).mkdir(mode=0o700)
    own = (f"--keystone-user={getpwuid(os.getuid()).pw_name}", f"--keystone-group={getgrgid(os.getgid()).gr_name}")
    _manage(python, folder, "db_sync")
    _manage(python, folder, "fernet_setup", *own)
    _manage(python, folder, "credential_setup", *own)
    _manage(
        *(python, folder, "bootstrap", "--bootstrap-password", ADMIN_PASSWORD, "--bootstrap-region-id", REGION),
        *(f"--bootstrap-{interface}-url=http://127.0.0.1:5000/v3" for interface in ("public", "internal", "admin")),
    )


def _add_people(ask: Administration) -> None:
    default = {"domain_id": "default"}
    for project in PROJECTS:
        ask("POST", "/projects", {"project": {"name": project, **default}})
    projects, roles = ask.ids("projects"), ask.ids("roles")
    for person in PEOPLE.values():
        user = {"name": person.name, "password": person.password, **default}
        made = ask("POST", "/users", {"user": user})["user"]["id"]
        holder = f"users/{made}/roles/{roles[person.role]}"
        match person.scope:
            case "system":
                ask("PUT", f"/system/{holder}")
            case "domain":
                ask("PUT", f"/domains/default/{holder}")
            case project:
                ask("PUT", f"/projects/{projects[project]}/{holder}")


def _log_in(url: str, user: dict[str, Any], scope: dict[str, Any] | None) -> str:
    asked = {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope or "unscoped"}
    response = requests.post(f"{url}/v3/auth/tokens", json={"auth": asked}, timeout=60)
    assert response.ok, response.text
    return response.headers["X-Subject-Token"]


def _manage(python: Path, folder: Path, *arguments: str) -> None:
    command = [python.with_name("keystone-manage"), "--config-file", folder / "keystone.conf", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"keystone-manage {arguments[0]}: {done.stdout}{done.stderr}"
