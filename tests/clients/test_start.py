# tier: ci
"""How the service starts, refuses to start, and stops."""

import os
import pty
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
import requests
import yaml
from sqlalchemy import text
from sqlalchemy.engine import make_url

from baremetal_sched.cli import cli
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load
from tests.processes import BAREMETAL_SCHED, GUNICORN, OPEN, Client, environment, free_port, program, run, serve
from tests.waiting import PATIENCE, START, wait_until

DEFAULT_FILE = "baremetal-sched.sqlite"


def query(database_url: str, statement: str) -> list[tuple[object, ...]]:
    """Run one statement on the database; returns its rows, if it has any."""
    database = Database(load(overrides={"database": {"connection": database_url}}))
    try:
        with database.engine.begin() as connection:
            result = connection.execute(text(statement))
            return [tuple(row) for row in result] if result.returns_rows else []
    finally:
        database.dispose()


#: ``baremetal-sched``, whose conductor takes two seconds to register.
SLOWLY = """
import time
from baremetal_sched.cli import main
from baremetal_sched.conductor.daemon import ConductorDaemon
register = ConductorDaemon.register
def register_slowly(conductor):
    time.sleep(2)
    register(conductor)
ConductorDaemon.register = register_slowly
main()
"""


def test_when_it_is_ready_nodes_can_be_enrolled(tmp_path: Path) -> None:
    with serve(tmp_path, command=(sys.executable, "-c", SLOWLY)) as (_, url), Client(url) as client:
        assert client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).status_code == 201


def test_start_in_an_empty_folder(tmp_path: Path) -> None:
    """``serve`` and nothing else: it makes its database where it stands, is ready with one conductor, and prints how
    clients find it."""
    with serve(tmp_path) as (program, url), Client(url) as client:
        assert (tmp_path / DEFAULT_FILE).exists()
        assert client.healthcheck().json()["ready"] is True

        first, second, *rest = program.output.splitlines()
        assert first == f"baremetal-sched is ready at {url}"
        assert second == f"Pages: {url}/ui/"
        assert requests.get(second.removeprefix("Pages: "), timeout=PATIENCE).status_code == 200
        exports = dict(re.findall(r"^ +export (\w+)=(\S+)$", program.output, re.MULTILINE))
        assert exports == {
            "OS_AUTH_TYPE": "none",
            "OS_ENDPOINT": f"{url}/placement",
            "OS_PLACEMENT_ENDPOINT_OVERRIDE": f"{url}/placement",
            "OS_BAREMETAL_ENDPOINT_OVERRIDE": f"{url}/baremetal",
            "OS_COMPUTE_ENDPOINT_OVERRIDE": f"{url}/compute/v2.1",
            "OS_IMAGE_ENDPOINT_OVERRIDE": f"{url}/image",
            "OS_PLACEMENT_API_VERSION": "1.39",
            "OS_IDENTITY_API_VERSION": "3",
        }
        block = rest[rest.index("    clouds:") :]
        cloud = yaml.safe_load("\n".join(block))["clouds"]["baremetal-sched"]
        assert cloud == {
            "auth_type": "none",
            "auth": {"endpoint": f"{url}/placement"},
            "placement_endpoint_override": f"{url}/placement",
            "baremetal_endpoint_override": f"{url}/baremetal",
            "compute_endpoint_override": f"{url}/compute/v2.1",
            "image_endpoint_override": f"{url}/image",
            "placement_api_version": "1.39",
            "identity_api_version": "3",
        }
        conductors = wait_for_conductor(client)
        assert [(row["conductor_group"], row["alive"]) for row in conductors] == [("", True)]


def test_second_start_is_quick(tmp_path: Path, database_url: str) -> None:
    """On a database that is there already, a start and a stop take little of the processors' time.

    Where nothing else is going on the first request is answered within two seconds; here other tests are.
    """
    port = free_port()
    command = (*BAREMETAL_SCHED, "serve", "--port", str(port), "--database", database_url)
    before = processor_time()
    with program(command, tmp_path, "serve") as running:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/baremetal/v1/nodes"), "the first answer")
        assert running.end(signal.SIGTERM, 30) == 0
    assert processor_time() - before < 10


