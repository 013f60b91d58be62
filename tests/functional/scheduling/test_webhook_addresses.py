"""To which addresses webhooks send: public ones, and what is listed. What their makers hear of others."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import update

from baremetal_sched.cli import cli
from baremetal_sched.db.models import Webhook
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_webhook_deliveries import OPERATOR, deliver, make, show
from tests.receiver import Receiver, answering
from tests.service import Service

PRIVATE = ("10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[fd00::1]", "[fec0::1]")


def made(service: Service, url: str) -> str | None:
    """Why the webhook is refused; None if it is not."""
    answer = service.http.post_json("/scheduling/v1/webhooks", {"url": url}, expect_errors=True)
    assert answer.status_int in (201, 400)
    return answer.json["error"]["message"] if answer.status_int == 400 else None


@pytest.mark.parametrize(
    "listed", ["", "public", "public,10.0.0.0/8,hooks.example.com", "hooks.example.com,10.0.0.0/8"]
)
def test_what_may_be_called(database_url: str, listed: str, subtests: pytest.Subtests) -> None:
    """Public addresses by HTTPS; what is listed by name or address by HTTP as well."""
    is_open, lists = not listed or "public" in listed, "10.0.0.0/8" in listed
    rows = [
        ("https://1.1.1.1/", is_open),
        ("https://[2606:4700::1111]/", is_open),
        ("http://1.1.1.1/", False),
        ("https://10.0.0.1/", lists),
        ("http://10.0.0.1/", lists),
        ("https://192.168.1.1/", False),
        ("https://127.0.0.1/", False),
        ("https://hooks.example.com/", True),
        ("http://hooks.example.com/", lists),
    ]
    with Service(database_url, events={"allowed_hosts": listed}) as service:
        for url, is_fine in rows:
            with subtests.test(url):
                assert (made(service, url) is None) == is_fine


def test_private_addresses_are_refused(database_url: str, subtests: pytest.Subtests) -> None:
    with Service(database_url) as service:
        uuid = service.http.post_json("/scheduling/v1/webhooks", {"url": "https://hooks.example.com/"}).json["uuid"]
        for host in PRIVATE:
            with subtests.test(host):
                said = made(service, f"https://{host}/")
                assert f"{host.strip('[]')} is not a public address; to allow it, list it in [events]" in (said or "")
                path = f"/scheduling/v1/webhooks/{uuid}"
                service.http.patch_json(path, {"url": f"https://{host}/"}, status=400)


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of hooks.example.com."""
    original, found = socket.getaddrinfo, ["10.0.0.1"]

    def resolve(host: str, *arguments: Any, **named: Any) -> Any:
        if host != "hooks.example.com":
            return original(host, *arguments, **named)
        return [entry for each in found for entry in original(each, *arguments, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return found


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as running:
        yield running


def test_a_webhook_of_before_is_parked_at_once(
    service: Service, addresses: list[str], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The audit names it, and what to list."""
    configuration = tmp_path / "service.conf"
    configuration.write_text(f"[database]\nconnection = {service.database_url}\n")
    for url in (
        "https://hooks.example.com/?token=t0ken",
        "https://10.0.0.1/?token=t0ken",
        "http://1.1.1.1/?token=t0ken",
    ):
        with subtests.test(url):
            hook = make(service, "https://hooks.example.com/")
            service.database.change(lambda connection, url=url: connection.execute(update(Webhook).values(url=url)))
            happen(service, "n1")
            deliver(service)
            shown = show(service, hook)
            host = url.split("/")[2]
            assert (shown["state"], shown["behind"]) == ("parked", 1)
            assert f"It must not be called: {host} " in shown["last_error"]
            assert "[events] allowed_hosts" in shown["last_error"]
            checked = CliRunner().invoke(cli, ["db", "check", "--config-file", str(configuration)])
            assert checked.exit_code == 1
            assert f"webhook {hook['uuid']}: it sends nothing: {host} " in checked.output
            assert "t0ken" not in checked.output
            service.http.delete(f"/scheduling/v1/webhooks/{hook['uuid']}", headers=OPERATOR)


def test_a_name_without_an_address_is_judged_later(service: Service, addresses: list[str]) -> None:
    hook = make(service, "https://hooks.example.com/")
    addresses[:] = []
    happen(service, "n1")
    deliver(service)
    assert show(service, hook)["state"] == "active"


def test_what_is_heard_of_an_address_that_is_not_public(
    database_url: str, subtests: pytest.Subtests, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it answered, and with which status; the log says more."""

    def mail(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"220 mail.example.com ESMTP\r\n")

    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options) as service, Receiver(mail) as receiver:
        caplog.set_level("INFO")
        rows = [
            (f"http://127.0.0.1:{port}/", None, "It was not reached."),
            (f"https://127.0.0.1:{receiver.port}/", None, "It was not reached."),
            (receiver.url, mail, "It was not reached."),
            (receiver.url, answering(404), "It answered 404."),
        ]
        for url, behave, words in rows:
            with subtests.test(f"{url} {words}"):
                receiver.behave = behave or mail
                hook = make(service, url)
                happen(service, "n1")
                deliver(service)
                assert show(service, hook)["last_error"] == words
                service.http.delete(f"/scheduling/v1/webhooks/{hook['uuid']}", headers=OPERATOR)
    assert "It cannot be reached: Connection refused." in caplog.text
