"""``baremetal-sched user``: what it warns of."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from baremetal_sched import start_warnings
from baremetal_sched.cli import cli
from baremetal_sched.cli.user_files import line_of, put_user
from baremetal_sched.web.authentication import password_file
from tests.functional.test_http_basic import basic
from tests.functional.ui.logging_in import log_in
from tests.service import Service

CLAIM = {"query": "resources=CUSTOM_GOLD:1"}

pytestmark = [pytest.mark.sqlite_only, pytest.mark.shows_secrets]


@pytest.fixture
def configuration(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(password_file, "COST", 4)
    path = tmp_path / "service.conf"
    path.write_text(
        f"[DEFAULT]\nhttp_basic_auth_user_file = {tmp_path}/htpasswd\nhttp_basic_auth_roles_file = {tmp_path}/roles\n"
        f"[database]\nconnection = {database_url}\n[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n"
    )
    return path


def warnings_of(configuration: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, ["user", "add", *words, "--generate", "--config-file", str(configuration)])
    assert result.exit_code == 0, result.output
    return result.stderr


def test_an_administrator_of_a_project_is_warned_of(configuration: Path) -> None:
    warned = warnings_of(configuration, "anna", "--role", "Admin", "--project", "blue")
    assert "anna is an administrator of all projects in the compute, image and placement APIs" in warned
    assert "--role manager" in warned
    for words in (("--role", "admin", "--system"), ("--role", "manager", "--project", "blue")):
        assert warnings_of(configuration, "anna", *words) == ""


def test_roles_that_no_policy_names_are_warned_of(configuration: Path) -> None:
    warned = warnings_of(configuration, "bert", "--role", "membre", "--role", "reader", "--project", "green")
    assert warned == "Warning: no policy names the role membre, so it allows nothing. Did you mean 'member'?\n"
    (configuration.parent / "policy.yaml").write_text('"baremetal:node:get": "role:Auditor"\n')
    assert warnings_of(configuration, "bert", "--role", "auditor", "--project", "green") == ""


def test_the_service_warns_of_them_too(configuration: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = configuration.parent
    files = {"http_basic_auth_user_file": f"{folder}/htpasswd", "http_basic_auth_roles_file": f"{folder}/roles"}
    for role, expected in (("membre", [["membre"]]), ("member", [])):
        warnings_of(configuration, "bert", "--role", role, "--role", "admin", "--system")
        said: list[tuple[str, dict[str, Any]]] = []
        monkeypatch.setattr(
            start_warnings,
            "log",
            SimpleNamespace(warning=lambda event, said=said, **words: said.append((event, words))),
        )
        with Service(database_url, api={"auth_strategy": "http_basic"}, DEFAULT=files):
            pass
        assert [words["roles"] for event, words in said if "no policy names" in event] == expected


def test_what_a_user_leaves_is_named(configuration: Path, database_url: str, subtests: pytest.Subtests) -> None:
    """By ``user remove``, and by ``user add`` if it takes something away."""
    folder = configuration.parent
    files = {"http_basic_auth_user_file": f"{folder}/htpasswd", "http_basic_auth_roles_file": f"{folder}/roles"}
    change(configuration, "add", "anna", "--role", "admin", "--project", "blue", "--generate")
    put_user(folder / "htpasswd", line_of("anna", "pw-anna"))
    with Service(database_url, api={"auth_strategy": "http_basic"}, DEFAULT=files) as service:
        headers = basic("anna", "pw-anna")
        hook = {"url": "https://hooks.example.com/", "name": "chat"}
        service.http.post_json("/scheduling/v1/webhooks", hook, headers=headers, status=201)
        service.add_conductor("c1")
        service.add_node("n1", resource_class="gold", owner="blue")
        service.http.post_json("/scheduling/v1/claims", CLAIM, headers=headers, status=201)
        waiting = service.http.post_json("/scheduling/v1/claims", {**CLAIM, "wait": 600}, headers=headers, status=202)
        log_in(service, "anna", "pw-anna")
    left = [
        "Webhooks, which send what their maker may read today, and else are parked: chat",
        "Sessions of pages, which have ended: 1",
        f"Requests that wait, which belong to their projects and stay: claim {waiting.json['uuid']} of project blue",
    ]
    for words, expected in [
        (("add", "anna", "--role", "admin", "--project", "blue"), []),
        (("add", "anna", "--role", "manager", "--project", "blue"), left),
        (("add", "anna", "--role", "manager", "--project", "green"), left),
        (("remove", "anna"), left),
    ]:
        with subtests.test(" ".join(words)):
            said = change(configuration, *words, *(["--generate"] if words[0] == "add" else []))
            assert [line for line in said.splitlines() if not line.startswith("Warning")] == expected


def test_users_are_changed_without_the_database(configuration: Path, tmp_path: Path) -> None:
    """The files may be elsewhere; no file is made for a database."""
    change(configuration, "add", "anna", "--role", "member", "--project", "blue", "--generate")
    lost = tmp_path / "lost.sqlite"
    said = change(configuration, "remove", "anna", "--database", f"sqlite:///{lost}")
    assert said.startswith("What anna has in the database is unknown: ")
    assert not lost.exists()


def change(configuration: Path, *words: str) -> str:
    """Run ``baremetal-sched user``; returns what it says besides the answer."""
    result = CliRunner().invoke(cli, ["user", *words, "--config-file", str(configuration)])
    assert result.exit_code == 0, result.output
    return result.stderr
