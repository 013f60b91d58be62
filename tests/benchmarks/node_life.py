"""Processor that fake nodes cost through their life: create, manage, power off, provide, deploy, undeploy.

    python -m tests.benchmarks.node_life                          # MariaDB at mariadb://root@127.0.0.1, beside Ironic
    python -m tests.benchmarks.node_life --database postgresql --before ../fe463   # beside another checkout
    python -m tests.benchmarks.node_life --many                   # deploy 500 nodes at once, and 50 at once
    python -m tests.benchmarks.node_life --rest --before ../fe463 # 2,000 idle nodes, whose power is asked
    python -m tests.benchmarks.node_life --redfish                # 50 emulated systems: manage, power, power sync
    python -m tests.benchmarks.node_life --profile FOLDER         # functions of our service, by their own time

Each side is one service with its conductor; the sides take turns. Counted are the seconds of a processor of the service
and its children, not of the database, the client and the emulated machines. What a side that rests needs in the same
time is printed apart, and is contained in the figures of its life. At rest the memory of these processes is printed.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks import life_redfish, life_sides, servers
from tests.benchmarks.baremetal import original
from tests.benchmarks.life_sides import Side
from tests.benchmarks.stores import DEFAULT_URLS, MARIADB_DRIVERS, Store
from tests.emulators import fake_systems
from tests.originals import CACHE

#: At least how many times less processor than Ironic a whole life, and its worst phase, take with PyMySQL.
TARGET, WORST = 3.0, 2.0
#: At most the share of what the version before needs: a life on PostgreSQL, and rest by database.
LIFE, REST = 0.55, {"postgresql": 0.5, "mariadb": 0.7}
#: At most the share of its memory.
MEMORY = 1.0
#: A deployment among 500 takes at most so many times as much as one among 50.
MANY = 1.15
#: Seconds within which a phase ends, and between two looks of the client.
_PATIENCE, _PAUSE = 900.0, 1.0

_IMAGE = {"image_source": "http://127.0.0.1/i", "image_checksum": "a" * 32, "root_gb": 10}
#: Phases: method, path below the node, body, and the field that shows the end with its value.
PHASES: dict[str, tuple[str, str, Any, tuple[str, str] | None]] = {
    "create": ("POST", "", None, None),
    "manage": ("PUT", "/states/provision", {"target": "manage"}, ("provision_state", "manageable")),
    "power off": ("PUT", "/states/power", {"target": "power off"}, ("power_state", "power off")),
    "provide": ("PUT", "/states/provision", {"target": "provide"}, ("provision_state", "available")),
    "PATCH instance_info": ("PATCH", "", [{"op": "add", "path": "/instance_info", "value": _IMAGE}], None),
    "deploy": ("PUT", "/states/provision", {"target": "active"}, ("provision_state", "active")),
    "undeploy": ("PUT", "/states/provision", {"target": "deleted"}, ("provision_state", "available")),
}
_MEMORY = "MiB of memory (PSS)"
#: Of ``--redfish`` alone.
_POWER_ON = {"power on": ("PUT", "/states/power", {"target": "power on"}, ("power_state", "power on"))}
_BY_CONDUCTORS = [name for name, (*_, goal) in PHASES.items() if goal]


def phase(side: Side, name: str, names: list[str], driver: str = "fake-hardware") -> float:
    """Take these nodes through a phase; return the milliseconds of a processor for each of them."""
    method, below, body, goal = (PHASES | _POWER_ON)[name]
    side.client = side.client.another()  # servers close connections that rest
    before = side.processor()
    for node in names:
        if name == "create":
            body = {"driver": driver, "name": node, "resource_class": "life"}
        path = "/v1/nodes" if name == "create" else f"/v1/nodes/{node}{below}"
        for _ in range(100):
            answer = side.client.ask(method, path, body)
            if answer.status not in (409, 503):  # locked, or busy
                break
            time.sleep(0.1)
        if answer.status >= 300:
            raise servers.Failed(f"{side.name}: {method} {path}: {answer.status} {answer.body[:300]!r}")
    if goal:
        _await(side, set(names), *goal)
    return 1000 * (side.processor() - before) / len(names)


def _await(side: Side, names: set[str], field: str, value: str) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        nodes: list[dict[str, Any]] = []
        while not nodes or len(nodes) % 1000 == 0:
            marker = f"&marker={nodes[-1]['uuid']}" if nodes else ""
            page = side.client.call("GET", f"/v1/nodes?fields=uuid,name,{field}&limit=1000{marker}").json()["nodes"]
            nodes += page
            if not page:
                break
        left = [node[field] for node in nodes if node["name"] in names and node[field] != value]
        if not left:
            return
        if time.monotonic() > until:
            raise servers.Failed(f"{side.name}: {len(left)} nodes did not reach {value!r}, but {left[0]!r}")
        time.sleep(_PAUSE)


def life(side: Side, nodes: int) -> dict[str, float]:
    """Take new nodes through all phases; return the milliseconds of a processor for a node, by phase."""
    began = time.monotonic()
    names = side.new_names(nodes)
    taken = {name: phase(side, name, names) for name in PHASES}
    taken["all"] = sum(taken.values())
    seconds = time.monotonic() - began
    before = side.processor()
    time.sleep(seconds)
    taken["at rest, as long"] = 1000 * (side.processor() - before) / nodes
    return taken


def many(side: Side, nodes: int) -> dict[str, float]:
    """Deploy and undeploy a few nodes at once and ten times as many; return milliseconds for a deployment of each."""
    taken = {}
    for count in (max(1, nodes // 10), nodes):
        names = side.new_names(count)
        milliseconds = {name: phase(side, name, names) for name in PHASES}
        taken[f"deploy, {count} at once"] = milliseconds["deploy"]
    few, most = taken.values()
    print(f"  {side.name}: {most / few:.2f} times as much (at most {MANY})", flush=True)
    return taken


class Rest:
    """Idle nodes of slow_hardware, whose power the sync asks; those that are missing are made first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, side: Side, nodes: int) -> dict[str, float]:
        """Return the milliseconds of a processor that the side needs in a minute, and its memory."""
        if missing := nodes - side.made:
            names = side.new_names(missing)
            for name in ("create", "manage"):
                phase(side, name, names, "slow-hardware")
            time.sleep(min(65.0, self._seconds))  # a first round of the sync writes down what it finds
        before = side.processor()
        time.sleep(self._seconds)
        minute = 60_000 * (side.processor() - before) / self._seconds
        return {"a minute at rest": minute, _MEMORY: side.memory()}


