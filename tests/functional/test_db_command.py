"""Commands and their database: which one they use, and what ``db`` does to it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from baremetal_sched import logs, settings
from baremetal_sched.cli import cli
from baremetal_sched.db import schema, schema_state
from baremetal_sched.db.schema_state import SchemaStatus
from tests.service import Service

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in an empty folder, on a machine without settings."""
    monkeypatch.setattr(logs, "configure", lambda settings: None)
    monkeypatch.setattr(settings, "DEFAULT_FILE", tmp_path / "etc.conf")
    monkeypatch.delenv("BAREMETAL_SCHED_CONFIG", raising=False)
    monkeypatch.delenv("OS_DATABASE__CONNECTION", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *words, answer="": CliRunner().invoke(cli, list(words), input=answer)


def write(path: Path, name: str) -> Path:
    """A configuration file with a database of this name."""
    path.write_text(f"[database]\nconnection = sqlite:///{name}.sqlite\n")
    return path


def test_which_file_is_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of the command line, or of the variable, or the usual one; and each command says so."""

    def says(*words: str) -> str:
        done = run("db", "revision", *words)
        assert done.stdout == f"database: none\nrelease: {schema.head()}\n"
        return done.stderr

    assert says() == (
        f"Database: sqlite:///{tmp_path}/baremetal-sched.sqlite (the default: no file and no variable names one)\n"
    )
    usual = write(tmp_path / "etc.conf", "usual")
    assert says() == f"Database: sqlite:///{tmp_path}/usual.sqlite ({usual})\n"
    named = write(tmp_path / "named.conf", "named")
    monkeypatch.setenv("BAREMETAL_SCHED_CONFIG", str(named))
    assert says() == f"Database: sqlite:///{tmp_path}/named.sqlite ({named})\n"
    given = write(tmp_path / "given.conf", "given")
    assert says("--config-file", str(given)) == f"Database: sqlite:///{tmp_path}/given.sqlite ({given})\n"
    monkeypatch.setenv("OS_DATABASE__CONNECTION", "postgresql://u:hunter2hunter2@db/x")
    assert run("node", "why", "n1", "--database", "sqlite:///x.sqlite").stderr.startswith(
        f"Database: sqlite:///{tmp_path}/x.sqlite (--database)\n"
    )
    assert settings.default_files() == [str(named)]


def test_who_only_reads_makes_no_file(run: Run, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for words in [
        ("db", "revision"),
        ("db", "check"),
        ("db", "upgrade", "--check"),
        ("db", "downgrade", "base", "--yes"),
        ("node", "why", "n1"),
        ("secrets", "check"),
        ("policy", "check"),
        ("compute", "status"),
    ]:
        with subtests.test(words=words):
            done = run(*words)
            assert f"Database: sqlite:///{tmp_path}/baremetal-sched.sqlite" in done.stderr
            assert list(tmp_path.iterdir()) == []


def test_a_password_is_not_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_DATABASE__CONNECTION", "postgresql://u:hunter2hunter2@127.0.0.1:9/x")
    said = run("db", "revision").stderr
    assert said.startswith("Database: postgresql://u:******@127.0.0.1:9/x (OS_DATABASE__CONNECTION)\n")
    assert "hunter2" not in said


def test_what_an_upgrade_would_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = schema_state.chain()
    url = ("--database", "sqlite:///x.sqlite")

    def plan() -> list[str]:
        lines = run("db", "upgrade", "--check", *url).stdout.splitlines()
        assert lines[1] == f"release: {schema.head()}"
        return lines

    new = plan()
    assert (new[0], new[-1], len(new)) == ("database: none", "The schema would be created.", len(chain) + 3)
    assert re.fullmatch(r"migration 0001: .+\.", new[2])
    assert run("db", "upgrade", *url).stdout == f"schema {schema.head()}\n"
    assert plan() == [f"database: {schema.head()}", f"release: {schema.head()}", "Nothing is to be done."]
    monkeypatch.setattr(schema, "read_state", lambda engine: SchemaStatus(chain[-2]))
    for needs, said in ((True, "It needs a stop: "), (False, "It needs no stop: ")):
        monkeypatch.setattr(schema_state, "needs_stop", lambda found, target, needs=needs: needs)
        older = plan()
        assert older[2].startswith(f"migration {chain[-1]}: ")
        assert older[3].startswith(said)
    monkeypatch.setattr(schema, "read_state", lambda engine: SchemaStatus(chain[-1], changing_to=chain[-1]))
    assert plan()[-1] == "An interrupted change would be completed."


def test_a_downgrade_asks(run: Run, tmp_path: Path) -> None:
    url = ("--database", f"sqlite:///{tmp_path}/x.sqlite")
    run("db", "upgrade", *url)
    with Service(f"sqlite:///{tmp_path}/x.sqlite") as service:
        conductor = service.add_conductor("c1")
        service.add_node("n1", power=False)
        for words in (("base",), ("base", "--yes"), ("0010", "--yes")):
            refused = run("db", "downgrade", *words, *url, answer="y\n")
            assert refused.exit_code == 1
            assert (
                "conductors are alive: c1. Stop them first; one that was killed counts as alive for" in refused.stderr
            )
        conductor.sign_off()
    for answer in ("", "n\n", "\n"):
        refused = run("db", "downgrade", "base", *url, answer=answer)
        assert refused.exit_code == 1
        assert f"Database: sqlite:///{tmp_path}/x.sqlite (--database)" in refused.stderr
        assert re.search(r"^Rows: traits \d+, .*nodes 1.*\. All of them will be lost\.$", refused.stdout, re.MULTILINE)
    assert run("db", "revision", *url).stdout.startswith(f"database: {schema.head()}")
    done = run("db", "downgrade", "0010", "--yes", *url)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "schema 0010")
    assert "What schema 0010 cannot hold will be lost." in done.stdout
    assert run("db", "downgrade", "0010", *url).stdout == "schema 0010\n"
    done = run("db", "downgrade", "base", *url, answer="y\n")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "schema none")


def test_conductors_and_rows_on_every_database(service: Service) -> None:
    from baremetal_sched.db import contents

    engine = service.database.engine
    service.add_node("n1", power=False)
    assert contents.count(engine)["nodes"] == 1
    assert contents.live_conductors(engine, 60) == ["c1"]
    assert contents.live_conductors(engine, -10) == []
    assert schema_state.refusal(schema.read_state(engine)) is None


def test_a_missing_file_is_made_by_the_command_that_the_message_names(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'absent.sqlite'}"
    result = CliRunner().invoke(cli, ["db", "check", "--database", url])
    assert result.exit_code == 1
    command = result.output.strip().partition("run: baremetal-sched ")[2]
    assert command == f"db upgrade --database {url}"
    assert CliRunner().invoke(cli, command.split()).exit_code == 0
    assert CliRunner().invoke(cli, ["db", "check", "--database", url]).exit_code == 0


def test_a_new_stream_of_events(run: Run, database_url: str) -> None:
    with Service(database_url) as service:
        path = "/scheduling/v1/events?after={}"
        cursor = service.http.get(path.format("now")).json["cursor"]
        done = run("db", "events", "new-stream", "--database", database_url)
        stream, _, number = cursor.partition(":")
        new = done.stdout.removeprefix("stream ").strip()
        assert (done.exit_code, new != stream) == (0, True)
        assert f"are those after {new}:{number}." in service.http.get(path.format(cursor), status=410).text
        service.http.get(path.format(f"{new}:{number}"))
