"""Controllers that are silent, slow, huge, deep, malformed, or foreign."""

import gzip
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import sushy

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.redfish import connection, transport
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import CallGivenUp, ControllerError, MachineUnreachable
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import Settings
from tests.certificates import make_certificate
from tests.redfish import PASSWORD, machine, quick
from tests.redfish.raw import RawServer, document, dribbling, endless, raw, saying, silent
from tests.redfish_service import Fault, RedfishService
from tests.waiting import PATIENCE

pytestmark = pytest.mark.sqlite_only

SHORT = quick(connect_timeout=0.2, read_timeout=0.2)
#: The messages about controllers that hang until a time-out. They never end by themselves.
LATE = "it did not answer in time"

UNREACHABLE = {
    "never answers": (silent, LATE),
    "a header that never ends": (dribbling(b"HTTP/1.1 200 OK\r\nX-A: "), LATE),
    "headers that never end": (endless(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), "got more than 100 headers"),
    "a body that never ends": (
        dribbling(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
        LATE,
    ),
    "interim answers for ever": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), f"{LATE}|more than"),
    "hangs up": (saying(b""), "it broke the connection off"),
    "no HTTP": (saying(b"SSH-2.0-OpenSSH_9.2\r\n"), "SSH-2.0"),
    "redirects for ever": (saying(document(b"", "Location: /redfish/v1/", status="302 Found")), "Exceeded 3 redirects"),
    "is busy": (
        saying(document(b"<h1>x</h1>", "Retry-After: 0", status="503 Service Unavailable")),
        r"It is busy \(HTTP 503\): Service Unavailable",
    ),
    "fails in its own way": (saying(document(b"", status="599 ?")), r"\(HTTP 599\): no reason"),
}

NONSENSE = {
    "no JSON": (saying(document(b"<h1>Welcome</h1>")), "answered nonsense"),
    "nothing": (saying(document(b"")), "lacks something"),
    "a list": (saying(document(b"[]")), "answered nonsense"),
    "a number": (saying(document(b"7")), "answered nonsense"),
    "null": (saying(document(b"null")), "answered nonsense"),
    "wrong types": (saying(document(b'{"Systems": 7, "Id": {}, "Links": [], "Name": 1}')), "answered nonsense"),
    "deep": (saying(document(b'{"Id":' + b"[" * 100_000 + b"]" * 100_000 + b"}")), "answered nonsense"),
    "not UTF-8": (saying(document(b'{"Id": "\xff\xfe\xfa"}')), "answered nonsense|lacks something"),
    **{
        f"refuses with {body[:20]!r}": (saying(document(body, status="400 Bad Request")), r"\(HTTP 400\): Bad Request")
        for body in (
            *(b"", b"[1]", b'"no"', b"7", b"null", b'{"error": []}', b'{"error": {"message": 7}}', b"[" * 100_000),
            *(b'{"error": {"@Message.ExtendedInfo": %s}}' % info for info in (b"[1, null]", b'"a"', b"7")),
        )
    },
    "elsewhere": (
        saying(document(b"", "Location: http://203.0.113.9/redfish/v1/", status="301 Moved")),
        "refers to another address, which is not followed",
    ),
}

Answer = Callable[[RawServer, object], None]


def failure(url: str, settings: Settings | None = None, **info: object) -> SchedulerError:
    """The result of reading the power of the machine there."""
    target = machine(url, settings=settings, redfish_username="admin", redfish_password=PASSWORD, **info)
    with pytest.raises(SchedulerError) as raised, connection.system(target) as system:
        assert system.power_state
    assert PASSWORD not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600
    return raised.value


@pytest.mark.parametrize("name", UNREACHABLE)
def test_controllers_that_cannot_be_reached(name: str) -> None:
    answer, said = UNREACHABLE[name]
    with raw(answer) as server:
        error = failure(server.url, SHORT if LATE in said else None)
    assert isinstance(error, MachineUnreachable), error
    with pytest.raises(MachineUnreachable, match=said):
        raise error


@pytest.mark.parametrize("name", NONSENSE)
def test_controllers_that_make_no_sense(name: str) -> None:
    answer, said = NONSENSE[name]
    with raw(answer) as server:
        error = failure(server.url)
    with pytest.raises(ControllerError, match=said):
        raise error


@pytest.mark.parametrize("body", [b"[]", b'"no"', b'{"error": "wrong password"}', b"<h1>401</h1>"])
def test_credentials_that_are_refused_in_an_odd_way(body: bytes) -> None:
    with raw(saying(document(body, status="401 Unauthorized"))) as server:
        assert "refused the credentials (HTTP 401)" in str(failure(server.url))


def test_an_answer_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST", 100_000)
    with raw(endless(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 10_000)) as server:
        assert "answered more than 100000 bytes" in str(failure(server.url))


def test_interim_answers_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST", 100_000)
    with raw(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)) as server:
        target = machine(server.url, settings=quick())
        with pytest.raises(ControllerError, match="answered more than 100000 bytes"), connection.system(target):
            pass


