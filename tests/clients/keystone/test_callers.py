"""Each command of the guide, as each kind of caller, with tokens of a real Keystone."""

import sys
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest

from tests.clients import callers
from tests.clients.browser.conftest import in_thread
from tests.clients.in_process import openstack
from tests.clients.keystone.cloud import Keystone
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.shows_secrets, pytest.mark.filterwarnings("ignore")]

#: People of the Keystone by caller: the project is "red".
PEOPLE = {name: f"red-{role}" if scope == "project" else name for name, (role, scope) in callers.CALLERS.items()}
#: A token for the system is not for the image API.
DIFFERING = {"scheduling explain --flavor bm.gold --image debian": "00001111"}


def test_the_table(
    keystone: Keystone, database_url: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    with Service(database_url) as service:
        words = callers.fill(service, keystone.project_ids["red"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with Service(database_url, **keystone.settings(), **callers.SETTINGS) as service, in_thread(service) as web:

        def run(caller: str, line: str) -> CompletedProcess[str]:
            # Each logs in once. The client logs its options, but not its environment.
            monkeypatch.setenv("OS_TOKEN", keystone.token(PEOPLE[caller]))
            return openstack(f"--os-auth-type admin_token --os-endpoint {web.url}/placement {line}")

        callers.check(service, words, run, subtests, DIFFERING)
