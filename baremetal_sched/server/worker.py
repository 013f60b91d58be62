"""A gunicorn worker, for ``worker_class``.

It supports gunicorn's settings ``threads``, ``worker_connections``, ``keepalive``, ``graceful_timeout``, ``timeout``,
``max_requests`` (with its jitter), ``limit_request_line``, ``certfile`` and ``keyfile``, and all settings of processes
and listeners. There is no access log (the application logs requests), and no hook for single requests.
"""

import os
import resource
import signal
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any

from gunicorn.workers.base import Worker as BaseWorker

from baremetal_sched import logs
from baremetal_sched.memory import limit_memory
from baremetal_sched.server.loop import Server
from baremetal_sched.server.threads import RequestThreads, ServerLimits
from baremetal_sched.server.tls import UnusableCertificate, make_context

if TYPE_CHECKING:
    from baremetal_sched.app import Application

#: File descriptors besides connections: of databases, logs, modules, temporary files.
_OTHER_FILES = 256

#: Seconds during which a stopping worker still accepts a request on a kept connection.
_STOP_LINGER = 2.0

#: Signals with which the master stops a worker.
_END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

#: gunicorn's TLS settings that are not supported, and so are refused.
_NOT_FOLLOWED = ("ssl_version", "cert_reqs", "ca_certs", "ciphers")


class Worker(BaseWorker):  # type: ignore[misc]
    """Serves complete requests in threads."""

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Called by gunicorn at its start. Raises SystemExit for settings that the worker does not support."""
        for name in _NOT_FOLLOWED:
            if cfg.is_ssl and cfg.settings[name].get() != cfg.settings[name].default:
                log.error("This worker does not follow %s: put a proxy in front of it if TLS needs that.", name)
                raise SystemExit(1)
        try:
            _make_context(cfg)
        except UnusableCertificate as error:
            log.error("%s", error)
            raise SystemExit(1) from None

    def __init__(self, *args: Any, **options: Any) -> None:
        """Called by the master right before it forks.

        Until the new process has its own handlers it has the master's, which would only record a signal for a master
        that is not there. So early signals are blocked.
        """
        super().__init__(*args, **options)
        signal.pthread_sigmask(signal.SIG_BLOCK, _END_SIGNALS)

    def init_signals(self) -> None:
        """Called by gunicorn in the new process."""
        super().init_signals()
        _accept_end_signals()

    def init_process(self) -> None:
        """Called by gunicorn in the new process; does not return before its end."""
        logs.log_uncaught_exceptions()
        limit_memory()
        super().init_process()

    def run(self) -> None:
        """Serve until told to stop; then finish the requests in progress."""
        server = self._make_server()
        server.watch(self.PIPE[0])  # written to by signals
        server.accept_connections(True)
        while self.alive:
            self.notify()
            server.poll(1.0)
            if os.getppid() != self.ppid:
                self.log.info("Parent changed, shutting down: %s", self)
                break
            if server.received >= self.max_requests:
                self.log.info("Worker %s has served %s requests and is replaced", self.pid, server.received)
                break
        self._stop(server)

    def _make_server(self) -> Server:
        app: Application = self.wsgi
        limits = ServerLimits(
            connections=_connections(self.cfg.worker_connections),
            body_size=app.largest_body,
            bodies_size=max(ServerLimits.bodies_size, 4 * app.largest_body),
            keep_alive=max(1, self.cfg.keepalive),
            request_line=self.cfg.limit_request_line or ServerLimits.max_request_header_size,
            url_scheme="https" if self.cfg.is_ssl else "http",
        )
        listeners: list[socket.socket] = [listener.sock for listener in self.sockets]
        threads = RequestThreads(self.cfg.threads)
        return Server(app, listeners, threads, limits, self.cfg.workers > 1, tls=_make_context(self.cfg))

    def _stop(self, server: Server) -> None:
        """Stop accepting connections; let requests finish, and idle connections wait a moment for a request on its
        way."""
        server.accept_connections(False)
        server.is_stopping = True
        now = time.monotonic()
        patient_until, end = now + min(_STOP_LINGER, self.cfg.keepalive), now + self.cfg.graceful_timeout
        while server.connections and time.monotonic() < end:
            self.notify()
            server.poll(0.1)
            if time.monotonic() >= patient_until:
                server.close_idle()
        server.close()


def _accept_end_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END_SIGNALS)


# The master has no hook after the fork.
os.register_at_fork(after_in_parent=_accept_end_signals)


def _make_context(cfg: Any) -> ssl.SSLContext | None:
    """Return the TLS context from its files; None without TLS. Raises UnusableCertificate."""
    if not cfg.is_ssl:
        return None
    # One file may contain both.
    return make_context(cfg.certfile or cfg.keyfile, cfg.keyfile or cfg.certfile)


def _connections(most: int) -> int:
    """Return the maximum number of connections; raises the limit of open files if necessary."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < most + _OTHER_FILES:
        soft = most + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(hard, most + _OTHER_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else max(16, min(most, soft - _OTHER_FILES))
