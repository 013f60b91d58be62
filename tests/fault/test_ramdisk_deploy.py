"""A conductor is killed between the insertion of an image and the moment when the machine is switched on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from tests.emulators import Emulator, fake_systems
from tests.processes import Client, conductor, serve
from tests.waiting import wait_until

pytestmark = pytest.mark.sqlite_only

SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware", "graceful_shutdown_timeout": 1},
    "conductor": {
        "heartbeat_interval": 0.3,
        "heartbeat_timeout": 2,
        "check_provision_state_interval": 0.5,
        "automated_clean": False,
    },
    "redfish": {"connection_attempts": 1, "auth_type": "basic", "vmedia_insert_poll_interval": 0.1},
}


class Slow:
    """A server whose first image takes until ``released``; ``asked`` is when somebody wants it."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()
        self.count = 0
        self.url = ""


@contextmanager
def slow_images() -> Iterator[Slow]:
    slow = Slow()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            slow.count += 1
            slow.asked.set()
            slow.released.wait(30)
            self.send_response(200)
            self.send_header("Content-Length", "3")
            self.end_headers()
            self.wfile.write(b"iso")

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        slow.url = f"http://127.0.0.1:{server.server_port}/boot.iso"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield slow
        finally:
            slow.released.set()
            server.shutdown()
            thread.join()


def enrol(client: Client, emulator: Emulator, url: str) -> None:
    """n1, available, with an image to boot."""
    info = {"driver": "redfish", "name": "n1", "driver_info": emulator.driver_info()}
    body = {**info, "instance_info": {"boot_iso": url}}
    assert client.baremetal("POST", "/nodes", body, version="1.10").status_code == 201


def node(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.baremetal("GET", "/nodes/n1").json()
    return found


def test_the_next_conductor_finishes_it(tmp_path: Path, database_url: str) -> None:
    with (
        slow_images() as images,
        fake_systems(users={"admin": "Emulated-Passw0rd"}) as emulator,
        serve(tmp_path, "--database", database_url, "--without-conductor", settings=SETTINGS) as (_, url),
        Client(url) as client,
    ):
        with conductor(tmp_path, "c1", "--database", database_url, settings=SETTINGS) as first:
            enrol(client, emulator, images.url)
            asked = client.baremetal("PUT", "/nodes/n1/states/provision", {"target": "active"})
            assert asked.status_code == 202, asked.text
            assert images.asked.wait(20)
            assert first.end(SIGKILL) != 0
        images.released.set()
        assert (node(client)["provision_state"], node(client)["reservation"]) == ("deploying", "c1")
        with conductor(tmp_path, "c2", "--database", database_url, settings=SETTINGS):
            wait_until(lambda: node(client)["provision_state"] == "active", "the instance")
            found = node(client)
            assert (found["reservation"], found["power_state"], found["last_error"]) == (None, "power on", None)
            assert emulator.get(emulator.path())["PowerState"] == "On"
            device = emulator.get(f"{emulator.path()}/VirtualMedia/Cd")
            assert (device["Inserted"], device["Image"], images.count) == (True, images.url, 2)
