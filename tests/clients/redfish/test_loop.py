"""The service as its own data centre: nodes of type fake-hardware become Redfish systems (``--ironic-cloud``), and
these are nodes of type redfish.

A call of such a node waits for one of the node behind it, and both want a place in the same pools. As long as there are
fewer machines than places, all is well; with more of them the calls hold each other up, and their time must end that.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.emulators import Emulator, ironic_cloud
from tests.processes import Client, Values, serve
from tests.waiting import wait_until

#: Seconds that a request waits for a driver in the test of the deadlock, and how late it may be answered.
ANSWER_SECONDS, LATE = 4, 10


class Loop:
    """The service, and the emulator that shows its nodes."""

    def __init__(self, client: Client, url: str, emulator: Emulator) -> None:
        self.client = client
        self.url = url
        self.emulator = emulator

    def enrol(self, count: int) -> list[str]:
        """A redfish node for each system; returns their names."""
        names = [f"outer-{number}" for number in range(count)]
        for number, name in enumerate(names):
            body = {
                "name": name,
                "driver": "redfish",
                "automated_clean": False,
                "driver_info": self.emulator.driver_info(number),
            }
            response = self.client.baremetal("POST", "/nodes", body)
            assert response.status_code == 201, response.text
        return names

    def node(self, name: str) -> dict[str, Any]:
        """A node as the API shows it."""
        document: dict[str, Any] = self.client.baremetal("GET", f"/nodes/{name}").json()
        return document

    def put(self, path: str, **body: Any) -> None:
        """A request that a conductor does something about."""
        response = self.client.baremetal("PUT", path, body)
        assert response.status_code in (202, 204), response.text

    def wait_for(self, name: str, **values: Any) -> None:
        """Wait until the fields of a node have these values."""

        def arrived() -> bool:
            node = self.node(name)
            assert node["last_error"] is None, node["last_error"]
            return {field: node[field] for field in values} == values

        wait_until(arrived, f"{name} to be {values}")


@contextmanager
def _loop(folder: Path, count: int, settings: Values) -> Iterator[Loop]:
    told: dict[str, dict[str, Any]] = {
        "DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware"},
        **{group: dict(values) for group, values in settings.items()},
    }
    with serve(folder, settings=told) as (_, url), Client(url) as client:
        for number in range(count):
            body = {"name": f"inner-{number}", "uuid": _uuid(number), "driver": "fake-hardware"}
            assert client.baremetal("POST", "/nodes", body).status_code == 201
        with ironic_cloud(f"{url}/baremetal") as emulator:
            yield Loop(client, url, emulator)


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-0000000010ad"


def test_four_machines(tmp_path: Path) -> None:
    """Managed, switched and told what to boot from: what is done to a node is done to the node behind it."""
    with _loop(tmp_path, 4, {}) as loop:
        names = loop.enrol(4)
        for name in names:
            loop.put(f"/nodes/{name}/states/provision", target="manage")
        for name in names:
            loop.wait_for(name, provision_state="manageable", reservation=None)
        for target, state in (("power on", "power on"), ("rebooting", "power on"), ("power off", "power off")):
            for name in names:
                loop.put(f"/nodes/{name}/states/power", target=target)
            for number, name in enumerate(names):
                loop.wait_for(name, power_state=state, target_power_state=None, reservation=None)
                assert loop.node(f"inner-{number}")["power_state"] == state
        for name in names:
            loop.put(f"/nodes/{name}/management/boot_device", boot_device="pxe")
            answer = loop.client.baremetal("GET", f"/nodes/{name}/management/boot_device")
            assert answer.json()["boot_device"] == "pxe"


def test_more_machines_than_the_pools_hold(tmp_path: Path) -> None:
    """Each call waits for one that finds no place: every request is answered in time, says so, and the service is as
    good as before."""
    pools = {"conductor": {"driver_calls_at_once": 2, "answer_timeout": ANSWER_SECONDS}}
    with _loop(tmp_path, 6, pools) as loop:
        names = loop.enrol(6)

        def ask(name: str) -> tuple[int, str, float]:
            began = time.monotonic()
            headers = {"X-OpenStack-Ironic-API-Version": "1.115"}
            url = f"{loop.url}/baremetal/v1/nodes/{name}/management/boot_device"
            answer = requests.get(url, headers=headers, timeout=60)
            return answer.status_code, answer.text, time.monotonic() - began

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(ask, names))
        assert all(seconds < ANSWER_SECONDS + LATE for _, _, seconds in answers), answers
        refused = [text for status, text, _ in answers if status != 200]
        assert refused
        assert all("did not start the driver call" in text or "did not answer within" in text for text in refused), (
            refused
        )

        def works_again() -> bool:
            return ask(names[0])[0] == 200

        wait_until(works_again, "a call to be answered as before")
