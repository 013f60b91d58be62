# tier: ci
"""Each command of the guide, as each kind of caller, with users of the file."""

from pathlib import Path

import pytest

from tests.clients import callers
from tests.clients.in_process import people
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.shows_secrets, pytest.mark.filterwarnings("ignore")]

SCOPES = {"project": "project_id: blue", "service": "project_id: service", "system": "system_scope: all"}
ROLES = {name: f"{{roles: [{role}], {SCOPES[scope]}}}" for name, (role, scope) in callers.CALLERS.items()}


def test_every_command_has_a_line() -> None:
    assert callers.missing() == set()


def test_the_table(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    with Service(database_url) as service:
        words = callers.fill(service, "blue")
    with people(database_url, ROLES, tmp_path, monkeypatch, **callers.SETTINGS) as (service, openstack):
        callers.check(service, words, openstack.run, subtests)
