"""The receiver of the guide: it tells a chat when a machine fails."""

import runpy
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4
from wsgiref.simple_server import WSGIRequestHandler, make_server

import orjson
import pytest
import requests

from baremetal_sched.scheduling.events.cloud_events import cloud_event
from baremetal_sched.scheduling.events.numbering import Numbering
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.events.types import TYPES
from baremetal_sched.scheduling.webhooks.signing import headers_of, new_secret
from baremetal_sched.scheduling.webhooks.testing import TYPE
from tests.functional.scheduling.test_webhook_deliveries import deliver, make, show
from tests.receiver import Receiver, answering
from tests.service import Service

GUIDES = Path(__file__).parents[3] / "api-ref" / "guides"
SAMPLE = GUIDES / "samples" / "webhook_to_chat.py"
INVENTORY = GUIDES / "samples" / "events_inventory.py"


class _Silent(WSGIRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve a WSGI application; yields its address."""
    with make_server("127.0.0.1", 0, app, handler_class=_Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def number_events(service: Service) -> None:
    """What a conductor does all the time."""
    numbering = Numbering(service.database)
    numbering.step()
    numbering.stop()


def test_a_chat_is_told_when_a_machine_fails(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    receive = runpy.run_path(str(SAMPLE))["receive"]
    with Service(database_url, **options) as service, Receiver(answering(200)) as chat, served(receive) as url:
        service.add_conductor("c1")
        types = ["baremetal.node.provision_set.error", "baremetal.node.maintenance_set.end"]
        hook = make(service, url, types=types)
        monkeypatch.setenv("WEBHOOK_SECRET", hook["secret"])
        monkeypatch.setenv("CHAT_URL", chat.url)
        fine, sick = (service.add_node(name) for name in ("fine", "sick"))
        service.baremetal("PUT", f"/nodes/{fine}/maintenance", {"reason": "disk"})
        service.set_columns(sick, provision_state="deploy failed", last_error="The disk is full.")
        service.set_columns(fine, fault="power failure")
        number_events(service)
        deliver(service)
        assert [each.event for each in chat.received] == [
            {"text": "sick: deploy failed: The disk is full."},
            {"text": "fine: power failure"},
        ]
        assert (show(service, hook)["last_error"], show(service, hook)["behind"]) == (None, 0)
        assert requests.post(url, b"{}", timeout=600).status_code == 401


def test_it_says_so_if_the_chat_is_gone(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service tries again later."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    receive = runpy.run_path(str(SAMPLE))["receive"]
    with Service(database_url, **options) as service, served(receive) as url:
        service.add_conductor("c1")
        hook = make(service, url)
        monkeypatch.setenv("WEBHOOK_SECRET", hook["secret"])
        monkeypatch.setenv("CHAT_URL", f"http://127.0.0.1:{port}/")
        sick = service.add_node("sick")
        service.set_columns(sick, provision_state="deploy failed")
        number_events(service)
        deliver(service)
        assert (show(service, hook)["last_error"], show(service, hook)["last_status"]) == ("It answered 500.", 500)


NODE = "11111111-0000-4000-8000-000000000001"
#: What an event may have: all, what masks leave to those who only use the machine, nothing.
DATA: list[dict[str, Any]] = [
    {
        "uuid": NODE, "name": None, "provision_state": "active", "power_state": None, "maintenance": True,
        "changed": {"fault": {"before": None, "after": "power failure"}, "last_error": {"before": None, "after": "x"}},
    },
    {"uuid": NODE, "consumer": None},
    {"uuid": NODE, "name": "n1"},
    {},
]  # fmt: skip


def events_of_all_types() -> Iterator[dict[str, Any]]:
    for number, (kind, data) in enumerate(product((*TYPES, TYPE), DATA), 1):
        yield cloud_event(Event(number, str(uuid4()), kind, NODE, NODE, 1_800_000_000.0, data), "/scheduling/v1")


def test_the_chat_is_told_of_every_type(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    """What is no failure is taken, too: what follows it would wait for a day."""
    receive, secret = runpy.run_path(str(SAMPLE))["receive"], new_secret()
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    with Receiver(answering(200)) as chat, served(receive) as url:
        monkeypatch.setenv("CHAT_URL", chat.url)
        for event in events_of_all_types():
            with subtests.test(f"{event['type']} {sorted(event['data'])}"):
                chat.received.clear()
                body = orjson.dumps(event)
                headers = headers_of(event["id"], int(time.time()), body, [secret])
                assert requests.post(url, body, headers=headers, timeout=600).status_code == 204
                fault = "fault" in event["data"].get("changed", {})
                assert bool(chat.received) == (fault or event["type"].endswith("provision_set.error"))


def test_the_inventory_takes_every_type(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    events = list(events_of_all_types())
    answers = {
        "events?after=now": {"cursor": "c1"},
        "nodes?fields": {"nodes": []},
        "events?after=c1": {"cursor": "c2", "events": events},
    }

    def answer(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        asked = f"{environ['PATH_INFO']}?{environ['QUERY_STRING']}"
        start_response("200 OK", [("Content-Type", "application/json")])
        return [next(orjson.dumps(answer) for part, answer in answers.items() if part in asked)]

    with served(answer) as url:
        monkeypatch.setattr(sys, "argv", [str(INVENTORY), url.rstrip("/"), "1"])
        runpy.run_path(str(INVENTORY))
    assert len(capsys.readouterr().out.splitlines()) == len(events) + 2
