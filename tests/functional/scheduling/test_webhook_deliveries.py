"""Deliveries to webhooks: to receivers that refuse, are slow or silent, redirect, answer too much, move, go away."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from standardwebhooks.webhooks import WebhookVerificationError

from baremetal_sched import bounded_http
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.process import check_registration
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Webhook
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling.api import webhook_makers
from baremetal_sched.scheduling.webhooks import delivering, sending
from baremetal_sched.scheduling.webhooks.delivering import DUE, LEASE, Delivery, Rights
from baremetal_sched.scheduling.webhooks.sending import Sender
from baremetal_sched.settings import load
from tests import passing_time
from tests.certificates import make_certificate
from tests.clocks import StoppedClock
from tests.functional.scheduling.happening import CLAIMED, RELEASED, begin_anew, forget, happen, last
from tests.numbered import number_all
from tests.receiver import Receiver, answering
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

DAY = 86_400.0
TENANTS = '"scheduling:webhooks:manage": "role:admin or role:manager"\n'
OPERATOR = {"X-Auth-Token": "olga:operators", "X-Roles": "admin,member,reader", "OpenStack-System-Scope": "all"}
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "manager,member,reader"}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options) as running:
        yield running


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of policies by which managers of projects make webhooks."""
    path = tmp_path / "policy.yaml"
    path.write_text(TENANTS)
    return path


def make(service: Service, url: str, by: Any = OPERATOR, **more: Any) -> dict[str, Any]:
    body = {"url": url, **more}
    made: dict[str, Any] = service.http.post_json("/scheduling/v1/webhooks", body, headers=by, status=201).json
    return made


def show(service: Service, hook: dict[str, Any], by: Any = OPERATOR) -> dict[str, Any]:
    shown: dict[str, Any] = service.http.get(f"/scheduling/v1/webhooks/{hook['uuid']}", headers=by).json
    return shown


def resume(service: Service, hook: dict[str, Any]) -> dict[str, Any]:
    path = f"/scheduling/v1/webhooks/{hook['uuid']}/resume"
    resumed: dict[str, Any] = service.http.post(path, headers=OPERATOR).json
    return resumed


def change(service: Service, hook: dict[str, Any], **values: Any) -> dict[str, Any]:
    path = f"/scheduling/v1/webhooks/{hook['uuid']}"
    changed: dict[str, Any] = service.http.patch_json(path, values, headers=OPERATOR).json
    return changed


def deliver(service: Service, rights: Rights | None = None) -> int:
    """Let a conductor send what is due; returns to how many webhooks. ``rights``: default, those of a new one."""
    settings = service.app.settings
    sender, rights = Sender(settings), rights or webhook_makers.rights(settings)
    due = service.database.select(lambda connection: connection.execute(DUE).all())
    for webhook in due:
        Delivery(service.database, sender, rights, webhook.id).run()
    return len(due)


def test_a_webhook_of_a_rack(service: Service, receiver: Receiver) -> None:
    """It sends the events of nodes that are in the rack when they are sent; without the rack it is parked."""
    service.add_conductor("c1")
    nodes = {name: service.add_node(name) for name in ("n1", "n2", "n3")}
    number_all(service)
    for level, name, parent in (("row", "a", None), ("rack", "r1", "row:a"), ("rack", "r2", "row:a")):
        body = {"name": name, "level": level, "parent": parent}
        service.http.post_json("/scheduling/v1/domains", body, headers=OPERATOR, status=201)
    domains = "/scheduling/v1/domains"
    for rack, node in (("r1", "n1"), ("r2", "n2")):
        service.http.put(f"{domains}/rack:{rack}/nodes/{node}", headers=OPERATOR)
    number_all(service)
    of_rack, of_row = make(service, receiver.url, domain="rack:r1"), make(service, receiver.url, domain="row:a")
    assert show(service, of_rack)["domain"] == service.http.get(f"{domains}/rack:r1", headers=OPERATOR).json["uuid"]
    happen(service, *nodes.values())
    assert [show(service, each)["behind"] for each in (of_rack, of_row)] == [1, 2]
    assert deliver(service) == 2
    assert sorted(receiver.subjects) == sorted([nodes["n1"], nodes["n1"], nodes["n2"]])
    assert [show(service, each)["behind"] for each in (of_rack, of_row)] == [0, 0]
    # Of today, not of when it happened.
    happen(service, nodes["n2"])
    service.http.put(f"{domains}/rack:r1/nodes/n2", headers=OPERATOR)
    assert show(service, of_rack)["behind"] == 1
    for node in ("n1", "n2"):
        service.http.delete(f"{domains}/rack:r1/nodes/{node}", headers=OPERATOR)
    service.http.delete(f"{domains}/rack:r1", headers=OPERATOR, status=204)
    happen(service, nodes["n1"])
    deliver(service)
    shown = show(service, of_rack)
    assert (shown["state"], shown["behind"]) == ("parked", None)
    assert "There is no domain" in shown["last_error"]
    path = f"/scheduling/v1/webhooks/{of_rack['uuid']}"
    service.http.post_json(f"{path}/resume", {"skip": 1}, headers=OPERATOR, status=409)
    assert change(service, of_rack, domain=None)["domain"] is None
    assert resume(service, of_rack)["state"] == "active"


