"""The command line of ``baremetal-sched``: mistakes in it, and its log on a terminal."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner

from baremetal_sched import gunicorn_config
from baremetal_sched.app import APIS
from baremetal_sched.cli import cli
from baremetal_sched.cli.options import make_settings
from baremetal_sched.cli.serve import serve
from baremetal_sched.web.health import RootApi

MISTAKES = [
    ("nosuch", "No such command 'nosuch'."),
    ("sevre", "Did you mean 'serve'?"),
    ("user add bob", "Give --generate or --password-stdin."),
    ("serve --nosuch", "No such option"),
    ("serve --port many", "--port"),
    ("serve --port 0 --group no/group", "cannot be a conductor group"),
    ("serve --port 0 --auth-strategy magic", "[api] auth_strategy: Valid values are"),
    ("serve --port 0 --tls-cert /nosuch.pem --tls-key /nosuch.pem", "'/nosuch.pem' does not exist"),
    ("conductor --host a/b/", "cannot be the host name of a conductor"),
    ("conductor --group no/group", "cannot be a conductor group"),
    ("db check --config-file /nosuch.conf", "'/nosuch.conf' does not exist"),
    ("db check --database nonsense", "'nonsense' is not a database URL"),
    ("db check --database oracle://host/name", "'oracle' is not supported"),
    ("db downgrade 9999", "There is no revision '9999'"),
    ("policy list --api nosuch", "--api"),
    ("user add a:b --generate", "'a:b' is not a valid user name"),
    ("demo --port many", "--port"),
]


def test_a_mistake_in_the_command_line_has_status_2(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logging_as_before: None
) -> None:
    for line, words in MISTAKES:
        with subtests.test(line=line):
            monkeypatch.chdir(tmp_path)
            result = CliRunner().invoke(cli, line.split())
            assert result.exit_code == 2, result.output
            assert words in result.output
            assert not list(tmp_path.iterdir())


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:], root.level = handlers, level
    structlog.configure(**configured)


@pytest.mark.parametrize(
    ("is_terminal", "variable", "expected"),
    [(True, None, "console"), (True, "json", "json"), (False, None, "json"), (False, "console", "console")],
)
def test_logs_on_a_terminal_are_for_people(
    is_terminal: bool,
    variable: str | None,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    logging_as_before: None,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    if variable is not None:
        monkeypatch.setenv("OS_DEFAULT__LOG_FORMAT", variable)
    assert make_settings((), None, False).log_format == expected


def test_what_is_written_twice_so_that_help_is_quick() -> None:
    """The number of threads."""
    threads = next(option for option in serve.params if option.name == "threads")
    assert threads.default == gunicorn_config.threads


def test_an_unknown_api_is_refused_with_those_that_there_are() -> None:
    refused = CliRunner().invoke(cli, ["policy", "list", "--api", "barmetal"])
    assert refused.exit_code == 2
    assert f"'barmetal' is not one of {', '.join(api.name for api in (*APIS, RootApi))}." in refused.output
