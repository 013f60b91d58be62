"""The ``openstack`` command in the process of the test, and the service in a thread of it, with users of the file."""

import io
import logging
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.web.authentication import password_file
from tests.clients.browser.conftest import in_thread
from tests.service import Service

#: The commands of our plug-in, and their group of entry points.
_OURS = re.compile(r" (scheduling|baremetal node (find|hold)) ")
_GROUP = "openstack.scheduling.v1"


def openstack(line: str) -> CompletedProcess[str]:
    """Run a command of python-openstackclient, with its plug-ins. ``line`` is what follows the word
    ``openstack``."""
    # Their import warns of what their own libraries deprecate.
    from openstackclient.shell import OpenStackShell
    from osc_lib.clientmanager import ClientCache, ClientManager

    for each in vars(ClientManager).values():
        if isinstance(each, ClientCache):
            each._handle = None  # it would go on for the first user, at the first address
    out, err = io.StringIO(), io.StringIO()
    handlers = logging.getLogger().handlers[:]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            shell = OpenStackShell()
            load = shell.command_manager.load_commands
            if _OURS.search(line):  # no others are loaded, which takes long
                shell.command_manager.load_commands = lambda name: load(name) if name == _GROUP else None
            status = shell.run(shlex.split(line))
    finally:
        logging.getLogger().handlers[:] = handlers
    return CompletedProcess(line, status, out.getvalue(), err.getvalue())


def password_of(user: str) -> str:
    """Return the password of a user."""
    return f"password-of-{user}"


class People:
    """The command as each of the users of the service at ``url``."""

    def __init__(self, url: str) -> None:
        self._options = f"--os-auth-type http_basic --os-endpoint {url}/placement"

    def run(self, user: str, command: str) -> CompletedProcess[str]:
        """Run a command as a user, whatever comes of it; a traceback is never right."""
        done = openstack(f"{self._options} --os-username {user} --os-password {password_of(user)} {command}")
        assert "Traceback" not in done.stderr, done.stderr
        return done


@contextmanager
def people(
    database_url: str, roles: Mapping[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> Iterator[tuple[Service, People]]:
    """A service with http_basic, whose users have these ``roles`` (YAML), and the command for them; further
    ``settings`` by group."""
    monkeypatch.setattr(password_file, "COST", 4)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    users, assigned = folder / "htpasswd", folder / "roles.yaml"
    users.write_text("".join(f"{name}:{password_file.hash_password(password_of(name))}\n" for name in roles))
    assigned.write_text("".join(f"{name}: {given}\n" for name, given in roles.items()))
    files = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(assigned)}
    strategy = {"auth_strategy": "http_basic"}
    with Service(database_url, api=strategy, DEFAULT=files, **settings) as service, in_thread(service) as web:
        yield service, People(web.url)
