"""A conductor that is killed (-9) while it calls a driver for a request: the machine is told once, and its node is free
again. In processes as people run them.
"""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.processes import Client, Program, conductor, serve
from tests.slow_hardware import FOLDER
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

#: Seconds for which a request waits for its driver.
ANSWER_TIMEOUT = 4
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "fake-hardware,slow-hardware", "graceful_shutdown_timeout": 1},
    "conductor": {
        "answer_timeout": ANSWER_TIMEOUT,
        "heartbeat_interval": 0.2,
        "heartbeat_timeout": 2,
        "check_provision_state_interval": 0.5,
        "sync_power_state_interval": 0,
    },
}


@dataclass
class Site:
    """An API without a conductor in it, and a node of ``slow-hardware`` whose calls are in ``journal``."""

    url: str
    folder: Path
    journal: Path
    database_url: str
    stack: ExitStack

    def start(self) -> Program:
        """A conductor, always of the same name."""
        options = ("--database", self.database_url)
        return self.stack.enter_context(conductor(self.folder, "c1", *options, settings=SETTINGS))

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        with Client(self.url) as client:
            return client.baremetal(method, path, body)

    def tell(self, **slow: object) -> None:
        """Set the behaviour of the machine's methods from now on."""
        patch = [{"op": "add", "path": "/driver_info/slow", "value": slow}]
        wait_until(lambda: self.ask("PATCH", "/nodes/n1", patch).status_code == 200, "the change")

    def called(self, method: str) -> int:
        return self.journal.read_text().splitlines().count(method) if self.journal.exists() else 0

    def is_free(self) -> bool:
        return self.ask("GET", "/nodes/n1").json()["reservation"] is None


@pytest.fixture
def site(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    with ExitStack() as stack:
        options = ("--without-conductor", "--database", database_url)
        _, url = stack.enter_context(serve(tmp_path, *options, settings=SETTINGS))
        yield Site(url, tmp_path, tmp_path / "calls", database_url, stack)


def create(site: Site) -> None:
    driver_info = {"redfish_address": "https://10.0.0.1", "journal": str(site.journal)}
    body = {"driver": "slow-hardware", "name": "n1", "driver_info": driver_info}
    assert site.ask("POST", "/nodes", body).status_code == 201


ORDERS = {
    "management.set_boot_device": ("PUT", "/nodes/n1/management/boot_device", {"boot_device": "pxe"}),
    "management.get_boot_device": ("GET", "/nodes/n1/management/boot_device", None),
    "management.inject_nmi": ("PUT", "/nodes/n1/management/inject_nmi", {}),
    "network.vif_attach": ("POST", "/nodes/n1/vifs", {"id": "a"}),
    "vendor.call": ("POST", "/nodes/n1/vendor_passthru/third_method_sync", {"bar": "meow"}),
}


@pytest.mark.parametrize("method", ORDERS)
def test_a_conductor_that_is_killed_in_a_call(site: Site, method: str) -> None:
    """The request is 504, as the machine may have got the call; the call is not repeated, and its node is free."""
    first = site.start()
    create(site)
    site.tell(**{method: {"hangs": True}})
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(site.ask, *ORDERS[method])
        wait_until(lambda: site.called(method) == 1, "the call")
        assert not site.is_free()
        first.end(signal.SIGKILL)
        answer = asked.result()
    assert (answer.status_code, "Retry-After" in answer.headers) == (504, False)
    site.start()
    wait_until(site.is_free, "the node to be free")
    assert site.called(method) == 1


def test_a_conductor_that_is_killed_while_it_is_asked_something(site: Site) -> None:
    """Its successor is asked."""
    first = site.start()
    create(site)
    site.tell(**{"power.validate": {"seconds": 1.5}})
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(site.ask, "GET", "/nodes/n1/validate")
        wait_until(lambda: site.called("power.validate") == 1, "the call")
        first.end(signal.SIGKILL)
        site.start()
        # 503: the successor started so late that the request had ended.
        assert asked.result().status_code in (200, 503, 504)
    assert site.called("power.validate") <= 2
    assert site.ask("GET", "/nodes/n1/validate").json()["power"] == {"result": True}


def test_a_conductor_that_is_killed_in_what_nobody_waits_for(site: Site) -> None:
    first = site.start()
    create(site)
    site.tell(**{"management.set_boot_mode": {"hangs": True}})
    assert site.ask("PUT", "/nodes/n1/states/boot_mode", {"target": "uefi"}).status_code == 202
    wait_until(lambda: site.called("management.set_boot_mode") == 1, "the call")
    first.end(signal.SIGKILL)
    site.start()
    wait_until(site.is_free, "the node to be free")
    assert site.called("management.set_boot_mode") == 1


def test_a_request_without_any_conductor_that_begins(site: Site) -> None:
    """It is 503: nothing was begun, so clients may try again."""
    first = site.start()
    create(site)
    first.end(signal.SIGKILL)
    answer = site.ask("PUT", "/nodes/n1/management/boot_device", {"boot_device": "pxe"})
    assert answer.status_code == 503
    assert site.called("management.set_boot_device") == 0
    assert site.is_free()
