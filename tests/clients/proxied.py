"""nginx as the guide's samples configure it, in front of gunicorns that have one database."""

import os
import shutil
import signal
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.certificates import Certificate, make_certificate
from tests.clients.sockets import Received, exchange
from tests.clients.test_start import DEFAULT_FILE
from tests.processes import BAREMETAL_SCHED, GUNICORN, Program, conductor, free_port, program
from tests.waiting import wait_until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
SAMPLES = Path(__file__).parents[2] / "api-ref/guides/samples"

#: The address from which agents call, instead of the sample's network.
PROVISIONING = "127.0.0.9"
_LIVE = "GET /healthcheck/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass
class Site:
    """A proxy, and the service behind it."""

    port: int
    files: Certificate
    backends: dict[str, Program]

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"https://localhost:{self.port}"

    def session(self) -> requests.Session:
        """A client that trusts its certificate."""
        session = requests.Session()
        session.trust_env = False
        session.verify = str(self.files.certificate)
        session.headers["X-OpenStack-Ironic-API-Version"] = "1.115"
        return session

    def trust(self) -> ssl.SSLContext:
        """The same for other clients."""
        return self.files.trusting()

    def ask(self, request: str) -> Received:
        """Send a request byte by byte."""
        return exchange(self.url, request, tls=self.trust())

    def restart_workers(self) -> None:
        """New workers take over, one host after the other."""
        for backend in self.backends.values():
            before = backend.log.count("Worker exiting")
            backend.process.send_signal(signal.SIGHUP)
            wait_until(lambda: backend.log.count("Worker exiting") > before, "the old worker to end")  # noqa: B023


def configuration(site: Site, folder: Path) -> str:
    """The samples, with our ports and files instead of theirs."""
    sample = (SAMPLES / "nginx.conf").read_text()
    first, second = site.backends
    replacements = {
        "listen 443 ssl;": f"listen 127.0.0.1:{site.port} ssl;",
        "server_name cloud.example.com;": "server_name localhost;",
        "/etc/nginx/cloud.example.com.pem": str(site.files.certificate),
        "/etc/nginx/cloud.example.com.key": str(site.files.key),
        "allow 198.51.100.0/24;": f"allow {PROVISIONING};",
        "server 127.0.0.1:6385;": f"server {first}; server {second};",
        "    location / {": f"    include {SAMPLES}/nginx-prefix.conf;\n    location / {{",
    }
    for old, new in replacements.items():
        assert old in sample, old
        sample = sample.replace(old, new)
    temporary = "\n".join(
        f"    {kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"{'user root root;' if os.geteuid() == 0 else ''}\n"
        f"daemon off;\nworker_processes 2;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\n"
        f"events {{ worker_connections 256; }}\nhttp {{\n    access_log off;\n{temporary}\n{sample}\n}}\n"
    )


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """Two gunicorns, a conductor, and nginx."""
    settings = {
        "database": {"connection": f"sqlite:///{folder / DEFAULT_FILE}"},
        "api": {"auth_strategy": "none", "allowed_hosts": "cloud.example.com"},
        "oslo_middleware": {"enable_proxy_headers_parsing": "true"},
    }
    with program((*BAREMETAL_SCHED, "db", "upgrade"), folder, "upgrade", settings) as upgrade:
        assert upgrade.process.wait(120) == 0
    with ExitStack() as stack:
        stack.enter_context(conductor(folder, "c1", settings=settings))
        backends = {}
        for name in ("api1", "api2"):
            address = f"127.0.0.1:{free_port()}"
            command = (*GUNICORN, "--bind", address)
            backends[address] = stack.enter_context(program(command, folder, name, settings))
        made = Site(free_port(), make_certificate(folder), backends)
        (folder / "nginx.conf").write_text(configuration(made, folder))
        assert NGINX
        command = (NGINX, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf"))
        for backend in backends.values():
            backend.wait_for("Booting worker", lambda: backend.log)  # noqa: B023
        proxy = stack.enter_context(program(command, folder, "nginx"))
        wait_until(lambda: _answers(made, proxy), "nginx to answer")
        yield made


def _answers(made: Site, proxy: Program) -> bool:
    assert proxy.process.poll() is None, proxy.log
    try:
        return made.ask(_LIVE).status == 200
    except OSError:
        return False
