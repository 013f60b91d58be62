"""Slots: so many requests at work, so many waiting, whatever threads there are."""

import io
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from baremetal_sched import gunicorn_config, start_warnings
from baremetal_sched.errors import TooManyWaiting
from baremetal_sched.settings import load
from baremetal_sched.web import slots
from baremetal_sched.web.slots import ACCEPTED_AT, REFUSAL, Slots, waiting, with_slots
from tests.waiting import PATIENCE, wait_until


class Requests:
    """A WSGI application with two slots and places for three; each request does what its path says, and remembers."""

    def __init__(self, pool: ThreadPoolExecutor, **options: Any) -> None:
        values = {"max_requests_at_work": 2, "max_requests_waiting": 3, **options}
        self._wsgi = with_slots(self._serve, load(overrides={"api": values}))
        (self._slots,) = (
            cell.cell_contents for cell in self._wsgi.__closure__ if isinstance(cell.cell_contents, Slots)
        )
        self._pool = pool
        self.go = {name: threading.Event() for name in ("work", "wait", "reserve")}
        self.log: list[str] = []

    def _serve(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if REFUSAL in environ:
            return [b"%d" % environ[REFUSAL].status]
        self.log.append(f"{path} at work")
        try:
            if path == "/work":
                self.go["work"].wait(PATIENCE)
            if path == "/reserve":
                slots.reserve()
                self.go["reserve"].wait(PATIENCE)
            if path in ("/wait", "/reserve"):
                with waiting():
                    self.log.append(f"{path} waits")
                    self.go["wait"].wait(PATIENCE)
            self.log.append(f"{path} done")
        except TooManyWaiting:
            return [b"too many"]
        return [b"done"]

    def send(self, path: str, **environ: Any) -> Future[bytes]:
        """Have a request served by a thread of its own."""
        return self._pool.submit(lambda: b"".join(self._wsgi({"PATH_INFO": path, **environ}, None)))

    def count(self, line: str, times: int) -> None:
        """Wait until this was done so often."""
        wait_until(lambda: self.log.count(line) == times, f"{line}, {times} times")

    def queue(self, length: int) -> None:
        """Wait until so many requests wait for a slot."""
        wait_until(lambda: len(self._slots._queue) == length, f"{length} requests that wait for a slot")


@pytest.fixture
def start() -> Iterator[Callable[..., Requests]]:
    started: list[Requests] = []
    with ThreadPoolExecutor(16) as pool:

        def make(**options: Any) -> Requests:
            started.append(Requests(pool, **options))
            return started[-1]

        yield make
        for requests in started:
            for event in requests.go.values():
                event.set()


def test_no_more_are_at_work_than_may_be(start: Callable[..., Requests]) -> None:
    requests = start()
    sent = [requests.send("/work") for _ in range(6)]
    requests.count("/work at work", 2)
    requests.queue(4)
    assert requests.log == ["/work at work"] * 2
    requests.go["work"].set()
    assert {each.result(PATIENCE) for each in sent} == {b"done"}


def test_who_waits_has_no_slot(start: Callable[..., Requests]) -> None:
    """And gets one again before it goes on."""
    requests = start()
    patient = [requests.send("/wait") for _ in range(3)]
    requests.count("/wait waits", 3)
    assert requests.send("/other").result(PATIENCE) == b"done"
    busy = [requests.send("/work") for _ in range(2)]
    requests.count("/work at work", 2)
    requests.go["wait"].set()
    requests.queue(3)
    assert "/wait done" not in requests.log
    requests.go["work"].set()
    assert {each.result(PATIENCE) for each in patient + busy} == {b"done"}


def test_no_more_wait_than_may(start: Callable[..., Requests]) -> None:
    requests = start()
    patient = [requests.send("/wait") for _ in range(3)]
    requests.count("/wait waits", 3)
    assert requests.send("/wait").result(PATIENCE) == b"too many"
    requests.go["wait"].set()
    assert {each.result(PATIENCE) for each in patient} == {b"done"}
    assert requests.send("/wait").result(PATIENCE) == b"done"


def test_a_reserved_place_is_there_when_it_is_needed(start: Callable[..., Requests]) -> None:
    requests = start()
    careful = requests.send("/reserve")
    requests.count("/reserve at work", 1)
    patient = [requests.send("/wait") for _ in range(2)]
    requests.count("/wait waits", 2)
    assert requests.send("/wait").result(PATIENCE) == b"too many"
    requests.go["reserve"].set()
    requests.count("/reserve waits", 1)
    requests.go["wait"].set()
    assert {each.result(PATIENCE) for each in (careful, *patient)} == {b"done"}


def test_a_request_that_finds_no_slot_in_time_is_refused(start: Callable[..., Requests]) -> None:
    """The hour that it has does not begin with the wait."""
    requests = start(request_timeout=3600)
    busy = [requests.send("/work") for _ in range(2)]
    requests.count("/work at work", 2)
    assert requests.send("/late", **{ACCEPTED_AT: time.monotonic() - 3599.9}).result(PATIENCE) == b"503"
    requests.go["work"].set()
    assert {each.result(PATIENCE) for each in busy} == {b"done"}
    assert requests.send("/other").result(PATIENCE) == b"done"


def test_one_that_waited_too_long_goes_on_without_a_slot(start: Callable[..., Requests]) -> None:
    """The work that it waited for may have been done, so it must be able to say so."""
    requests = start(request_timeout=1, max_requests_at_work=1)
    patient = requests.send("/wait", **{ACCEPTED_AT: time.monotonic() - 0.9})
    requests.count("/wait waits", 1)
    busy = requests.send("/work", **{ACCEPTED_AT: time.monotonic() + 60})
    requests.count("/work at work", 1)
    requests.go["wait"].set()
    assert patient.result(PATIENCE) == b"done"
    requests.go["work"].set()
    assert busy.result(PATIENCE) == b"done"
    assert {requests.send("/other").result(PATIENCE) for _ in range(3)} == {b"done"}


def test_life_and_refusals_need_no_slot(start: Callable[..., Requests]) -> None:
    requests = start()
    busy = [requests.send("/work") for _ in range(2)]
    requests.count("/work at work", 2)
    assert requests.send("/healthcheck/live").result(PATIENCE) == b"done"
    assert requests.send("/", **{REFUSAL: slots.RefusedRequest(400, "no")}).result(PATIENCE) == b"400"
    requests.go["work"].set()
    assert {each.result(PATIENCE) for each in busy} == {b"done"}


def test_a_failure_gives_everything_back() -> None:
    def fail(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with waiting():
            raise OSError("planted")

    options = {"max_requests_at_work": 1, "max_requests_waiting": 1}
    wsgi = with_slots(fail, load(overrides={"api": options}))
    for _ in range(3):
        with pytest.raises(OSError, match="planted"):
            wsgi({"PATH_INFO": "/"}, None)


def test_outside_of_requests_anything_may_wait() -> None:
    slots.reserve()
    with waiting():
        pass


def test_slots_are_neither_lost_nor_made() -> None:
    """A request that gives up at the moment at which its turn comes."""
    shared = Slots(3, 0)
    working, most = [0], [0]
    guard = threading.Lock()

    def take(number: int) -> bool:
        if not shared.take(time.monotonic() + 0.001 * (number % 4)):
            return False
        with guard:
            working[0] += 1
            most[0] = max(most[0], working[0])
        time.sleep(0.0005)
        with guard:
            working[0] -= 1
        shared.give_back()
        return True

    with ThreadPoolExecutor(16) as pool:
        taken = [*pool.map(take, range(1000))]
    assert True in taken
    assert False in taken
    assert most[0] == 3
    assert [shared.take(0) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(("count", "api", "warns"), [(64, {}, False), (55, {}, True), (9, {"waiting": 1}, False)])
def test_too_few_threads_are_warned_of(lines: io.StringIO, count: int, api: dict[str, int], warns: bool) -> None:
    options = {f"max_requests_{name}": value for name, value in api.items()}
    gunicorn_config.warn_of_few_threads(count, load(overrides={"api": options}))
    assert ("may take all threads" in lines.getvalue()) == warns


@pytest.mark.parametrize(("size", "overflow", "warns"), [(10, 20, False), (4, 4, False), (4, 3, True)])
def test_too_few_connections_are_warned_of(lines: io.StringIO, size: int, overflow: int, warns: bool) -> None:
    start_warnings.warn(load(overrides={"database": {"max_pool_size": size, "max_overflow": overflow}}))
    assert ("fewer connections" in lines.getvalue()) == warns
