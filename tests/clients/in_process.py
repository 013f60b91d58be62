"""The ``openstack`` command in the process of the test, and the service in a thread of it, with users of the file."""

import io
import logging
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest

from baremetal_sched.web.authentication import password_file
from tests.clients.browser.conftest import in_thread
from tests.service import Service


def openstack(line: str) -> CompletedProcess[str]:
    """Run a command of python-openstackclient, with its plug-ins; the words ``openstack`` and those before are left out
    of ``line``."""
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
            status = OpenStackShell().run(shlex.split(line))
    finally:
        logging.getLogger().handlers[:] = handlers
    return CompletedProcess(line, status, out.getvalue(), err.getvalue())


class People:
    """The command as each of the users, whose password is their name, of the service at ``url``."""

    def __init__(self, url: str) -> None:
        self._options = f"--os-auth-type http_basic --os-endpoint {url}/placement"

    def run(self, user: str, command: str) -> CompletedProcess[str]:
        """Run a command as a user, whatever comes of it; a traceback is never right."""
        done = openstack(f"{self._options} --os-username {user} --os-password {user} {command}")
        assert "Traceback" not in done.stderr, done.stderr
        return done


@contextmanager
def people(
    database_url: str, roles: Mapping[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Service, People]]:
    """A service with http_basic, whose users have these ``roles`` (YAML), and the command for them."""
    monkeypatch.setattr(password_file, "COST", 4)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    users, assigned = folder / "htpasswd", folder / "roles.yaml"
    users.write_text("".join(f"{name}:{password_file.hash_password(name)}\n" for name in roles))
    assigned.write_text("".join(f"{name}: {given}\n" for name, given in roles.items()))
    files = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(assigned)}
    with (
        Service(database_url, api={"auth_strategy": "http_basic"}, DEFAULT=files) as service,
        in_thread(service) as web,
    ):
        yield service, People(web.url)
