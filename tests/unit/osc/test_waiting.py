"""Claims through the scheduling API: one request, and nothing is left behind."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.claiming import NothingFits
from baremetal_sched.osc.client import RequestFailed
from baremetal_sched.osc.waiting import ProgressLine, clock, duration, make_claim

BUSY = RequestFailed("Busy", 503)
UNANSWERED = ConnectFailure("no route")
DIFFERS = RequestFailed("Claim a exists, and was made with another body.", 409)


class Scheduling:
    """A scheduling API whose claim has these states, one after the other; ``faults`` are raised first."""

    def __init__(self, *states: str, faults: tuple[BaseException, ...] = ()) -> None:
        self._states = iter(states)
        self._faults: Iterator[BaseException] = iter(faults)
        self.made: list[Any] = []
        self.deleted: list[str] = []

    def request(self, service: str, method: str, path: str, body: Any = None) -> Any:
        """The requests: a claim, reads and deletions."""
        fault = next(self._faults, None)
        if fault is not None:
            raise fault
        if method == "DELETE":
            self.deleted.append(path)
            return None
        if method == "POST":
            self.made.append(body)
        state = next(self._states)
        return {"uuid": "a", "state": state, "count": 2, "position": 2, "reason": "None is free."}


def claim_in(scheduling: Scheduling, said: list[str] | None = None, *, is_new: bool = True) -> Any:
    say: Callable[..., None] = lambda what, waited, seconds: None if said is None else said.append(what)  # noqa: E731
    body = {"consumer": {"uuid": "a"}, "wait": 60}
    return make_claim(scheduling, body, say, is_new=is_new, pause=lambda seconds: None)  # type: ignore[arg-type]


def test_a_claim_is_one_request() -> None:
    scheduling, said = Scheduling("waiting", "waiting", "claimed"), list[str]()
    assert claim_in(scheduling, said)["state"] == "claimed"
    assert (len(scheduling.made), scheduling.deleted) == (1, [])
    assert said == ["2 machines, position 2 in the queue. None is free."] * 2


def test_one_that_waits_in_vain() -> None:
    scheduling = Scheduling("waiting", "timed_out")
    with pytest.raises(NothingFits, match="None is free"):
        claim_in(scheduling)
    assert scheduling.deleted == ["/claims/a"]


def test_an_interrupted_command_gives_all_back() -> None:
    for faults in ((KeyboardInterrupt(),), (BUSY, KeyboardInterrupt())):
        scheduling = Scheduling("claimed", faults=faults)
        with pytest.raises(KeyboardInterrupt):
            claim_in(scheduling)
        assert scheduling.deleted == ["/claims/a"]


def test_what_is_notanswered_is_asked_again(subtests: pytest.Subtests) -> None:
    for fault in [BUSY, UNANSWERED]:
        with subtests.test(fault=fault):
            assert claim_in(Scheduling("claimed", faults=(fault, fault)))
            scheduling = Scheduling(faults=(fault, fault, fault))
            with pytest.raises(type(fault)):
                claim_in(scheduling)
            assert scheduling.deleted == ["/claims/a"]


def test_a_refused_claim_leaves_an_earlier_one_alone() -> None:
    for is_new in (True, False):
        scheduling = Scheduling(faults=(DIFFERS,))
        with pytest.raises(RequestFailed, match="with another body"):
            claim_in(scheduling, is_new=is_new)
        assert scheduling.deleted == []


def test_an_earlier_claim_of_the_same_uuid_is_named_not_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    scheduling = Scheduling(faults=(UNANSWERED,) * 3)
    with pytest.raises(ConnectFailure):
        claim_in(scheduling, is_new=False)
    assert scheduling.deleted == []
    assert "openstack scheduling claim cancel a" in capsys.readouterr().err


def test_what_cannot_be_given_back_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConnectFailure):
        claim_in(Scheduling(faults=(UNANSWERED,) * 6))
    assert "openstack scheduling claim cancel a" in capsys.readouterr().err


def test_only_what_is_not_free_fits_nothing() -> None:
    for code in ("scheduling.nothing_free", "scheduling.never_fits"):
        with pytest.raises(NothingFits, match="None is free"):
            claim_in(Scheduling(faults=(RequestFailed("None is free.", 409, code),)))


def test_a_service_that_is_too_old() -> None:
    with pytest.raises(CommandError, match="too old"):
        claim_in(Scheduling(faults=(RequestFailed("The resource could not be found.", 404),)))


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
