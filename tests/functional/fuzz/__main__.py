"""Fuzz a served process for a given time: ``python -m tests.functional.fuzz --seconds 1800``.

One process serves the API over HTTP, with a conductor beside it, on a database of its own (SQLite, if ``--database``
names no other; that is filled, and not emptied). Every batch of requests is followed by ``db check`` and by a look at
every list. It ends with status 1 if anything was answered with 5xx other than 503, if a connection was closed instead,
if a list broke, if the audit found something, or if the service logged an error. Memory is printed as it was at the
start, after each tenth of the time, and at the end.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, redirect_stdout, suppress
from pathlib import Path
from queue import Queue
from threading import Thread

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load
from tests.functional.fuzz import checks
from tests.functional.fuzz.all_attacks import Kinds, all_kinds
from tests.functional.fuzz.attacks import Attack
from tests.functional.fuzz.headers import FRAMING, hostile_headers
from tests.functional.fuzz.requests import Request, edges, requests
from tests.functional.fuzz.test_every_route import DESCRIBED, VERSIONS
from tests.functional.fuzz.wire import Answer, Wire
from tests.functional.fuzz.words import Words
from tests.functional.fuzz.worlds import LARGE, SMALL, World
from tests.processes import conductor, serve

_SETTINGS = {"api": {"max_json_body_depth": 100}, "oslo_middleware": {"enable_proxy_headers_parsing": True}}
_BATCH_SECONDS = 20
#: Requests of one example: it takes some of the randomness of which Hypothesis gives each example a limited amount.
_PER_EXAMPLE = 4
_OTHER_PATHS = (
    "",
    "/",
    "/v1",
    "/v1/",
    "/v2",
    "/v1/nodes/",
    "//",
    "/%00",
    "/%ff",
    "/v1/nodes/%2e%2e/x",
    "/" + "a" * 7000,
)


class _Ended(Exception):
    """The time of a batch is over. Hypothesis is told so by an error, after a whole example, which it then repeats."""


class Tally:
    """The requests, their answers, and the wrong ones among these."""

    def __init__(self, folder: Path) -> None:
        self.statuses: Counter[int] = Counter()
        self.by_kind: dict[str, Counter[int]] = {}
        self.slowest: dict[str, float] = {}
        self.complaints: Counter[str] = Counter()
        self._file = (folder / "failures").open("a")

    def note(self, kind: str, request: Request, answer: Answer, seconds: float) -> None:
        self.statuses[answer.status] += 1
        self.by_kind.setdefault(kind, Counter())[answer.status] += 1
        self.slowest[kind] = max(self.slowest.get(kind, 0), seconds)
        misframed = any(name in FRAMING for name, _ in request.headers)
        # 501 is the answer to a transfer coding that a server does not know (RFC 9112, 6.1), and to changes of quotas.
        has_no_quotas = answer.status == 501 and "There are no quotas" in answer.text
        refused = has_no_quotas or (misframed and answer.status in (0, 501))
        if not (0 < answer.status < 500 or answer.status == 503 or refused):
            self.complain(f"{kind}: {request.method} {answer.status}", f"{request} -> {answer.text}")

    def complain(self, what: str, details: str) -> None:
        self.complaints[what] += 1
        if self.complaints[what] <= 5:
            print(f"{what}: {details}"[:3000], file=self._file, flush=True)
            say(f"FOUND {what}: {details}"[:600])


def say(text: str) -> None:
    print(text, file=sys.__stdout__, flush=True)


def memory(pid: int) -> float:
    """Resident memory of a process, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise LookupError(pid)


def _send_all(url: str, queue: "Queue[tuple[str, Attack] | None]", tally: Tally) -> None:
    wire = Wire(url)
    while (item := queue.get()) is not None:
        kind, (api, request) = item
        started = time.monotonic()
        try:
            tally.note(kind, request, wire.send(api, request), time.monotonic() - started)
        except Exception as error:
            tally.complain("the fuzzer itself", f"{request} {error!r}")
        queue.task_done()
    wire.close()


def _drawn(data: st.DataObject, kinds: Kinds, words: Words) -> tuple[str, Attack]:
    """A request: to an edge, or to any route, or to no route; some with odd headers."""
    match data.draw(st.integers(0, 9)):
        case 0 | 1 | 2 | 3 | 4:
            kind = data.draw(st.sampled_from(sorted(kinds)))
            api, request = data.draw(st.composite(kinds[kind])())
        case 9:
            kind, api = (
                "other paths",
                data.draw(st.sampled_from(["baremetal", "placement", "x", "metrics", "healthcheck"])),
            )
            path = data.draw(st.sampled_from(_OTHER_PATHS))
            request = Request(
                data.draw(st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "TRACE", "FOO"])), path, "", 1, None
            )
        case _:
            kind = "any route"
            api, route, section = data.draw(st.sampled_from(DESCRIBED))
            request = data.draw(requests(api, route, edges(route, section, *VERSIONS[api]), words))
    if data.draw(st.integers(0, 5)) == 0:
        request = Request(**{**vars(request), "headers": data.draw(hostile_headers(framing=True))})
    return kind, (api, request)


