"""``serve`` with a certificate: what it prints, who trusts it, and who holds whom up."""

import time
from pathlib import Path

import pytest
import requests
import yaml

from tests.certificates import make_certificate
from tests.clients.openstack import OpenStack, variables_in
from tests.clients.sockets import exchange, wire, wires
from tests.processes import BAREMETAL_SCHED, program, serve


def test_the_openstack_client(tmp_path: Path) -> None:
    """With what ``serve`` printed, OS_CACERT included; without that it refuses the certificate."""
    files = make_certificate(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    options = ("--tls-cert", files.certificate.name, "--tls-key", files.key.name)
    with serve(tmp_path, *options) as (running, url):
        assert url.startswith("https://127.0.0.1:")
        variables = variables_in(running.output)
        assert variables["OS_CACERT"] == str(files.certificate)
        endpoints = [value for name, value in variables.items() if "ENDPOINT" in name]
        assert endpoints
        assert all(value.startswith(url) for value in endpoints)
        openstack = OpenStack(home, variables)
        openstack("baremetal node create --driver fake-hardware --name n1 -f json")
        assert openstack("baremetal node show n1 -f json")["driver"] == "fake-hardware"
        untrusting = OpenStack(home, {**variables, "OS_CACERT": ""})
        assert "CERTIFICATE_VERIFY_FAILED" in untrusting.refused("baremetal node list")

        cloud = running.output[running.output.index("    clouds:") :]
        assert yaml.safe_load(cloud)["clouds"]["baremetal-sched"]["cacert"] == str(files.certificate)
        with requests.get(f"{url}/baremetal/v1", verify=str(files.certificate), timeout=30) as answer:
            assert answer.json()["links"][0]["href"] == f"{url}/baremetal/v1/"


def test_silent_connections_hold_nobody_up(tmp_path: Path) -> None:
    """Two hundred that never begin a handshake, and two hundred that stop in the middle of one."""
    files = make_certificate(tmp_path)
    options = ("--tls-cert", str(files.certificate), "--tls-key", str(files.key), "--threads", "2")
    nodes = "GET /baremetal/v1/nodes HTTP/1.1\r\nHost: localhost\r\nX-OpenStack-Ironic-API-Version: 1.50\r\n\r\n"
    with serve(tmp_path, *options) as (_, url), wires(url, 200), wires(url, 200, b"\x16\x03\x01\x02\x00\x01"):
        started = time.monotonic()
        for _ in range(5):
            assert exchange(url, nodes, tls=files.trusting()).status == 200
        assert time.monotonic() - started < 60
        with wire(url) as plain:
            plain.send(nodes)
            assert plain.response().status == 400


def test_passwords_in_clear_are_warned_of(tmp_path: Path) -> None:
    """Off loopback, without TLS; not with it."""
    files = make_certificate(tmp_path)
    tls = ("--tls-cert", str(files.certificate), "--tls-key", str(files.key))
    for options, warns in (((), True), (tls, False)):
        with serve(tmp_path, "--host", "0.0.0.0", *options) as (running, url):
            assert ("clear text" in running.log) == warns
            assert url.startswith("http://" if warns else "https://")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tls-cert", "server.pem", "--tls-key", "missing.key"), "File 'missing.key' does not exist"),
        (("--tls-cert", "server.pem", "--tls-key", "other.key"), "other.key does not belong to the certificate"),
        (("--tls-cert", "server.key", "--tls-key", "server.key"), "server.key has no certificate in PEM"),
        (("--tls-cert", "server.pem"), "--tls-cert and --tls-key must be given together"),
    ],
)
def test_certificates_that_cannot_be_used_stop_the_start(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """With one line, and before anything is made."""
    make_certificate(tmp_path)
    make_certificate(tmp_path, "other")
    with program((*BAREMETAL_SCHED, "serve", "--port", "0", *options), tmp_path, "serve") as running:
        assert running.process.wait(60) != 0
    assert words in running.log.splitlines()[-1]
    assert "Traceback" not in running.log
    assert not list(tmp_path.glob("*.sqlite"))


def test_a_certificate_that_has_ended_is_warned_of(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, days=(-9, -2))
    with serve(tmp_path, "--tls-cert", str(files.certificate), "--tls-key", str(files.key)) as (running, _):
        (warning,) = [line for line in running.log.splitlines() if "clients will refuse the certificate" in line]
        assert "it was valid until" in warning