def measure(
    sides: list[Side], work: Callable[[Side, int], dict[str, float]], nodes: int, times: int
) -> dict[str, dict[str, float]]:
    """Let the sides take turns, once to warm up and ``times`` to be measured; return medians by side and title."""
    taken: dict[str, list[dict[str, float]]] = {side.name: [] for side in sides}
    for turn in range(times + 1):
        for side in sides:
            found = work(side, nodes if turn else max(2, nodes // 10))
            if turn:
                taken[side.name].append(found)
            print(f"  {side.name}, turn {turn}", file=sys.stderr, flush=True)
    return {name: {title: median(turn[title] for turn in turns) for title in turns[0]} for name, turns in taken.items()}


def show(medians: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    """Print the table, and how our figures relate to the targets."""
    us = medians["us"]
    print("| milliseconds of a processor |", " | ".join(us), "|\n|---|", "---|" * len(us), sep="")
    for name, row in medians.items():
        print(f"| {name} |", " | ".join(f"{value:.1f}" for value in row.values()), "|")
    for name, row in medians.items():
        if name == "ironic":
            print("| ironic / us |", " | ".join(f"{row[title] / us[title]:.2f}" for title in us), "|")
        elif name != "us":
            print(f"| us / {name} |", " | ".join(f"{us[title] / row[title]:.2f}" for title in us), "|")
    if options.quick or options.redfish:
        return
    if "ironic" in medians and "all" in us:
        ratios = {title: medians["ironic"][title] / us[title] for title in us}
        worst = min(ratios[name] for name in _BY_CONDUCTORS)
        print(f"beside Ironic: {ratios['all']:.2f} (wanted {TARGET}), worst {worst:.2f} ({WORST})")
    if "before" in medians:
        title, most = ("all", LIFE) if "all" in us else (next(iter(us)), REST.get(options.database, 1.0))
        print(f"beside before, {title}: {us[title] / medians['before'][title]:.2f} (at most {most})")
        if _MEMORY in us:
            print(f"beside before, memory: {us[_MEMORY] / medians['before'][_MEMORY]:.2f} (at most {MEMORY})")


def arguments() -> argparse.Namespace:
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.node_life", description=about)
    parser.add_argument("--database", choices=("mariadb", "postgresql"), default="mariadb")
    parser.add_argument("--url", help="server on which databases are made; by default the local one")
    parser.add_argument("--driver", choices=MARIADB_DRIVERS, default="pymysql", help="of all sides, with MariaDB")
    parser.add_argument("--nodes", type=int, help="50; 500 with --many, 2000 with --rest")
    parser.add_argument("--times", type=int, default=3, help="turns of each side")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another version of ours")
    parser.add_argument("--before-python", type=Path, help="its Python; by default that of its .venv")
    parser.add_argument("--us-alone", action="store_true", help="do not measure Ironic")
    parser.add_argument("--venv", type=Path, help=f"virtual environment of Ironic (in {CACHE})")
    parser.add_argument("--quick", action="store_true", help="smoke run of few nodes; says nothing about speed")
    parser.add_argument("--many", action="store_true", help="deploy many nodes at once")
    parser.add_argument("--rest", action="store_true", help="measure idle nodes; without Ironic")
    parser.add_argument("--redfish", action="store_true", help="measure emulated systems: manage, power, power sync")
    parser.add_argument("--profile", type=Path, metavar="FOLDER", help="write profiles of our threads there; slower")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.nodes, chosen.times = chosen.nodes or 5, 1
    chosen.nodes = chosen.nodes or (500 if chosen.many else 2000 if chosen.rest else 50)
    return chosen


@contextmanager
def started(options: argparse.Namespace, folder: Path, interval: int | None = None) -> Iterator[list[Side]]:
    """Make databases and start the sides over them; drop the databases at the end.

    ``interval``: they have the hardware type redfish, and ask machines for their power at this interval (seconds; 0:
    never).
    """
    url = options.url or DEFAULT_URLS[options.database]
    variables = {} if interval is None else life_redfish.options_of_ours(interval)
    template = original.SETTINGS if interval is None else life_redfish.settings_of_ironic(interval)
    with ExitStack() as stack:

        def store(name: str) -> Store:
            made = Store(options.database, url, f"bench_life_{name}_{os.getpid()}", folder, options.driver)
            stack.callback(made.drop)
            made.create()
            return made

        wanted = {"us": (Path(__file__).parents[2], Path(sys.executable))}
        if options.before:
            python = options.before_python or options.before / ".venv/bin/python"
            wanted["before"] = (options.before, python.absolute())
        sides = [
            stack.enter_context(life_sides.ours(name, store(name), folder, *where, options.profile, variables))
            for name, where in wanted.items()
        ]
        if not (options.us_alone or options.rest or options.database == "postgresql"):
            compiled = options.driver == "mysqldb"
            place = options.venv or CACHE / ("baremetal" if compiled else "node_life")
            python = servers.install(original.REQUIREMENT, place, mysqlclient=compiled)
            sides.append(stack.enter_context(life_sides.ironic(store("ironic"), folder, python, template)))
        yield sides


def redfish(options: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    """Measure emulated systems, first without the power sync, and then, on services of their own, the sync alone."""
    seconds = 10 if options.quick else 30
    with redirect_stdout(sys.stderr), fake_systems(options.nodes) as emulator:  # it says what it was asked
        with started(options, folder, 0) as sides:
            medians = measure(sides, life_redfish.Systems(emulator, phase), options.nodes, options.times)
            alone = life_redfish.windows(sides, seconds, options.times)
        with started(options, folder, seconds) as sides:
            systems = life_redfish.Systems(emulator, phase)
            for side in sides:
                systems.manage(side, options.nodes)
            time.sleep(seconds)  # the first round writes down what it finds
            asked = life_redfish.windows(sides, seconds, options.times)
    rounds = life_redfish.rounds(asked, alone, options.nodes)
    return {name: row | rounds[name] for name, row in medians.items()}


def main() -> None:
    """Start the sides, measure, and show what was found."""
    options = arguments()
    folder = Path(tempfile.mkdtemp(prefix="node-life-"))
    try:
        if options.redfish:
            show(redfish(options, folder), options)
        else:
            rest = Rest(10.0 if options.quick else 180.0)
            work = many if options.many else rest if options.rest else life
            with started(options, folder) as sides:
                show(measure(sides, work, options.nodes, options.times), options)
        if options.profile:
            life_sides.show_profile(options.profile)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
