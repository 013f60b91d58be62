"""``baremetal-sched demo`` as people run it, and its exit status when something is not as it should be."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from baremetal_sched.cli.demo import demo, service
from baremetal_sched.cli.demo import play as play_module
from baremetal_sched.cli.demo.client import DemoAnswer, DemoFailed
from baremetal_sched.cli.demo.service import Service
from tests.functional.test_demo import ClientInProcess, service_for_demo
from tests.processes import BAREMETAL_SCHED, Client, Program, free_port, program
from tests.waiting import START, wait_until

CHAPTERS = (
    "Enrol",
    "Conductors",
    "node list",
    "Ask placement",
    "Claim",
    "refusals",
    "Release",
    "why",
    "Hold",
    "Wait",
    "by itself",
    "same rack",
)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo makes its temporary folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("COLUMNS", "110")
    return folder


def assert_nothing_left(running: Program, temporary: Path) -> None:
    running.assert_group_gone()
    assert list(temporary.iterdir()) == []


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """An empty database, for tests that are not about databases."""
    path = tmp_path / "test.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{path}"


def test_demo(tmp_path: Path, temporary: Path) -> None:
    """Every step succeeds and says so; nothing is left behind. Settings in the environment do not matter."""
    settings = {"database": {"connection": "nonsense"}, "default": {"host": "surprise"}, "api": {"max_limit": 1}}
    with program((*BAREMETAL_SCHED, "demo"), tmp_path, "demo", settings) as running:
        assert running.process.wait(120) == 0
        assert_nothing_left(running, temporary)
        output = running.output
    for number, words in enumerate(CHAPTERS, 1):
        assert re.search(rf"^{number}  .*{words}", output, re.MULTILINE), output
    assert "✗" not in output
    checks = re.search(r"✓ All (\d+) checks passed", output)
    assert checks
    assert len(re.findall(r"^  ✓ ", output, re.MULTILINE)) == int(checks[1]) > 40
    assert "What to do next:\n  baremetal-sched demo --keep " in output
    assert "surprise" not in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_keep(tmp_path: Path, temporary: Path, number: signal.Signals) -> None:
    """With ``--keep`` the service goes on at its port, as it says, until a signal; that is a good end."""
    port = free_port()
    with program((*BAREMETAL_SCHED, "demo", "--keep", "--port", str(port)), tmp_path, "demo") as running:
        wait_until(lambda: "OS_PLACEMENT_API_VERSION" in running.output, "the end of the story", seconds=START)
        url = re.search(r"keeps running at (\S+) ", running.output)
        assert url
        assert url[1].endswith(f":{port}")
        assert f"export OS_ENDPOINT={url[1]}/placement\n" in running.output
        assert f"in a browser: {url[1]}/ui/\n" in running.output
        with Client(url[1]) as client:
            assert len(client.baremetal("GET", "/nodes").json()["nodes"]) == 20
        assert running.end(number, 30) == 0
        assert_nothing_left(running, temporary)


def test_interrupted(tmp_path: Path, temporary: Path) -> None:
    """A signal while the service starts ends everything, and is no success."""
    with program((*BAREMETAL_SCHED, "demo"), tmp_path, "demo") as running:
        wait_until(lambda: list(temporary.glob("*/serve.log")), "the service to be started")
        assert running.end(signal.SIGTERM, 30) == 1
        assert_nothing_left(running, temporary)


Lie = Callable[[str, str, DemoAnswer], DemoAnswer]


def change(method: str, path: str, **changes: Any) -> Lie:
    """Answer some requests with another status, or with a body that a function makes of the right one."""

    def lie(asked: str, of: str, answer: DemoAnswer) -> DemoAnswer:
        if asked != method or not re.search(path, of):
            return answer
        body = changes["body"](answer.body) if "body" in changes else answer.body
        return DemoAnswer(changes.get("status", answer.status), body)

    return lie


def without_last(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {**body, key: body[key][:-1]}


def with_all(key: str, **fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {**body, key: [{**item, **fields} for item in body[key]]}


def doubled(key: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {**body, key: body[key] * 2}


LIES = {
    "a node is not created": change("POST", "/nodes", status=409),
    "a trait is lost": change("GET", "fields=.*traits", body=with_all("nodes", traits=["CUSTOM_A"])),
    "maintenance is lost": change("GET", "fields=.*maintenance", body=with_all("nodes", maintenance=False)),
    "a conductor is down": change("GET", "/conductors", body=with_all("conductors", alive=False)),
    "a conductor is missing": change("GET", "/conductors", body=without_last("conductors")),
    "nobody owns the nodes": change("GET", "fields=.*conductor$", body=with_all("nodes", conductor=None)),
    "one owns them all": change("GET", "fields=.*conductor$", body=with_all("nodes", conductor="conductor-b-1")),
    "the list is short": change("GET", "not-traits-any=", body=without_last("nodes")),
    "a candidate is missing": change("GET", "required=.*SRIOV", body=without_last("allocation_requests")),
    "candidates come twice": change("GET", "required=.*FIRMWARE", body=doubled("allocation_requests")),
    "there are no candidates": change("GET", "GPU", body=lambda body: {**body, "allocation_requests": []}),
    "candidates fail": change("GET", "/allocation_candidates", status=500),
    "a claim is refused": change("PUT", "/allocations/", status=409),
    "a second claim succeeds": change("PUT", "/allocations/", status=204),
    "a bad trait is taken": change("PUT", "/not-a-trait", status=204),
    "a dead group is taken": change("PATCH", "/a-general-1$", status=200),
    "groups are not named": change("PATCH", "/a-general-1$", body=lambda body: {}),
    "the explanation is another": change("GET", "/explanations", body=lambda body: {**body, "relaxations": []}),
    "a hold is not made": change("POST", "/holds$", status=409),
    "a held machine is on offer": change("GET", "/availability", body=lambda body: {**body, "offered": True}),
    "a claim does not wait": change("POST", "/claims$", body=lambda body: {**body, "position": 2}),
    "another machine is handed over": change("GET", "/claims/", body=lambda body: {**body, "machines": []}),
    "racks are not made": change("POST", "/from_property", body=lambda body: {**body, "created": []}),
    "a claim of several has one machine": change(
        "POST", "/claims$", body=lambda body: {**body, "machines": body["machines"][:1]} if "machines" in body else body
    ),
    "a release fails": change("DELETE", "/allocations/", status=404),
}


def play(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, lie: Lie) -> Result:
    """The command against a service in process whose answers pass through ``lie``."""

    class Liar(ClientInProcess):
        def send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> DemoAnswer:
            return lie(method, path, super().send(method, path, body, headers))

    @contextmanager
    def running(port: int, say: Callable[[str], None]) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(url="http://demo.invalid", start=lambda: None, complaints=lambda: "It hurts.")

    monkeypatch.setattr(service, "running", running)
    with service_for_demo(sqlite_url) as stub:
        monkeypatch.setattr(play_module, "DemoClient", lambda url: Liar(stub))
        return CliRunner().invoke(demo)


def test_truth(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = play(sqlite_url, monkeypatch, lambda method, path, answer: answer)
    assert result.exit_code == 0, result.output
    assert "✗" not in result.output


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_lie(sqlite_url: str, monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    """Whatever comes out otherwise than it should: there is a cross, and the command fails."""
    result = play(sqlite_url, monkeypatch, lie)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert "✗" in result.output
    assert re.search("checks failed|could not continue", result.output)
    assert "checks passed" not in result.output
    assert "It hurts." in result.output


def test_nodes_do_not_become_manageable(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo does not wait for ever."""
    monkeypatch.setattr("baremetal_sched.cli.demo.steps._PATIENCE", 0)
    lie = change("GET", "provision_state", body=with_all("nodes", provision_state="verifying"))
    result = play(sqlite_url, monkeypatch, lie)
    assert result.exit_code == 1
    # The box that it is printed in may break the line anywhere.
    assert "Nodes that are not manageable are not offered" in " ".join(result.output.replace("│", " ").split())


def test_no_answer(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(method: str, path: str, answer: DemoAnswer) -> DemoAnswer:
        raise DemoFailed(f"{method} {path}: Connection refused")

    result = play(sqlite_url, monkeypatch, lie)
    assert result.exit_code == 1
    assert "Connection refused" in result.output


def test_process_that_ends_is_told(tmp_path: Path) -> None:
    """A process that cannot start is an error with what it said."""
    running = Service(tmp_path)
    running._run("serve", ("serve", "--magic"))
    try:
        running.processes[0].popen.wait(30)
        with pytest.raises(DemoFailed, match=r"(?s)serve ended with status 2.*--magic"):
            running.require_alive()
    finally:
        running.stop()
