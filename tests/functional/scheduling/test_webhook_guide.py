"""The receiver of the guide: it tells a chat when a machine fails."""

import runpy
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
import requests

from baremetal_sched.scheduling.events.numbering import Numbering
from tests.functional.scheduling.test_webhook_deliveries import deliver, make, show
from tests.receiver import Receiver, answering
from tests.service import Service

SAMPLE = Path(__file__).parents[3] / "api-ref" / "guides" / "samples" / "webhook_to_chat.py"


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
            {"text": "sick: deploy failed"},
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