def test_each_event_once_in_order_and_signed(service: Service, receiver: Receiver) -> None:
    happen(service, "before")
    hook = make(service, receiver.url)
    uuids = happen(service, *(f"n{number}" for number in range(50)))
    assert show(service, hook)["behind"] == 50
    assert (deliver(service), deliver(service)) == (1, 0)
    assert receiver.subjects == [f"n{number}" for number in range(50)]
    assert [each.id for each in receiver.received] == uuids
    first = receiver.received[0]
    event = first.verified(hook["secret"])
    assert (event["id"], event["specversion"]) == (uuids[0], "1.0")
    assert event["source"] == "/scheduling/v1"
    assert first.headers["content-type"] == "application/cloudevents+json"
    shown = show(service, hook)
    assert [shown[name] for name in ("behind", "last_status", "last_error", "failing_since")] == [0, 204, None, None]
    assert shown["cursor"] == last(service)


def test_the_filter(service: Service, receiver: Receiver) -> None:
    node = "11111111-0000-4000-8000-000000000001"
    make(service, receiver.url, types=[CLAIMED, "baremetal.node.*"], nodes=[node])
    happen(service, "a", node=node)
    happen(service, "b", type=RELEASED, node=node)
    happen(service, "c", node="11111111-0000-4000-8000-000000000002")
    deleted = {"type": "baremetal.node.delete.end", "provision_state": "active", "maintenance": False, "data": "{}"}
    happen(service, "d", node=node, **deleted)
    happen(service, "e", **deleted)
    deliver(service)
    assert receiver.subjects == ["a", "d"]
    assert deliver(service) == 0


def test_a_refusal_holds_what_follows(service: Service, receiver: Receiver) -> None:
    """Tried again after pauses that double up to ten minutes, with the same id."""
    hook = make(service, receiver.url)
    receiver.behave = answering(500, b"s3cret")
    uuids = happen(service, "n1", "n2")
    for longest in LONGEST:
        _, before = _retry_at(service)
        assert deliver(service) == 1
        assert deliver(service) == 0
        retry_at, after = _retry_at(service)
        assert retry_at - after <= longest
        assert retry_at - before >= longest / 2
        passing_time.go_by(service, retry_at - after)
    assert [each.id for each in receiver.received] == uuids[:1] * len(LONGEST)
    shown = show(service, hook)
    assert (shown["last_status"], shown["last_error"], shown["state"]) == (500, "It answered 500.", "active")
    assert (shown["failing_since"] is not None, shown["behind"]) == (True, 2)
    receiver.behave = answering(200)
    deliver(service)
    assert [each.id for each in receiver.received[len(LONGEST) :]] == uuids
    assert (show(service, hook)["failing_since"], show(service, hook)["behind"]) == (None, 0)


