"""The API and a conductor in one process tree, which ``baremetal-sched serve`` starts."""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import structlog
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from baremetal_sched import gunicorn_config, logs
from baremetal_sched.app import create_app, settle
from baremetal_sched.auth_settings import is_open
from baremetal_sched.cli import access
from baremetal_sched.cli.clients import announce, url_for_clients
from baremetal_sched.cli.db import prepare
from baremetal_sched.conductor import process
from baremetal_sched.conductor.wake_pipe import WakePipe
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchemaTooNew
from baremetal_sched.scheduling.api import webhook_makers
from baremetal_sched.settings import Settings
from baremetal_sched.ui import access as ui
from baremetal_sched.web.listener import is_loopback

log = structlog.get_logger(__name__)

#: Seconds to wait for the embedded conductor before "ready". It takes long on a busy machine, and two heartbeat
#: intervals longer if another one of the same name seems to run.
_START_SECONDS = 300

#: Seconds that the embedded conductor may take to stop, in addition to ``graceful_shutdown_timeout``.
CONDUCTOR_STOP_SECONDS = 10


@dataclass(frozen=True)
class Listening:
    """Where the API is served, and by how many processes and threads. ``listener`` listens on ``host``."""

    listener: socket.socket
    host: str
    workers: int
    threads: int
    tls_cert: str | None = None
    tls_key: str | None = None


def run(settings: Settings, where: Listening, *, with_conductor: bool) -> None:
    """Prepare the database and the log-in, and serve until the process is stopped."""
    if settings.inspection_rules.allow_loopback is None:
        settings.set_override("allow_loopback", is_loopback(where.host), group="inspection_rules")
    secured = access.check_tls(where.tls_cert, where.tls_key)
    access.choose_strategy(settings, where.host)
    logs.log_settings(settings)
    gunicorn_config.warn_of_few_threads(where.threads, settings)
    if with_conductor:
        process.check_registration(settings)
    _prepare_database(settings)
    login = replace(access.prepare_login(settings), cacert=secured.cacert if secured else None)
    if secured is None and not is_loopback(where.host):
        access.warn_of_clear_text(settings)
    url = url_for_clients("https" if secured else "http", where.host, where.listener.getsockname()[1])
    shows_pages = ui.why_off(settings) is None and (is_loopback(where.host) or not is_open(settings))
    options = {"workers": where.workers, "threads": where.threads, **(secured.options() if secured else {})}
    settle()
    child = _Child(settings, where.listener) if with_conductor else None
    announcement = partial(announce, url, login, f"{url}/ui/" if shows_pages else None)
    _Server(settings, where.listener, options, child, announcement).run()


def _prepare_database(settings: Settings) -> None:
    opened = Database(settings)
    try:
        prepare(opened)
        if opened.engine.dialect.name == "sqlite":  # no other host serves it
            schema.finish_upgrade(opened.engine)
    except SchemaTooNew:
        schema.require_served(opened.engine)  # newer, but this release can serve it
    opened.dispose()


class _Child:
    """The embedded conductor: a forked process that stops when its parent does.

    It is forked when the database is ready and all code has been imported, the driver's included, so that it shares
    this. At that moment there are no threads and no connections. The conductor closes its copy of the listener.
    """

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        parent = os.getpid()
        self._stop_seconds = settings.graceful_shutdown_timeout + CONDUCTOR_STOP_SECONDS
        self.pipe = WakePipe()
        # The conductor closes its end once it is registered; if it fails, the system does.
        self._start, start = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            listener.close()
            _be_the_conductor(settings, parent, lambda: os.close(start), self.pipe)
        os.close(start)

    def await_start(self) -> None:
        """Wait until nodes can be enrolled, or the conductor has ended, or for ``_START_SECONDS``."""
        select.select([self._start], [], [], _START_SECONDS)
        os.close(self._start)

    def is_gone(self) -> bool:
        """Return whether the process has ended."""
        if self._pid:
            try:
                gone = os.waitpid(self._pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                # gunicorn reaps every child that ends, and may have done so first.
                gone = True
            if gone:
                self._pid = 0
        return self._pid == 0

    def stop(self) -> None:
        """Let the conductor finish its work and sign off, within a time limit."""
        deadline = time.monotonic() + self._stop_seconds
        if not self.is_gone():
            os.kill(self._pid, signal.SIGTERM)
        while not self.is_gone():
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.05)


def _be_the_conductor(settings: Settings, parent: int, started: Callable[[], None], pipe: WakePipe) -> NoReturn:
    status = 1
    try:
        process.run(settings, parent, started, pipe, webhook_makers.rights(settings))
        status = 0
    except Exception as error:
        log.critical("the conductor failed", reason=str(error))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Master(Arbiter):  # type: ignore[misc]
    """gunicorn's master process, which also supervises the embedded conductor."""

    conductor: _Child | None = None

    def manage_workers(self) -> None:
        """Called about once a second. Stop the service if the conductor has ended: without it no node can be
        enrolled."""
        if self.conductor is not None and self.conductor.is_gone():
            raise HaltServer("the embedded conductor has ended", 1)
        super().manage_workers()

    def handle_hup(self) -> None:
        """Stop, as the terminal was closed."""
        self.handle_term()


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn as in production, on an open socket."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        options: dict[str, Any],
        conductor: _Child | None,
        when_ready: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._conductor = conductor
        self._options: dict[str, Any] = {
            "bind": [f"fd://{listener.detach()}"],  # gunicorn closes it
            **options,
            "preload_app": True,
            "loglevel": "warning",
            # The command's settings, which have been checked.
            "on_starting": lambda arbiter: None,
            "on_reload": lambda arbiter: None,
            "graceful_timeout": gunicorn_config.patience(settings),
            "when_ready": lambda arbiter: self._be_ready(when_ready),
            "on_exit": lambda arbiter: conductor.stop() if conductor else None,
        }
        super().__init__()

    def _be_ready(self, when_ready: Callable[[], None]) -> None:
        if self._conductor is not None:
            self._conductor.await_start()
        when_ready()

    def load_config(self) -> None:
        for name, value in (vars(gunicorn_config) | self._options).items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        app = create_app(self._settings)
        if self._conductor is not None:
            app.database.on_work = self._conductor.pipe.wake
        settle()
        return app

    def run(self) -> None:
        master = _Master(self)
        master.conductor = self._conductor
        master.run()
