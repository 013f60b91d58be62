"""Claims that wait: all or none, and nothing is left behind."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.claiming import Consumers, NothingFits
from baremetal_sched.osc.client import RequestFailed
from baremetal_sched.osc.waiting import ProgressLine, claim_when_free, clock, duration

BUSY = RequestFailed("Busy", 503)
UNANSWERED = ConnectFailure("no route")


class Scheduling:
    """A scheduling API whose claims have these states, one after the other; ``faults`` are raised first."""

    def __init__(self, states: dict[str, list[str]], faults: tuple[BaseException, ...] = ()) -> None:
        self.states = {uuid: iter(each) for uuid, each in states.items()}
        self.faults: Iterator[BaseException] = iter(faults)
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.bodies: list[Any] = []

    def request(self, service: str, method: str, path: str, body: Any = None) -> Any:
        """The requests: claims, reads and deletions."""
        fault = next(self.faults, None)
        if fault is not None:
            raise fault
        if method == "POST":
            self.bodies.append(body)
            self.made.append(body["consumer"]["uuid"])
        uuid = body["consumer"]["uuid"] if body else path.removeprefix("/claims/").partition("?")[0]
        if method == "DELETE":
            self.deleted.append(uuid)
            return None
        state = next(self.states[uuid])
        held = {"disk": {"resources": {"DISK_GB": 1}}, f"node-{uuid}": {"resources": {"CUSTOM_GOLD": 1}}}
        return {
            "state": state,
            "resource_class": "CUSTOM_GOLD",
            "allocations": held if state == "claimed" else {},
            "position": 2,
            "reason": "None is free.",
        }


def wait_for(scheduling: Scheduling, said: list[str] | None = None) -> list[str]:
    consumers = Consumers([*scheduling.states], True, "p", "u", "INSTANCE")
    say: Callable[..., None] = lambda what, waited, seconds: None if said is None else said.append(what)  # noqa: E731
    found = claim_when_free(scheduling, "resources=CUSTOM_GOLD:1", consumers, 60, say, pause=lambda seconds: None)  # type: ignore[arg-type]
    return [each.node for each in found]


def test_all_are_waited_for() -> None:
    scheduling, said = Scheduling({"a": ["claimed"], "b": ["waiting", "waiting", "claimed"]}), []
    assert wait_for(scheduling, said) == ["node-a", "node-b"]
    assert (scheduling.made, scheduling.deleted) == (["a", "b"], [])
    assert said == ["machine 2 of 2, position 2 in the queue. None is free."] * 2
    assert scheduling.bodies[0]["wait"] == 60


def test_one_that_waits_in_vain() -> None:
    scheduling = Scheduling({"a": ["claimed"], "b": ["timed_out"]})
    with pytest.raises(NothingFits, match="None is free"):
        wait_for(scheduling)
    assert scheduling.deleted == ["a", "b"]


def test_an_interrupted_command_gives_all_back() -> None:
    scheduling = Scheduling({"a": ["claimed"]}, (KeyboardInterrupt(),))
    with pytest.raises(KeyboardInterrupt):
        wait_for(scheduling)
    assert scheduling.deleted == ["a"]


def test_what_is_not_answered_is_asked_again(subtests: pytest.Subtests) -> None:
    for fault in [BUSY, UNANSWERED]:
        with subtests.test(fault=fault):
            assert wait_for(Scheduling({"a": ["claimed"]}, (fault, fault))) == ["node-a"]
            scheduling = Scheduling({"a": ["claimed"]}, (fault, fault, fault))
            with pytest.raises(type(fault)):
                wait_for(scheduling)
            assert scheduling.deleted == ["a"]


def test_what_cannot_be_given_back_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RequestFailed, match="wrong"):
        wait_for(Scheduling({"a": []}, (RequestFailed("wrong", 409), *[BUSY] * 3)))
    assert "openstack scheduling claim cancel a" in capsys.readouterr().err


def test_a_service_that_is_too_old() -> None:
    with pytest.raises(CommandError, match="too old"):
        wait_for(Scheduling({"a": []}, (RequestFailed("The resource could not be found.", 404),)))


def test_times() -> None:
    assert [duration(each) for each in ("90", "30s", "2m", "1h", "1d")] == [90, 30, 120, 3600, 86400]
    for wrong in ("", "h", "1w", "-1", "1.5h", "1 h", "9999999999"):
        with pytest.raises(argparse.ArgumentTypeError):
            duration(wrong)
    assert clock(3723.9) == "1:02:03"


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    progress = ProgressLine()
    for waited in (1, 2):
        progress.say("machine 1 of 1", waited, 60)
    progress.end()
    assert capsys.readouterr().err == "machine 1 of 1\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress.say("machine 1 of 1", 3, 60)
    progress.end()
    assert capsys.readouterr().err == "\r\x1b[K0:00:03 of 0:01:00: machine 1 of 1\n"