def test_a_receiver_may_say_when_to_try_again(service: Service, receiver: Receiver, subtests: pytest.Subtests) -> None:
    """With 429 and 503, for an hour at most; never sooner than without."""
    date = {"Date": "Sun, 01 Nov 2026 10:00:00 GMT"}
    rows: list[tuple[int, dict[str, str], float]] = [
        (503, {"Retry-After": "8"}, 8),
        (429, {"Retry-After": "9" * 5000}, 3600),
        (503, {**date, "Retry-After": "Sun, 01 Nov 2026 10:01:30 GMT"}, 90),
        (503, {**date, "Retry-After": "Sun, 01 Nov 2026 09:00:00 GMT"}, 0),
        (429, {"Retry-After": "0"}, 0),
        *((429, {"Retry-After": text}, 0) for text in ("soon", "-5", "1.5", "8, 9")),
        (500, {"Retry-After": "8"}, 0),
    ]
    make(service, receiver.url)
    happen(service, "n1")
    for status, headers, seconds in rows:
        with subtests.test(f"{status} {str(headers)[:50]}"):
            service.database.change(lambda connection: connection.execute(update(Webhook).values(failures=0)))
            receiver.behave = answering(status, **headers)
            _, before = _retry_at(service)
            deliver(service)
            retry_at, after = _retry_at(service)
            assert retry_at - before >= (seconds or 0.5)
            assert retry_at - after <= (seconds or 1)
            passing_time.go_by(service, retry_at - after)
    assert len(receiver.received) == len(rows)


LONGEST = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]


def _retry_at(service: Service) -> tuple[float, float]:
    """When the next attempt is due, and the time now."""
    retry_at, now = service.database.read(lambda session: session.execute(select(Webhook.retry_at, epoch())).one())
    return retry_at, now


