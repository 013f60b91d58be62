"""100 machines behind Redfish controllers, of which 30 take requests and never answer: the others do not notice.

In processes as people run them, with the time-outs that they have.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles

import pytest

from tests.processes import Client, serve
from tests.redfish.fleet import Fleet, fleet
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

MACHINES, HANGING = 100, 30
#: Seconds between two comparisons of power states.
ROUND = 4.0
#: Seconds more that a machine may take that is busy with other tests.
SLOW = 4.0
SETTINGS = {
    "DEFAULT": {"enabled_hardware_types": "fake-hardware,redfish", "graceful_shutdown_timeout": 1},
    "conductor": {
        "sync_power_state_interval": ROUND,
        "power_failure_recovery_interval": ROUND,
        "force_power_state_during_sync": False,
        "power_state_sync_max_retries": 0,
    },
}


@pytest.fixture
def controllers() -> Iterator[Fleet]:
    with fleet(MACHINES) as found:
        yield found


@pytest.fixture
def url(tmp_path: Path, controllers: Fleet, database_url: str) -> Iterator[str]:
    """A service with the machines, whose power is on."""
    with serve(tmp_path, "--database", database_url, settings=SETTINGS) as (_, url):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: _create(url, controllers, number), range(MACHINES)))
        wait_until(lambda: set(_power(url).values()) == {"power on"}, "all machines to be on")
        yield url


def _create(url: str, controllers: Fleet, number: int) -> None:
    with Client(url) as client:
        driver_info = {"redfish_address": controllers.address(number)}
        body = {"driver": "redfish", "name": f"n{number}", "driver_info": driver_info}
        assert client.baremetal("POST", "/nodes", body, version="1.10").status_code == 201
        assert client.baremetal("PUT", f"/nodes/n{number}/states/power", {"target": "power on"}).status_code == 202


def _nodes(url: str, field: str) -> dict[str, object]:
    with Client(url) as client:
        nodes = client.baremetal("GET", f"/nodes?fields=name,{field}").json()["nodes"]
        return {node["name"]: node[field] for node in nodes}


def _power(url: str) -> dict[str, object]:
    return _nodes(url, "power_state")


def _latency(url: str) -> float:
    """The time within which 95 of 100 lists of all nodes are answered."""
    with Client(url) as client:
        times = []
        for _ in range(100):
            begun = time.monotonic()
            assert client.baremetal("GET", "/nodes").status_code == 200
            times.append(time.monotonic() - begun)
    return quantiles(times, n=20)[-1]


def test_controllers_that_hang_cost_their_own_machines_only(url: str, controllers: Fleet) -> None:
    """The others are compared within two rounds, requests take no longer, and the hanging ones are in maintenance,
    until they answer again."""
    before = _latency(url)
    hanging = {f"n{number}" for number in range(HANGING)}
    others = {f"n{number}" for number in range(HANGING, MACHINES)}
    controllers.hanging = set(range(HANGING))
    controllers.power = ["Off"] * MACHINES
    begun = time.monotonic()
    wait_until(lambda: {_power(url)[name] for name in others} == {"power off"}, "the others to be compared")
    took = time.monotonic() - begun
    during = _latency(url)
    print(f"\n{len(others)} machines compared after {took:.1f} s, rounds are {ROUND:g} s apart")
    print(f"95 of 100 lists within {before * 1000:.0f} ms without, {during * 1000:.0f} ms with {HANGING} that hang")
    assert took <= 2 * ROUND + SLOW
    assert during <= 2 * before + 0.05

    def faulty() -> set[str]:
        return {name for name, fault in _nodes(url, "fault").items() if fault == "power failure"}

    wait_until(lambda: faulty() == hanging, "the hanging ones to be in maintenance")
    controllers.hanging = set()
    wait_until(lambda: not faulty(), "them to come back")
    assert set(_power(url).values()) == {"power off"}
