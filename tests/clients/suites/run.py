"""Runs unit tests in a process of their own, with whatever Python has them: ``run.py OUT NAME...``.

NAME is a package, all of which is run, or a module, a class or a test.

It writes a JSON object to OUT: ``passed``, a list of names of tests, ``failed``, by name with what was said, and
``skipped``, by name with the reason. Two things are otherwise than if the package were run by itself: nobody sleeps for
long, and the ``openstack`` command, where tempest is there to start it, is forked from this process, which has loaded
it already, and not started anew each time.
"""

import importlib.util
import json
import os
import shlex
import sys
import tempfile
import time
import unittest
import urllib.request
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

LONGEST_SLEEP = 0.1
LONGEST_WORK = 30
_sleep = time.sleep


class Outcomes(unittest.TestResult):
    """Remembers what passed, too."""

    def __init__(self):
        super().__init__()
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test.id())

    def document(self):
        """The document to be written."""
        failed = self.failures + self.errors + [(test, "passed unexpectedly") for test in self.unexpectedSuccesses]
        return {
            "passed": self.passed,
            "failed": {test.id(): text for test, text in failed},
            "skipped": {test.id(): reason for test, reason in self.skipped},
        }


def fork_openstack(arguments):
    """The ``openstack`` command in a process that is forked: its exit status, what it printed, and its complaints."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _be_the_command(arguments, out.fileno(), err.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return status, out.read().decode(), err.read().decode()


def _execute(cmd, action, flags="", params="", fail_ok=False, merge_stderr=False, cli_dir="", prefix=""):
    """Stands in for tempest's ``execute``, and has its arguments."""
    from tempest.lib import exceptions

    arguments = shlex.split(f"{flags} {action} {params}")
    status, said, complaint = fork_openstack(arguments)
    if "--os-endpoint" in arguments:
        wait_for_conductors(arguments[arguments.index("--os-endpoint") + 1])
    if status and not fail_ok:
        raise exceptions.CommandFailed(status, [cmd, *arguments], said.encode(), complaint.encode())
    return said + complaint if merge_stderr else said


def _execute_anew(cmd, *, fail_ok=False):
    """Stands in for ``execute`` of the tests of python-openstackclient, and has its arguments."""
    from tempest.lib import exceptions

    status, said, complaint = fork_openstack(shlex.split(cmd)[1:])
    if status and not fail_ok:
        raise exceptions.CommandFailed(status, cmd, said, complaint)
    return said


def _be_the_command(arguments, out, err):
    from openstackclient import shell

    status = 1
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        sys.argv[0] = "openstack"
        status = shell.main(arguments)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait_for_conductors(url):
    """Wait until no node is reserved.

    Whoever starts a command, asks for something, and starts another to see what became of it, relies on the second one
    taking so long to start that the conductor is done. When it is forked it does not.
    """
    headers = {"X-OpenStack-Ironic-API-Version": "1.115"}
    request = urllib.request.Request(f"{url}/v1/nodes?fields=reservation", headers=headers)
    until = time.monotonic() + LONGEST_WORK
    while time.monotonic() < until:
        with urllib.request.urlopen(request) as answer:
            if not any(node["reservation"] for node in json.load(answer)["nodes"]):
                return
        time.sleep(0.05)
    raise TimeoutError(f"A node is still reserved after {LONGEST_WORK} seconds")


def load_openstack():
    """Load whatever the command loads when it is used."""
    with suppress(ImportError):
        from ironicclient.v1 import client  # noqa: F401
    from openstackclient import shell

    for topic in ("baremetal", "keypair create"):
        with redirect_stdout(StringIO()), suppress(SystemExit):
            shell.main(["help", *topic.split()])


def hurry():
    """Shorten every sleep in this process, and in the processes that it forks."""
    time.sleep = lambda seconds: _sleep(min(seconds, LONGEST_SLEEP))


def tests_of(name):
    """Return the tests of a package, a module or a class of that name, or the test of that name."""
    loader = unittest.defaultTestLoader
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        found = None  # a class or a test
    is_package = found is not None and found.submodule_search_locations is not None
    return loader.discover(name) if is_package else loader.loadTestsFromName(name)


def main(out, *names):
    """Run all tests of ``names``."""
    hurry()
    try:
        from tempest.lib.cli import base
    except ImportError:
        pass
    else:
        load_openstack()
        base.execute = _execute
        with suppress(ImportError):
            from openstackclient.tests.functional import base as functional

            functional.execute = _execute_anew
        # Who ran these tests upstream told them by this that their token is for a project.
        base.ClientTestBase.auth_ref = SimpleNamespace(project_scoped=True)
    outcomes = Outcomes()
    for name in names:
        tests_of(name).run(outcomes)
    Path(out).write_text(json.dumps(outcomes.document()))


if __name__ == "__main__":
    main(*sys.argv[1:])
