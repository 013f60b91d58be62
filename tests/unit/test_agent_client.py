"""The client of agents over real sockets: whom it trusts, how much it reads, and what it repeats of what they say."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from structlog.testing import capture_logs

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AllowedHosts
from baremetal_sched.conductor.agent_client import AgentBusy, AgentClient, AgentFailed, AgentUnreachable
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import load
from tests.certificates import Certificate, make_certificate
from tests.clocks import ClockWithTimers
from tests.emulators.stub_agent import StubAgent
from tests.redfish import machine
from tests.waiting import PATIENCE

TOKEN = "hKq9-agents-own-token_3Zx"
LOCAL = AllowedHosts([], loopback=True)
SETTINGS = load(overrides={"inspection_rules": {"allow_loopback": True}, "agent": {"command_timeout": 5}})

#: The answer of a server to any request.
Said = Callable[[socket.socket], None]


@pytest.fixture
def agent() -> StubAgent:
    stub = StubAgent()
    stub.token = TOKEN
    return stub


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """One as agents make for themselves: no authority has signed it, and it is not one itself."""
    return make_certificate(tmp_path_factory.mktemp("agent"), authority=False)


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("another"), authority=False)


def serving(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.certificate, certificate.key)
    return context


def client(port: int, *, token: str = TOKEN, seconds: float = PATIENCE, host: str = "127.0.0.1") -> AgentClient:
    return AgentClient(f"http://{host}:{port}", token, LOCAL, None, seconds)


def of(url: str, *, sent: str | None = None, **driver_info: Any) -> Machine:
    """A machine whose agent is at ``url``, and has ``sent`` this certificate with its heartbeat."""
    known = {"agent_url": url, "agent_secret_token": TOKEN, "agent_verify_ca": sent}
    return replace(machine(settings=SETTINGS, **driver_info), driver_internal_info=known)


# -- whom it trusts ----------------------------------------------------------------------------------------------------


def test_a_command(agent: StubAgent) -> None:
    agent.is_quick = False
    with agent.serve() as port:
        begun = client(port).send("deploy.execute_deploy_step", {"step": {"step": "write_image"}})
        assert (begun.name, begun.is_running) == ("execute_deploy_step", True)
        assert client(port).commands() == [begun]
        agent.finish()
        found = client(port).command(begun.id)
        assert found is not None
        assert (found.id, found.status) == (begun.id, "SUCCEEDED")
        assert client(port).command("../nosuch?") is None
        with capture_logs() as logs, pytest.raises(AgentFailed, match=r"refused the request \(401\): Token invalid\."):
            client(port, token="another").commands()
    assert logs == []


def test_an_agent_that_is_busy(agent: StubAgent) -> None:
    agent.is_quick = False
    with agent.serve() as port:
        client(port).send("image.install_bootloader", {})
        with pytest.raises(AgentBusy) as refused:
            client(port).send("image.install_bootloader", {})
    assert not refused.value.sent
    assert agent.names == ["install_bootloader"]


def test_the_certificate_of_the_heartbeat(agent: StubAgent, certificate: Certificate, another: Certificate) -> None:
    """It alone is trusted, whatever ``driver_info`` says; and for its address only."""
    with agent.serve(serving(certificate)) as port:
        url, own = f"https://127.0.0.1:{port}", certificate.certificate.read_text()
        assert AgentClient.of(of(url, sent=own)).commands() == []
        for trusting in (
            of(url, sent=another.certificate.read_text()),
            of(url, sent=another.certificate.read_text(), agent_verify_ca=False),
            of(url.replace("127.0.0.1", "localhost"), sent=own),
            of(url, agent_verify_ca=True),
            of(url, agent_verify_ca=str(another.certificate)),
            of(url),
        ):
            with pytest.raises(AgentUnreachable, match="certificate verify failed") as refused:
                AgentClient.of(trusting).send("standby.sync", {})
            assert not refused.value.sent
        for trusting in (of(url, agent_verify_ca=str(certificate.certificate)), of(url, agent_verify_ca=False)):
            assert AgentClient.of(trusting).commands() == []
    assert agent.names == []


def test_the_oldest_tls(agent: StubAgent, certificate: Certificate) -> None:
    context = serving(certificate)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    own = {"inspection_rules": {"allow_loopback": True}}
    older = load(overrides={**own, "agent": {"tls_minimum_version": "1.2", "tls_ciphers": "ECDHE+AESGCM"}})
    none = load(overrides={**own, "agent": {"tls_ciphers": "NOSUCH"}})
    with agent.serve(context) as port:
        found = of(f"https://127.0.0.1:{port}", agent_verify_ca=False)
        with pytest.raises(AgentUnreachable, match="protocol version"):
            AgentClient.of(found).commands()
        assert AgentClient.of(replace(found, settings=older)).commands() == []
        with pytest.raises(AgentFailed, match="no cipher that can be used"):
            AgentClient.of(replace(found, settings=none))


def test_certificates_that_cannot_be_used(subtests: pytest.Subtests) -> None:
    for known, driver_info, said in [
        ("no certificate", {}, "sent a certificate that cannot be read"),
        ("é", {}, "sent a certificate that cannot be read"),
        (None, {"agent_verify_ca": "/nonexistent/ca.pem"}, "agent_verify_ca, cannot be read"),
        (None, {"agent_verify_ca": "perhaps"}, "agent_verify_ca"),
    ]:
        with subtests.test(known=known, driver_info=driver_info), pytest.raises(InvalidValue, match=said):
            AgentClient.of(of("https://192.0.2.1:9999", sent=known, **driver_info))


def test_an_agent_that_was_not_heard_of() -> None:
    with pytest.raises(AgentUnreachable, match="none was heard of"):
        AgentClient.of(of(""))


def test_addresses_that_are_not_called(subtests: pytest.Subtests) -> None:
    """Names that lead there, too: what a name leads to may have changed since the heartbeat."""
    for host in ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[fe80::1]", "127.1"]:
        with subtests.test(host=host):
            with socket.create_server(("127.0.0.1", 0)) as server:
                server.settimeout(0)
                url = f"http://{host}:{server.getsockname()[1]}"
                with pytest.raises(AgentFailed, match="must not be contacted") as refused:
                    AgentClient(url, TOKEN, AllowedHosts([], loopback=False), None, 5).commands()
                with pytest.raises(BlockingIOError):
                    server.accept()
            assert not refused.value.sent
            assert TOKEN not in str(refused.value)


# -- what it reads and repeats -----------------------------------------------------------------------------------------


@pytest.fixture
def listen() -> Iterator[Callable[[Said], int]]:
    """Starts servers that read a request, and say what they were told; returns their ports."""
    with ExitStack() as stack:

        def start(say: Said) -> int:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            server.settimeout(PATIENCE)

            def run() -> None:
                with suppress(OSError):
                    while True:
                        connection, _ = server.accept()
                        with connection, suppress(OSError):
                            connection.settimeout(PATIENCE)
                            connection.recv(65536)
                            say(connection)
                            # What is closed with something unread is reset, and then the answer may be lost.
                            connection.shutdown(socket.SHUT_WR)
                            while connection.recv(65536):
                                pass

            thread = threading.Thread(target=run)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown, socket.SHUT_RDWR)
            return int(server.getsockname()[1])

        yield start


def saying(body: Any, *, status: str = "200 OK", headers: str = "") -> Said:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda connection: connection.sendall(f"HTTP/1.1 {status}\r\n{headers}\r\n".encode("latin-1") + content)


COMMAND = {"id": "1", "command_name": "sync", "command_status": "SUCCEEDED", "command_error": None}


def test_answers_that_make_no_sense(subtests: pytest.Subtests, listen: Callable[[Said], int]) -> None:
    """A command may have begun all the same."""
    for body in [
        b"",
        b"<html>",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" * 900 + b"]" * 900,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b'"\\ud800"',
        [],
        [COMMAND],
        None,
        7,
        {},
        {**COMMAND, "id": 7},
        {**COMMAND, "id": "x" * 256},
        {**COMMAND, "command_name": ["sync"]},
        {**COMMAND, "command_status": None},
        {"commands": {}},
        {"commands": [7]},
        {"commands": [COMMAND] * 1001},
    ]:
        with subtests.test(body=body):
            port = listen(saying(body))
            with pytest.raises(AgentFailed, match="answered with something that is not") as refused:
                client(port).send("standby.sync", {})
            assert refused.value.sent
            with pytest.raises(AgentFailed, match="answered with something that is not"):
                client(port).commands()


def test_the_reason_of_a_failure(subtests: pytest.Subtests, listen: Callable[[Said], int]) -> None:
    for error in [{"details": "no"}, {"message": "no"}, {"type": "no"}, "no"]:
        with subtests.test(error=error):
            port = listen(saying({**COMMAND, "command_status": "FAILED", "command_error": error}))
            answer = client(port).command("1")
            assert answer is not None
            assert (answer.status, answer.error) == ("FAILED", "no")


DRIVE = "H4sIAAAAAconfigdrive" * 200
HOSTILE = [
    f"{'x' * 985}{TOKEN}",
    f"\x00\x1b[31mred\r\nlast_error: \u202e{TOKEN} \x85\u2028",
    f"http://127.0.0.1/v1/commands/?agent_token={TOKEN}&wait=false",
    f"params: {{'step': {{'args': {{'configdrive': '{DRIVE}'}}}}}}",
    "y" * 3_000_000,
    {"a": [TOKEN]},
    [TOKEN],
    7,
    "",
    None,
]


def test_what_an_agent_says_is_repeated_with_care(subtests: pytest.Subtests, listen: Callable[[Said], int]) -> None:
    """In short, on one line, without characters that no database has, and without secrets."""
    for text, place in product(HOSTILE, ["faultstring", "details", "error"]):
        with subtests.test(text=text, place=place):
            if place == "faultstring":
                port = listen(saying({"faultstring": text}, status="500 Internal Server Error"))
                with pytest.raises(AgentFailed, match=r"refused the request \(500\): ") as refused:
                    client(port).send("standby.sync", {})
                assert refused.value.sent
                said = str(refused.value)
            else:
                error = {"details": text} if place == "details" else text
                port = listen(saying({**COMMAND, "command_status": "FAILED", "command_error": error}))
                answer = client(port).command("1")
                assert answer is not None
                said = answer.error
            assert said
            assert said.isprintable()
            assert len(said) < 1100
            assert TOKEN[:8] not in said
            assert DRIVE[:20] not in said


def test_a_status_line_is_repeated_with_care(listen: Callable[[Said], int]) -> None:
    port = listen(saying(b"", status=f"403 {TOKEN}\x1b[2J\x00 {'z' * 60_000}"))
    with pytest.raises(AgentFailed, match=r"\(403\): \*\*\*\*\*\*") as refused:
        client(port).commands()
    assert TOKEN not in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1100


def test_a_url_that_cannot_be_asked_is_not_shown() -> None:
    with pytest.raises(AgentUnreachable) as refused:
        AgentClient("http://127.0.0.1:9/a b", TOKEN, LOCAL, None, 1).commands()
    assert TOKEN not in str(refused.value)


def test_redirects_are_not_followed(listen: Callable[[Said], int], agent: StubAgent) -> None:
    """Not even if the answer has what looks like a command."""
    with agent.serve() as port:
        headers = f"Location: http://127.0.0.1:{port}/v1/commands/?agent_token={TOKEN}\r\n"
        redirecting = client(listen(saying(COMMAND, status="307 Elsewhere", headers=headers)))
        with pytest.raises(AgentFailed, match=r"refused the request \(307\): Elsewhere"):
            redirecting.send("standby.sync", {})
    assert agent.executed == []


def test_answers_that_are_too_large(subtests: pytest.Subtests, listen: Callable[[Said], int]) -> None:
    """No more than a few megabytes of 100 are read."""
    for framing in ["", "Content-Length: 104857600\r\n", "Transfer-Encoding: chunked\r\n"]:
        with subtests.test(framing=framing):
            sent = 0
            piece = b" " * 2**18
            if "chunked" in framing:
                piece = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"

            def say(connection: socket.socket, framing: str = framing, piece: bytes = piece) -> None:
                nonlocal sent
                connection.sendall(f"HTTP/1.1 200 OK\r\n{framing}\r\n".encode())
                for _ in range(400):
                    connection.sendall(piece)
                    sent += len(piece)

            with pytest.raises(AgentUnreachable, match="larger than 4194304 bytes") as refused:
                client(listen(say)).send("standby.sync", {})
            assert refused.value.sent
            assert sent < 20 * 2**20


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 100 Go on\r\n\r\n"]
)
def test_an_agent_that_drips_is_not_waited_for(
    listen: Callable[[Said], int], head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, pause, to_the_end = ClockWithTimers(), threading.Event(), list[bool]()
    clock.replace(monkeypatch, bounded_http)

    def say(connection: socket.socket) -> None:
        connection.sendall(head)
        clock.go_on(50)
        for _ in range(1000):
            pause.wait(0.01)
            connection.sendall(b" ")
        to_the_end.append(True)

    with pytest.raises(AgentUnreachable, match="timed out") as refused:
        client(listen(say), seconds=40).send("standby.sync", {})
    assert refused.value.sent
    assert not to_the_end


def test_an_answer_that_is_cut_off(listen: Callable[[Said], int]) -> None:
    port = listen(saying(b'{"id": "1"', headers="Content-Length: 500\r\n"))
    with pytest.raises(AgentUnreachable) as refused:
        client(port).send("standby.sync", {})
    assert refused.value.sent


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(AgentUnreachable, match="Connection refused") as refused:
        client(port).send("standby.sync", {})
    assert not refused.value.sent