def processor_time() -> float:
    """Seconds that ended processes have taken: our children, and the children that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def answers(url: str) -> bool:
    """Does a GET work? False while nobody listens."""
    try:
        with requests.get(url, timeout=PATIENCE) as response:
            assert response.status_code == 200, response.text
    except requests.RequestException:
        return False
    return True


def test_newer_schema_is_refused(tmp_path: Path, database_url: str) -> None:
    """A database that a newer release has upgraded is left alone, and said so in words."""
    query(database_url, "UPDATE alembic_version SET version_num = 'zzzz'")
    done = run(tmp_path, "serve", "--port", "0", "--database", database_url)
    assert_refused(done, "schema zzzz, which this release does not know", schema.head())
    assert query(database_url, "SELECT version_num FROM alembic_version") == [("zzzz",)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--database", "oracle://host/name"), "'oracle' is not supported; use sqlite, postgresql, mariadb or mysql"),
        (("--database", "nonsense"), "'nonsense' is not a database URL"),
        (("--database", "sqlite://"), "SQLite in memory is not supported"),
        (("--database", "sqlite:////no/such/folder/db.sqlite"), "unable to open database file"),
        (("--database", "postgresql://nobody@127.0.0.1:1/none"), "127.0.0.1"),
        (("--database", "mariadb://nobody@127.0.0.1:1/none"), "127.0.0.1"),
        (("--host", "999.0.0.1"), "Cannot listen on 999.0.0.1"),
        (("--port", "99999"), "99999"),
        (("--workers", "0"), "--workers"),
        (("--group", "no group"), "'no group' cannot be a conductor group"),
        (("--auth-strategy", "magic"), "magic"),
        (("--config-file", "/nosuch.conf"), "'/nosuch.conf' does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_refused(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """Impossible settings are refused at the start, in a line or two of words and without a traceback."""
    done = run(tmp_path, "serve", "--port", "0", *options)
    assert_refused(done, words)


def test_help_is_there_at_once(tmp_path: Path) -> None:
    """For any command and its subcommands it imports no library of the service."""
    script = """
import sys
sys.argv = ["baremetal-sched", *sys.argv[1:], "--help"]
from baremetal_sched.cli import main
try:
    main()
finally:
    slow = {"sqlalchemy", "oslo_config", "structlog", "gunicorn", "flask", "rich", "yaml"}
    print(len(sys.modules), *sorted(slow.intersection(sys.modules)))
"""
    for arguments in ([], *([name] for name in cli.list_commands(click.Context(cli))), ["db", "upgrade"]):
        command = (sys.executable, "-c", script, *arguments)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=START)
        *text, (modules, *slow) = (line.split() for line in done.stdout.splitlines())
        assert text[0][0] == "Usage:"
        assert not slow, arguments
        assert int(modules) < 400, arguments


def test_port_in_use_is_refused(tmp_path: Path) -> None:
    """A port in use is refused with its number and the reason, before a database is made."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path, "serve", "--port", str(port))
    assert_refused(done, f"Cannot listen on 127.0.0.1:{port}", "in use")
    assert not list(tmp_path.glob("*.sqlite"))


def test_on_a_terminal_it_talks_to_people(tmp_path: Path) -> None:
    """It says at once that it starts, and its log lines are no JSON; elsewhere every line is."""
    ours, its = pty.openpty()
    command = (*BAREMETAL_SCHED, "serve", "--port", "0")
    with (
        os.fdopen(ours, "rb", buffering=0) as terminal,
        subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=its, stderr=its) as process,
    ):
        os.close(its)
        shown = ""
        while "ready at" not in shown or "conductor registered" not in shown:
            shown += terminal.read(4096).decode()  # fails if it has ended
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert shown.startswith("baremetal-sched is starting")
    assert '{"' not in shown


def test_the_conductor_does_not_listen(tmp_path: Path) -> None:
    """It is forked when the port is open already, and closes its copy."""
    with serve(tmp_path) as (running, url):
        listening = next(
            fields[9]
            for fields in map(str.split, Path("/proc/net/tcp").read_text().splitlines())
            if fields[1] == f"0100007F:{int(url.rpartition(':')[2]):04X}" and fields[3] == "0A"
        )
        pid = running.process.pid
        holders = {process: sockets(process) for process in (pid, *children(pid))}
        conductor = children(pid)[0]
        assert f"socket:[{listening}]" in holders[pid]
        assert f"socket:[{listening}]" not in holders[conductor]


def children(pid: int) -> list[int]:
    """The processes that it started, the first one first."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sockets(pid: int) -> set[str]:
    """The kinds of a process's open files."""
    return {str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()}


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode > 0
    assert "Traceback" not in done.stderr, done.stderr
    assert "ready" not in done.stdout
    for part in words:
        assert part in done.stderr


def test_gunicorn(tmp_path: Path, database_url: str) -> None:
    """gunicorn as the README starts it, with settings from the environment, serves everything."""
    port = free_port()
    command = (*GUNICORN, "--bind", f"127.0.0.1:{port}")
    url = f"http://127.0.0.1:{port}"
    with program(command, tmp_path, "gunicorn", {**OPEN, "database": {"connection": database_url}}) as running:
        wait_until(lambda: answers(f"{url}/healthcheck/live"), "gunicorn to answer")
        with Client(url) as client:
            assert client.healthcheck().json()["checks"] == {"database": "ok", "schema": "ok"}
            assert client.baremetal("GET", "/nodes").json() == {"nodes": []}
            assert client.placement("GET", "/resource_providers").json() == {"resource_providers": []}
        assert running.end() == 0
    assert not (tmp_path / DEFAULT_FILE).exists()