def test_what_receivers_do(service: Service, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(1)

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not over.wait(0.01):  # until the other side has had enough
            handler.wfile.write(b"x")

    def large(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b"x" * 1_000_000)
        all_read.append(True)

    def hint(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")

    monkeypatch.setattr(sending, "is_public", lambda address: True)
    over, all_read = threading.Event(), list[bool]()
    with Receiver() as elsewhere:
        rows: list[tuple[str, Callable[[BaseHTTPRequestHandler], object], int | None, str | None]] = [
            ("redirects", answering(307, Location=elsewhere.url), 307, "redirects are not followed"),
            ("silent", silent, None, "did not answer within 10 seconds"),
            ("drips", drip, None, "did not answer within 10 seconds"),
            ("large", large, 200, None),
            ("hints", hint, 204, None),
            ("not HTTP", lambda handler: handler.wfile.write(b"220 s3cret.example.com ESMTP\r\n"), None, "not HTTP"),
            ("forbids", answering(403, b"s3cret"), 403, "It answered 403."),
        ]
        for name, behave, status, words in rows:
            with subtests.test(name), Receiver(behave) as receiver:
                monkeypatch.setattr(delivering, "SECONDS", 0.5 if name in ("silent", "drips") else 10.0)
                hook = make(service, receiver.url)
                happen(service, name)
                deliver(service)
                shown = show(service, hook)
                assert receiver.subjects == [name]
                assert shown["last_status"] == status
                assert (words or "") in (shown["last_error"] or "")
                assert (shown["last_error"] is None) == (words is None)
                assert "s3cret" not in str(shown)
                service.http.delete(f"/scheduling/v1/webhooks/{hook['uuid']}", headers=OPERATOR)
        assert elsewhere.received == all_read == []


def test_receivers_that_cannot_be_trusted_or_reached(
    database_url: str, tmp_path: Path, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "is_public", lambda address: True)
    known, unknown = make_certificate(tmp_path, "known"), make_certificate(tmp_path, "unknown")
    expired = make_certificate(tmp_path, "expired", days=(-3, -1))
    authorities = tmp_path / "authorities.pem"
    authorities.write_bytes(known.certificate.read_bytes() + expired.certificate.read_bytes())
    events = {"allowed_hosts": "127.0.0.1", "cafile": str(authorities)}
    with Service(database_url, api={"auth_strategy": "noauth2"}, events=events) as service:
        for certificate, words in [(known, None), (unknown, "certificate"), (expired, "expired")]:
            with subtests.test(certificate.certificate.name), Receiver(certificate=certificate) as receiver:
                hook = make(service, receiver.url)
                happen(service, "n1")
                deliver(service)
                assert len(receiver.received) == (words is None)
                assert (words or "") in (show(service, hook)["last_error"] or "")
        with subtests.test("nobody listens"):
            hook = make(service, receiver.url)
            happen(service, "n1")
            deliver(service)
            assert "cannot be reached: Connection refused" in show(service, hook)["last_error"]


def test_wrong_settings_keep_a_conductor_from_starting(tmp_path: Path, subtests: pytest.Subtests) -> None:
    (tmp_path / "empty").touch()
    for option, value in [("allowed_hosts", "a/b"), ("cafile", str(tmp_path / "x")), ("cafile", f"{tmp_path}/empty")]:
        with subtests.test(f"{option}={value}"), pytest.raises(InvalidValue, match=option):
            check_registration(load(overrides={"events": {option: value}}))


def test_a_name_that_leads_elsewhere_later(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """It is resolved once for each delivery, and the address that was checked is the one that is called."""
    original, resolved = socket.getaddrinfo, list[str]()
    addresses = ["127.0.0.1"]

    def resolve(host: str, *arguments: Any, **named: Any) -> Any:
        if host != "hooks.example.com":
            return original(host, *arguments, **named)
        resolved.append(addresses[-1])
        return original(addresses[-1], *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    hook = make(service, f"http://hooks.example.com:{receiver.port}/")
    happen(service, "n1")
    deliver(service)
    assert (receiver.subjects, resolved) == (["n1"], ["127.0.0.1"])
    for address in ("127.0.0.2", "169.254.169.254", "::1", "::ffff:127.0.0.2", "0.0.0.0", "224.0.0.1", "198.51.100.7"):
        with subtests.test(address):
            addresses.append(address)
            happen(service, "n2")
            deliver(service)
            shown = show(service, hook)
            assert "must not be called" in shown["last_error"]
            assert shown["state"] == "parked"
            resume(service, hook)
    assert receiver.subjects == ["n1"]


def test_a_webhook_is_parked_after_a_day(service: Service, receiver: Receiver) -> None:
    hook = make(service, receiver.url)
    receiver.behave = answering(503)
    happen(service, "n1", "n2")
    deliver(service)
    passing_time.go_by(service, DAY - 60)
    deliver(service)
    assert show(service, hook)["state"] == "active"
    passing_time.go_by(service, 600)
    deliver(service)
    shown = show(service, hook)
    assert (shown["state"], shown["last_error"], shown["behind"]) == ("parked", "It answered 503.", 2)
    passing_time.go_by(service, DAY)
    assert deliver(service) == 0
    listed = service.http.get("/scheduling/v1/webhooks?state=parked", headers=OPERATOR).json["webhooks"]
    assert [each["uuid"] for each in listed] == [hook["uuid"]]
    assert 'baremetal_sched_webhooks{state="parked"} 1.0' in service.http.get("/metrics", headers=OPERATOR).text
    receiver.behave = answering(200)
    resumed = resume(service, hook)
    assert (resumed["state"], resumed["lost"], resumed["failing_since"]) == ("active", 0, None)
    deliver(service)
    assert receiver.subjects == ["n1"] * 3 + ["n1", "n2"]


def test_410_parks_at_once(service: Service, receiver: Receiver) -> None:
    hook = make(service, receiver.url)
    receiver.behave = answering(410)
    happen(service, "n1")
    deliver(service)
    shown = show(service, hook)
    assert (shown["state"], shown["last_status"]) == ("parked", 410)


def test_lost_events_park_a_webhook(service: Service, receiver: Receiver) -> None:
    """Nobody misses an event without being told."""
    hook = make(service, receiver.url)
    happen(service, "n1", "n2", "n3")
    forget(service, 2)
    deliver(service)
    shown = show(service, hook)
    assert (shown["state"], shown["behind"]) == ("parked", None)
    assert "have been deleted" in shown["last_error"]
    assert resume(service, hook)["lost"] == 2
    deliver(service)
    assert receiver.subjects == ["n3"]
    begin_anew(service)
    deliver(service)
    assert show(service, hook)["state"] == "parked"
    assert resume(service, hook)["lost"] is None
    deliver(service)
    assert receiver.subjects == ["n3", "n3"]


def test_one_conductor_delivers_at_a_time(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one hangs until its lease is over. It does not move the cursor back, and sends nothing more."""
    arrived, goes_on, clock = threading.Event(), threading.Event(), StoppedClock()
    monkeypatch.setattr(delivering, "time", clock)
    monkeypatch.setattr(bounded_http, "time", clock)

    def hang(handler: BaseHTTPRequestHandler) -> None:
        if len(receiver.received) == 1:
            arrived.set()
            goes_on.wait(PATIENCE)
        answering(200)(handler)

    receiver.behave = hang
    hook = make(service, receiver.url)
    uuids = happen(service, "n1", "n2", "n3")
    first = threading.Thread(target=deliver, args=(service,))
    first.start()
    arrived.wait(PATIENCE)
    assert deliver(service) == 0
    passing_time.go_by(service, LEASE)
    clock.go_on(LEASE)
    assert deliver(service) == 1
    assert show(service, hook)["behind"] == 0
    goes_on.set()
    first.join()
    assert [each.id for each in receiver.received] == [uuids[0], *uuids]
    assert show(service, hook)["cursor"] == last(service)


@contextmanager
def under_way(service: Service, receiver: Receiver, status: int) -> Iterator[None]:
    """While a conductor sends an event, which the receiver answers afterwards."""
    arrived, goes_on = threading.Event(), threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        arrived.set()
        goes_on.wait(PATIENCE)
        answering(status)(handler)

    receiver.behave = hang
    turn = threading.Thread(target=deliver, args=(service,))
    turn.start()
    arrived.wait(PATIENCE)
    try:
        yield
    finally:
        goes_on.set()
        turn.join()
        receiver.behave = answering(204)


def test_a_conductor_that_hangs_while_a_webhook_is_resumed(service: Service, receiver: Receiver) -> None:
    """It does not move the cursor back, and another turn begins as soon as it knows."""
    hook = make(service, receiver.url)
    happen(service, "n1", "n2", "n3")
    with under_way(service, receiver, 500):
        forget(service, 2)
        resumed = resume(service, hook)
        assert resumed["lost"] == 2
        assert deliver(service) == 0
    shown = show(service, hook)
    assert (shown["cursor"], shown["last_error"]) == (resumed["cursor"], None)
    assert deliver(service) == 1
    assert receiver.subjects == ["n1", "n3"]


def test_what_an_old_address_answers_does_not_count(service: Service, subtests: pytest.Subtests) -> None:
    """The conductor that waits for its answer neither delays nor parks the webhook, nor moves its cursor."""
    for status in (500, 410, 204):
        with subtests.test(str(status)), Receiver() as old, Receiver() as new:
            hook = make(service, old.url)
            happen(service, "n1", "n2")
            with under_way(service, old, status):
                change(service, hook, url=new.url)
            assert [show(service, hook)[name] for name in ("state", "last_error", "behind")] == ["active", None, 2]
            assert deliver(service) == 1
            assert new.subjects == ["n1", "n2"]
            service.http.delete(f"/scheduling/v1/webhooks/{hook['uuid']}", headers=OPERATOR)


def test_a_change_of_the_filter_counts_from_the_cursor_on(service: Service, receiver: Receiver) -> None:
    """A conductor that has chosen events by the old one does not move the cursor."""
    hook = make(service, receiver.url, types=[CLAIMED])
    happen(service, "n1")
    happen(service, "n2", type=RELEASED)
    with under_way(service, receiver, 204):
        change(service, hook, types=[RELEASED])
    assert deliver(service) == 1
    assert receiver.subjects == ["n1", "n2"]
    happen(service, "n3", type=RELEASED)
    with under_way(service, receiver, 204):
        change(service, hook, name="same filter")
    assert show(service, hook)["behind"] == 0


def test_nothing_is_sent_near_the_end_of_the_lease(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conductor that was stopped between taking a webhook and sending sends nothing: another may have begun."""
    monkeypatch.setattr(delivering, "LEASE", delivering.SECONDS)
    make(service, receiver.url)
    happen(service, "n1")
    settings = service.app.settings
    row = service.database.select(lambda connection: connection.execute(DUE).one())
    stalled = Delivery(service.database, Sender(settings), webhook_makers.rights(settings), row.id)
    assert stalled._hold(stalled._take)
    batch = service.database.read(stalled._read)
    assert batch is not None
    assert stalled._send(batch) == (batch.start, None, False)
    assert receiver.received == []


def test_a_new_secret_signs_beside_the_old_one_for_a_day(service: Service, receiver: Receiver) -> None:
    hook = make(service, receiver.url)
    path = f"/scheduling/v1/webhooks/{hook['uuid']}"
    changed = service.http.patch_json(path, {"new_secret": True}, headers=OPERATOR).json
    assert changed["secret"].startswith("whsec_")
    assert changed["secret"] != hook["secret"]
    happen(service, "n1")
    deliver(service)
    for secret in (hook["secret"], changed["secret"]):
        assert receiver.received[0].verified(secret)["subject"] == "n1"
    passing_time.go_by(service, DAY)
    happen(service, "n2")
    deliver(service)
    assert receiver.received[1].verified(changed["secret"])["subject"] == "n2"
    with pytest.raises(WebhookVerificationError):
        receiver.received[1].verified(hook["secret"])


def test_a_webhook_delivers_what_its_maker_may_read(database_url: str, rules: Path, receiver: Receiver) -> None:
    """By the policies of the moment of the delivery."""
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options, oslo_policy={"policy_file": str(rules)}) as service:
        hook = make(service, receiver.url, by=ANNA)
        happen(service, "mine", projects=("a", "b"))
        happen(service, "foreign", projects=("b",))
        happen(service, "of-nobody")
        happen(service, "mine, too", projects=("a",))
        assert show(service, hook, by=ANNA)["behind"] == 2
        deliver(service)
        assert receiver.subjects == ["mine", "mine, too"]
        rules.write_text(f'{TENANTS}"scheduling:events:get": "role:nobody"')
        happen(service, "not any more", projects=("a",))
        deliver(service)
        shown = show(service, hook)
        assert shown["last_error"] == "Its maker may no longer read events."
    assert receiver.subjects == ["mine", "mine, too"]


def test_a_slow_receiver_holds_up_no_other(service: Service, receiver: Receiver) -> None:
    goes_on = threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        goes_on.wait(PATIENCE)

    conductor, subjects = service.add_conductor("c1"), list[str]()
    with Receiver(hang) as slow:
        make(service, slow.url)
        make(service, receiver.url)
        for place in range(3):
            happen(service, f"n{place}")
            conductor.events.look(with_webhooks=True)
            wait_until(lambda: len(_running(conductor)) == len(slow.received) == 1, "the delivery to the other")
            subjects.append(f"n{place}")
            assert receiver.subjects == subjects
        goes_on.set()


def _running(conductor: ConductorDaemon) -> dict[int, str]:
    assert conductor.events.deliveries is not None
    return conductor.events.deliveries._running


def test_a_turn_ends_after_a_slow_attempt(
    service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = StoppedClock()
    monkeypatch.setattr(delivering, "time", clock)
    monkeypatch.setattr(bounded_http, "time", clock)
    make(service, receiver.url)
    happen(service, "n1", "n2", "n3", "n4")
    seconds, slow = iter((0.5, 1.5, 1.5, 0.5)), list[bool]()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        clock.go_on(next(seconds))
        answering(204)(handler)

    receiver.behave = answer
    for subjects in (["n1", "n2"], ["n1", "n2", "n3"], ["n1", "n2", "n3", "n4"]):
        slow.append(service.database.select(lambda connection: connection.execute(DUE).one().is_slow))
        assert deliver(service) == 1
        assert receiver.subjects == subjects
    happen(service, "n5")
    slow.append(service.database.select(lambda connection: connection.execute(DUE).one().is_slow))
    assert slow == [False, True, True, False]


@contextmanager
def crowded(database_url: str, rules: Path) -> Iterator[tuple[Service, ConductorDaemon, Receiver]]:
    """A service whose conductor delivers to four webhooks at a time, and a receiver that never answers in time."""
    options = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1", "webhook_threads": 4}}
    options["oslo_policy"] = {"policy_file": str(rules)}
    goes_on = threading.Event()
    with Service(database_url, **options) as service, Receiver(lambda handler: goes_on.wait(PATIENCE)) as slow:
        try:
            yield service, service.add_conductor("c1"), slow
        finally:
            goes_on.set()


def manager(name: str) -> dict[str, str]:
    """The manager of a project of that name."""
    return {**ANNA, "X-Auth-Token": f"anna:{name}"}


@pytest.mark.parametrize("project", ["a", None])
def test_a_project_has_half_of_the_threads(
    project: str | None, database_url: str, rules: Path, receiver: Receiver
) -> None:
    """Those without a project together, too."""
    by = ANNA if project else {**OPERATOR, "X-Auth-Token": "olga"}
    with crowded(database_url, rules) as (service, conductor, slow):
        for _ in range(4):
            assert make(service, slow.url, by=by)["project_id"] == project
        make(service, receiver.url, by=manager("b"))
        happen(service, "n1", projects=("a", "b"))
        conductor.events.look(with_webhooks=True)
        wait_until(lambda: receiver.received and len(slow.received) == 2, "the deliveries")


def test_two_projects_leave_a_thread_to_a_third(database_url: str, rules: Path, receiver: Receiver) -> None:
    with crowded(database_url, rules) as (service, conductor, slow):
        for name in ("a", "a", "a", "b", "b", "b"):
            make(service, slow.url, by=manager(name))
        make(service, receiver.url, by=manager("c"))
        happen(service, "n1", projects=("a", "b", "c"))
        conductor.events.look(with_webhooks=True)
        wait_until(lambda: receiver.received and len(slow.received) == 3, "the deliveries")


def test_slow_receivers_have_a_quarter_of_the_threads(database_url: str, rules: Path, receiver: Receiver) -> None:
    """They take turns."""
    with crowded(database_url, rules) as (service, conductor, slow):
        for name in ("a", "b", "c", "d"):
            make(service, slow.url, by=manager(name))
        service.database.change(lambda connection: connection.execute(update(Webhook).values(last_seconds=1.5)))
        make(service, receiver.url, by=manager("e"))
        happen(service, "n1", projects=("a", "b", "c", "d", "e"))
        conductor.events.look(with_webhooks=True)
        wait_until(lambda: receiver.received and len(_running(conductor)) == len(slow.received) == 1, "the deliveries")
        happen(service, "n2", projects=("a", "b", "c", "d", "e"))
        conductor.events.look(with_webhooks=True)
        wait_until(lambda: receiver.subjects == ["n1", "n2"], "the second delivery")
        assert len(slow.received) == 1


def test_webhooks_take_turns(database_url: str) -> None:
    """Even if no time of the database says whose turn it is."""
    events = {"allowed_hosts": "127.0.0.1", "webhook_threads": 2}
    with Service(database_url, api={"auth_strategy": "noauth2"}, events=events) as service, ExitStack() as stack:
        conductor = service.add_conductor("c1")
        receivers = [stack.enter_context(Receiver()) for _ in range(3)]
        for each in receivers:
            make(service, each.url)
        for count in range(1, 4):
            happen(service, f"n{count}")
            service.database.change(lambda connection: connection.execute(update(Webhook).values(leased_until=0)))
            conductor.events.look(with_webhooks=True)
            wait_until(
                lambda count=count: sum(bool(each.received) for each in receivers) == count and not _running(conductor),
                "the turn of another one",
            )


def test_a_secret_that_cannot_be_decrypted_signs_nothing(service: Service, receiver: Receiver) -> None:
    hook = make(service, receiver.url)
    sealed = "~00000000~AAAA~"
    table = Webhook.__table__
    service.database.change(
        lambda connection: connection.exec_driver_sql(f"UPDATE {table.name} SET secret = '{sealed}'")
    )
    happen(service, "n1")
    deliver(service)
    assert show(service, hook)["last_error"] == "The secret cannot be decrypted."
    assert receiver.received == []


def test_receivers_get_who_made_a_change_if_its_maker_sees_that(
    database_url: str, receiver: Receiver, rules: Path
) -> None:
    options: dict[str, Any] = {"api": {"auth_strategy": "noauth2"}, "events": {"allowed_hosts": "127.0.0.1"}}
    with Service(database_url, **options, oslo_policy={"policy_file": str(rules)}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1", owner="a")
        for by in (OPERATOR, ANNA):
            make(service, receiver.url, by, nodes=[node])
        service.baremetal("PATCH", f"/nodes/{node}", [{"op": "add", "path": "/extra/a", "value": 1}])
        number_all(service)
        assert deliver(service) == 2
        told = sorted(str(json.loads(each.body)["data"].get("user_id", "hidden")) for each in receiver.received)
        assert told == ["None", "None", "admin", "hidden"]