def test_an_answer_that_is_too_large_once_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST", 1_000_000)
    bomb = gzip.compress(b"a" * 10_000_000)
    with raw(saying(document(bomb, "Content-Encoding: gzip"))) as server:
        assert "answered more than 1000000 bytes" in str(failure(server.url))


def test_a_listener_that_takes_no_connection() -> None:
    """Its queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        error = failure(f"http://127.0.0.1:{address[1]}", SHORT)
        for each in waiting:
            each.close()
    assert "in time" in str(error)


def test_what_a_controller_repeats_is_masked() -> None:
    repeated = f'{{"error": {{"message": "user admin with {PASSWORD}, password={PASSWORD}, \\u0007\\nand more"}}}}'
    with RedfishService() as service:
        service.controller.faults = [Fault(path="redfish/v1/?$", status=400, body=repeated.encode())]
        error = failure(service.url)
    assert "user admin with ******" in str(error)


def test_links_to_other_hosts_are_not_followed() -> None:
    """They would be sent the token."""
    with RedfishService() as service, raw(silent) as other:
        body = b'{"Members": [{"@odata.id": "%s/redfish/v1/Systems/1"}]}' % other.url.encode()
        service.controller.faults = [Fault(path="Systems$", body=body)]
        target = machine(**service.driver_info(redfish_system_id=None))
        with pytest.raises(ControllerError, match="refers to another address"), connection.system(target):
            pass
        assert other.connections == 0
        connection.close_all(PATIENCE)


def test_a_certificate_of_another_authority(tmp_path: Path) -> None:
    own, other = make_certificate(tmp_path, "own"), make_certificate(tmp_path, "other")
    with RedfishService(tls=(str(own.certificate), str(own.key))) as service:
        for verified in (True, str(other.certificate)):
            target = machine(**service.driver_info(redfish_verify_ca=verified))
            with (
                pytest.raises(
                    MachineUnreachable, match=r"certificate cannot be verified.* driver_info/redfish_verify_ca"
                ),
                connection.system(target),
            ):
                pass
        for trusted in (False, str(own.certificate)):
            target = machine(settings=quick(), **service.driver_info(redfish_verify_ca=trusted))
            with connection.system(target) as system:
                assert system.identity == "1"
        connection.close_all(PATIENCE)


def test_a_file_without_a_certificate(tmp_path: Path) -> None:
    own, other = make_certificate(tmp_path, "own"), tmp_path / "other.pem"
    other.write_text("certificate")
    with RedfishService(tls=(str(own.certificate), str(own.key))) as service:
        error = failure(service.url, redfish_verify_ca=str(other))
    assert "the file that driver_info/redfish_verify_ca names contains no certificate of an authority" in str(error)


def test_a_token_that_cannot_be_sent() -> None:
    """It is nowhere to be seen."""
    root = document(b'{"Id": "1", "Name": "1"}', "X-Auth-Token: token-of-1", " continued", "Location: /a")
    with raw(saying(root)) as server:
        error = failure(server.url)
    assert "a token that cannot be sent" in str(error)
    assert "token-of-1" not in str(error)


def test_a_certificate_that_has_expired(tmp_path: Path) -> None:
    own = make_certificate(tmp_path, "own", days=(-3, -1))
    with RedfishService(tls=(str(own.certificate), str(own.key))) as service:
        error = failure(service.url, redfish_verify_ca=str(own.certificate))
    assert "its certificate cannot be verified" in str(error)


def test_http_where_https_is_spoken_and_the_other_way_round(tmp_path: Path) -> None:
    own = make_certificate(tmp_path, "own")
    with RedfishService() as service:
        error = failure(service.url.replace("http:", "https:"))
        assert "it does not speak TLS as it should" in str(error)
    with RedfishService(tls=(str(own.certificate), str(own.key))) as service:
        assert isinstance(failure(service.url.replace("https:", "http:")), MachineUnreachable)


def test_a_handshake_that_never_ends() -> None:
    with raw(silent) as server:
        error = failure(server.url.replace("http:", "https:"), SHORT)
    assert "in time" in str(error)


def look_for_ever(target: Machine) -> None:
    with connection.system(target) as system:
        while True:
            system.refresh()


def test_all_answers_together_have_an_end() -> None:
    """A million links, each of which takes a while."""
    with RedfishService() as service:
        target = machine(settings=quick(), **service.driver_info())
        with (
            pytest.raises(MachineUnreachable, match=r"all answers together took too long|in time"),
            transport.limited(0.2),
        ):
            look_for_ever(target)
        connection.close_all(PATIENCE)


def test_nothing_is_changed_once_the_call_has_been_given_up() -> None:
    def give_up() -> None:
        raise CallGivenUp

    with RedfishService() as service:
        target = machine(settings=quick(), **service.driver_info(redfish_auth_type="basic"))
        with progress.noted_by(give_up), pytest.raises(CallGivenUp), connection.system(target) as system:
            system.reset_system(sushy.ResetType.ON)
        assert service.controller.asked("POST") == 0
        connection.close_all(PATIENCE)