def test_stop(tmp_path: Path, database_url: str) -> None:
    """SIGTERM ends ``serve`` and all that belongs to it, though a client keeps its connection; the conductor has signed
    off."""
    with serve(tmp_path, "--database", database_url) as (running, url), Client(url) as client:
        wait_for_conductor(client)
        assert running.end() == 0
        running.assert_group_gone()
    assert online(database_url) == [False]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_terminal(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, and the end of the terminal, reach every process of the group: never does a part stay without the rest,
    and at the end the conductor has signed off."""
    with serve(tmp_path) as (running, url), Client(url) as client:
        wait_for_conductor(client)
        os.killpg(running.process.pid, number)
        if number == signal.SIGINT:
            assert running.process.wait(PATIENCE) == 0
        else:
            # Whether to go on is a matter of taste (nohup), but if so then with the conductor, which signs off later.
            time.sleep(1)
            assert running.end() == 0
        running.assert_group_gone()
    assert online(f"sqlite:///{tmp_path / DEFAULT_FILE}") == [False]


def test_conductor_dies(tmp_path: Path) -> None:
    """``serve`` does not go on without its conductor: when that dies, it ends, and not as if all were well."""
    with serve(tmp_path) as (running, url), Client(url) as client:
        wait_for_conductor(client)
        pid = running.process.pid
        conductor = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]  # the first that it started
        os.kill(int(conductor), signal.SIGKILL)
        assert running.process.wait(PATIENCE) != 0
        running.assert_group_gone()


def test_head_dies(tmp_path: Path) -> None:
    """When the head of ``serve`` is killed, the rest notices and ends; the conductor signs off."""
    with serve(tmp_path) as (running, url), Client(url) as client:
        wait_for_conductor(client)
        running.end(signal.SIGKILL)
        database_url = f"sqlite:///{tmp_path / DEFAULT_FILE}"
        wait_until(lambda: online(database_url) == [False], "the conductor to sign off")
        wait_until(lambda: not answers(f"{url}/healthcheck/live"), "the workers to end")


def wait_for_conductor(client: Client) -> list[dict[str, object]]:
    """The conductors, as soon as there is one."""
    return wait_until(lambda: client.baremetal("GET", "/conductors").json()["conductors"], "the embedded conductor")


def online(database_url: str) -> list[bool]:
    """Who of the conductors has not signed off, by what the database holds."""
    return [bool(row[0]) for row in query(database_url, "SELECT online FROM conductors ORDER BY hostname")]


@pytest.mark.parametrize("command", ["serve", "conductor", "db upgrade", "db check"])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"database": "no_such_database"}, "does not exist on the server. Correct the name, or create it"),
        ({"username": "no_such_user", "password": "Passw0rd"}, "refused the login. Check user and password"),
    ],
    ids=["database", "user"],
)
def test_a_server_that_refuses(
    tmp_path: Path, database_url: str, command: str, changes: dict[str, str], words: str
) -> None:
    """The command ends and says what to do; nothing of the password."""
    if database_url.startswith("sqlite"):
        pytest.skip("there is no server")
    url = make_url(database_url).set(**changes).render_as_string(hide_password=False)
    done = run(tmp_path, *command.split(), "--database", url)
    assert_refused(done, words)
    assert "Passw0rd" not in done.stderr + done.stdout


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_text("This is a text, and not a database. " * 100)
    for command in (("serve", "--port", "0"), ("conductor",), ("db", "upgrade")):
        assert_refused(run(tmp_path, *command, "--database", "sqlite:///x.sqlite"), "is not an SQLite database")


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("conductor",), ("db", "upgrade")])
def test_a_slip_in_a_file_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    """No other database is made in silence."""
    file = tmp_path / "slip.conf"
    file.write_text(f"[databse]\nconnection = sqlite:///{tmp_path}/other.sqlite\n")
    done = run(tmp_path, *command, "--config-file", str(file))
    assert_refused(done, f"{file}, line 2: there is no group [databse]. Did you mean [database]?")
    assert not list(tmp_path.glob("**/*.sqlite"))


@pytest.mark.parametrize("options", [(), ("-c", "python:baremetal_sched.gunicorn_config")])
def test_gunicorn_says_what_is_wrong_with_the_settings(tmp_path: Path, options: tuple[str, ...]) -> None:
    """In a line, and does not try again."""
    gunicorn = Path(sys.executable).with_name("gunicorn")
    done = subprocess.run(
        [gunicorn, *options, "--bind", "127.0.0.1:0", "baremetal_sched.wsgi:app"],
        cwd=tmp_path,
        env={**os.environ, "BAREMETAL_SCHED_CONFIG": "/nosuch/a.conf"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode > 0
    assert "Traceback" not in done.stderr, done.stderr
    assert "There is no configuration file /nosuch/a.conf." in done.stderr