def _batch(queue: "Queue[tuple[str, Attack] | None]", kinds: Kinds, words: Words, until: float) -> None:
    """Put requests into the queue until it is time."""

    @seed(random.getrandbits(64))
    @settings(
        max_examples=10**9,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def generate(data: st.DataObject) -> None:
        for _ in range(_PER_EXAMPLE):
            queue.put(_drawn(data, kinds, words))
        if time.monotonic() > until:
            raise _Ended

    with suppress(_Ended):
        generate()
    queue.join()


def _look(wire: Wire, world: World, database: Database, tally: Tally) -> None:
    """After a batch: check that everything is sound, then make missing things again."""
    for problem in checks.damage(database):
        tally.complain("db check", problem)
    nodes = random.sample(world.nodes, min(20, len(world.nodes)))
    providers = random.sample(world.chain + world.children[1::2], 10)
    for problem in checks.broken_lists(wire.call, nodes, providers):
        tally.complain("a list", problem)
    world.trim(wire.call)
    _restore(wire, world)


def _restore(wire: Wire, world: World) -> None:
    world.restore(wire.call)
    world.provision(wire.call)
    world.claim(wire.call)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.functional.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=4, help="Connections that send at the same time.")
    parser.add_argument("--database", help="URL; a new SQLite file if not given.")
    parser.add_argument("--small", action="store_true", help="A world of a few nodes.")
    parser.add_argument("--folder", type=Path, help="Where logs and failures are written; removed unless given.")
    return parser.parse_args()


def main() -> int:
    options = _arguments()
    with Path("/dev/null").open("w") as nowhere, ExitStack() as stack:
        stack.enter_context(redirect_stdout(nowhere))  # each program prints the end of its log when it is closed
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        url = options.database or f"sqlite:///{folder}/fuzz.sqlite"
        arguments = ("--database", url)
        served, address = stack.enter_context(serve(folder, "--without-conductor", *arguments, settings=_SETTINGS))
        working = stack.enter_context(conductor(folder, "c1", *arguments, settings=_SETTINGS))
        (worker,) = map(int, Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split())
        database = Database(load(overrides={"database": {"connection": url}}))
        stack.callback(database.dispose)
        tally = Tally(folder)
        _fuzz(options, address, database, tally, {"service": worker, "conductor": working.process.pid})
        if errors := served.log.count('"level": "error"'):
            tally.complain("errors in the service's log", f"{errors} lines")
        say(f"found: {dict(tally.complaints) or 'nothing'}")
        return 1 if tally.complaints else 0


def _fuzz(options: argparse.Namespace, url: str, database: Database, tally: Tally, pids: dict[str, int]) -> None:
    wire, world = Wire(url), World(SMALL if options.small else LARGE)
    queue: Queue[tuple[str, Attack] | None] = Queue(options.threads * 2)
    threads = [Thread(target=_send_all, args=(url, queue, tally), daemon=True) for _ in range(options.threads)]
    for thread in threads:
        thread.start()
    _print_memory("idle", 0, tally, pids)
    began = time.monotonic()
    for _ in range(3):
        _restore(wire, world)
        time.sleep(5)
    _print_memory("world made", time.monotonic() - began, tally, pids)
    began = time.monotonic()
    marks = iter([began + options.seconds * tenth / 10 for tenth in range(1, 11)])
    mark = next(marks)
    while (now := time.monotonic()) < began + options.seconds:
        kinds = all_kinds(world, words := world.words(wire.call), world.generations(wire.call))
        _batch(queue, kinds, words, min(now + _BATCH_SECONDS, began + options.seconds))
        _look(wire, world, database, tally)
        if time.monotonic() >= mark:
            _print_memory("running", time.monotonic() - began, tally, pids)
            mark = next((later for later in marks if later > time.monotonic()), began + options.seconds)
    for _ in threads:
        queue.put(None)
    _report(tally, pids, time.monotonic() - began)


def _print_memory(when: str, seconds: float, tally: Tally, pids: dict[str, int]) -> None:
    figures = ", ".join(f"{name} {memory(pid):.0f} MB" for name, pid in pids.items())
    say(f"{seconds:6.0f} s  {when}: {figures}; {sum(tally.statuses.values())} requests")


def _report(tally: Tally, pids: dict[str, int], seconds: float) -> None:
    _print_memory("end", seconds, tally, pids)
    say(f"statuses: {dict(sorted(tally.statuses.items()))}")
    for kind, statuses in sorted(tally.by_kind.items()):
        say(f"  {kind:22} slowest {tally.slowest[kind]:6.2f} s  {dict(sorted(statuses.items()))}")


if __name__ == "__main__":
    sys.exit(main())
