"""A fleet of which some machines never answer: the others are served as if there were none.

In processes as people run them: 100 machines of ``slow-hardware``, 30 of them hang.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles

import pytest

from tests.processes import Client, serve
from tests.slow_hardware import FOLDER
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

MACHINES, HANGING = 100, 30
#: Seconds between two comparisons of power states.
ROUND = 5.0
SETTINGS = {
    "DEFAULT": {"enabled_hardware_types": "fake-hardware,slow-hardware", "graceful_shutdown_timeout": 1},
    "conductor": {
        "sync_power_state_interval": ROUND,
        "force_power_state_during_sync": False,
        "power_state_sync_max_retries": 1000,
        "driver_call_timeout": 8,
    },
}


@pytest.fixture
def url(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A service with the machines, whose power is on."""
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    with serve(tmp_path, "--database", database_url, settings=SETTINGS) as (_, url), ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: _create(url, number), range(MACHINES)))
        wait_until(lambda: set(_power(url).values()) == {"power on"}, "all machines to be on")
        yield url


def _create(url: str, number: int) -> None:
    with Client(url) as client:
        driver_info = {"redfish_address": f"https://10.0.0.{number}"}
        body = {"driver": "slow-hardware", "name": f"n{number}", "driver_info": driver_info}
        assert client.baremetal("POST", "/nodes", body, version="1.10").status_code == 201
        assert client.baremetal("PUT", f"/nodes/n{number}/states/power", {"target": "power on"}).status_code == 202


def _tell(client: Client, number: int, **told: object) -> None:
    """Change what the machine does."""
    patch = [{"op": "add", "path": f"/driver_info/{name}", "value": value} for name, value in told.items()]

    def accepted() -> bool:  # its power may just be looked at
        return client.baremetal("PATCH", f"/nodes/n{number}", patch).status_code == 200

    wait_until(accepted, "the change")


def _power(url: str) -> dict[str, str]:
    with Client(url) as client:
        nodes = client.baremetal("GET", "/nodes?fields=name,power_state").json()["nodes"]
        return {node["name"]: node["power_state"] for node in nodes}


def _latency(url: str) -> float:
    """The time within which 95 of 100 lists of all nodes are answered."""
    with Client(url) as client:
        times = []
        for _ in range(100):
            begun = time.monotonic()
            assert client.baremetal("GET", "/nodes").status_code == 200
            times.append(time.monotonic() - begun)
    return quantiles(times, n=20)[-1]


def test_machines_that_hang_delay_no_others(url: str) -> None:
    """Neither the comparison of power states, nor requests, nor the work of conductors on others."""
    before = _latency(url)
    hanging = {f"n{number}" for number in range(HANGING)}
    with Client(url) as client:
        for number in range(HANGING):
            _tell(client, number, slow={"*": {"hangs": True}})
        for number in range(MACHINES):
            _tell(client, number, power_state="power off")
        begun = time.monotonic()
        wait_until(lambda: _power_of_others(url, hanging) == {"power off"}, "the others to be compared")
        took = time.monotonic() - begun
        during = _latency(url)
        print(f"\n{MACHINES - HANGING} machines compared after {took:.1f} s, rounds are {ROUND:g} s apart")
        print(f"95 of 100 lists within {before * 1000:.0f} ms without, {during * 1000:.0f} ms with {HANGING} that hang")
        assert took <= 2 * ROUND
        assert during <= 2 * before + 0.01
        assert {_power(url)[name] for name in hanging} == {"power on"}


def test_work_on_machines_that_hang_takes_no_worker(url: str) -> None:
    """More of them than there are workers; in the end they are free, and say why."""
    with Client(url) as client:
        for number in range(20):
            _tell(client, number, slow={"power.set_power_state": {"hangs": True}})
            client.baremetal("PUT", f"/nodes/n{number}/states/power", {"target": "rebooting"})
        begun = time.monotonic()
        client.baremetal("PUT", "/nodes/n50/states/power", {"target": "power off"})
        wait_until(lambda: _power(url)["n50"] == "power off", "another one to be switched")
        print(f"\nanother machine was switched after {time.monotonic() - begun:.1f} s")
        assert time.monotonic() - begun < 7.5  # they lose their workers after 5 s, and fail after 8 s

        def errors() -> list[str | None]:
            nodes = client.baremetal("GET", "/nodes?fields=name,reservation,last_error").json()["nodes"]
            free = [node for node in nodes if node["reservation"] is None]
            return [node["last_error"] for node in free if node["last_error"]]

        wait_until(lambda: len(errors()) == 20, "the work to be given up")
        error = "The machine does not answer: power.set_power_state of its driver was given up after 8 seconds."
        assert set(errors()) == {error}


def _power_of_others(url: str, hanging: set[str]) -> set[str]:
    return {state for name, state in _power(url).items() if name not in hanging}
