"""``baremetal-sched serve``: everything in one process tree, ready on one line."""

import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

import click
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from baremetal_sched.app import create_app, settle
from baremetal_sched.cli import conductor as conductor_command
from baremetal_sched.cli.conductor import check_registration
from baremetal_sched.cli.db import prepare
from baremetal_sched.cli.options import common_options, make_settings
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings

#: Clients keep idle connections for a while and take it ill when they find them closed.
KEEP_ALIVE_SECONDS = 75

#: How long the embedded conductor may take to end, on top of ``graceful_shutdown_timeout``.
CONDUCTOR_STOP_SECONDS = 10


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=6385,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for any that is free.",
)
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that serve the API."
)
@click.option("--threads", default=8, show_default=True, type=click.IntRange(min=1), help="Threads in each of them.")
@click.option("--auth-strategy", help="How callers are authenticated.")
@click.option("--group", help="Conductor group of the embedded conductor. Default: the default group.")
@click.option("--without-conductor", is_flag=True, help="Serve the API only; conductors run elsewhere.")
@common_options
def serve(
    host: str,
    port: int,
    workers: int,
    threads: int,
    auth_strategy: str | None,
    group: str | None,
    without_conductor: bool,
    config_files: tuple[str, ...],
    database: str | None,
    debug: bool,
) -> None:
    """Create or upgrade the database, then serve the API, with one conductor inside."""
    overrides = {"api": {"auth_strategy": auth_strategy}, "conductor": {"conductor_group": group}}
    settings = make_settings(config_files, database, debug, overrides)
    if not without_conductor:
        check_registration(settings)
    opened = Database(settings)
    prepare(opened)
    opened.dispose()
    listener = _listen(host, port)
    child = None if without_conductor else _Child(settings)
    url = f"http://{host if ':' not in host else f'[{host}]'}:{listener.getsockname()[1]}"
    _Server(settings, listener, workers, threads, child, url).run()


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, opened before anything is started so that a port in use is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise click.ClickException(f"Cannot listen on {host}:{port}: {error.strerror}.") from None
    listener.listen(512)
    listener.set_inheritable(True)
    return listener


class _Child:
    """The embedded conductor: a forked process that stops when this one does."""

    def __init__(self, settings: Settings) -> None:
        parent = os.getpid()
        self._stop_seconds = settings.graceful_shutdown_timeout + CONDUCTOR_STOP_SECONDS
        self._pid = os.fork()
        if self._pid == 0:
            _be_the_conductor(settings, parent)

    def is_gone(self) -> bool:
        """Has it ended?"""
        if self._pid:
            try:
                gone = os.waitpid(self._pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                # gunicorn waits for any child that ends, and has seen it first.
                gone = True
            if gone:
                self._pid = 0
        return self._pid == 0

    def stop(self) -> None:
        """Let it finish its work and sign off; not for ever."""
        deadline = time.monotonic() + self._stop_seconds
        if not self.is_gone():
            os.kill(self._pid, signal.SIGTERM)
        while not self.is_gone():
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.05)


def _be_the_conductor(settings: Settings, parent: int) -> NoReturn:
    status = 1
    try:
        conductor_command.run(settings, parent=parent)
        status = 0
    except Exception as error:
        click.echo(f"baremetal-sched: the conductor failed: {error}", err=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Master(Arbiter):  # type: ignore[misc]
    """gunicorn's master process, which looks after the embedded conductor too."""

    conductor: _Child | None = None

    def manage_workers(self) -> None:
        """Called about once a second. Without its conductor nothing can be enrolled: better no service than half."""
        if self.conductor is not None and self.conductor.is_gone():
            raise HaltServer("the embedded conductor has ended", 1)
        super().manage_workers()

    def handle_hup(self) -> None:
        """The terminal was closed."""
        self.handle_term()


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn with threads, on a socket that is open already."""

    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        workers: int,
        threads: int,
        conductor: _Child | None,
        url: str,
    ) -> None:
        self._settings = settings
        self._conductor = conductor
        self._options: dict[str, Any] = {
            "bind": [f"fd://{listener.fileno()}"],
            "workers": workers,
            "threads": threads,
            "worker_class": "gthread",
            "keepalive": KEEP_ALIVE_SECONDS,
            "graceful_timeout": 10,
            "preload_app": True,
            "loglevel": "warning",
            "proc_name": "baremetal-sched",
            "when_ready": lambda arbiter: announce(url),
            "on_exit": lambda arbiter: conductor.stop() if conductor else None,
            "control_socket_disable": True,
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        app = create_app(self._settings)
        settle()
        return app

    def run(self) -> None:
        master = _Master(self)
        master.conductor = self._conductor
        master.run()


def announce(url: str) -> None:
    """Say that the service is ready, and what to paste so that clients find it."""
    click.echo(f"baremetal-sched is ready at {url}\n\n{client_environment(url)}\n\n{clouds_yaml(url)}")
    sys.stdout.flush()


def client_environment(url: str) -> str:
    """Environment variables for the ``openstack`` command."""
    return (
        "For the openstack command, paste this into a shell:\n\n"
        "    export OS_AUTH_TYPE=none\n"
        f"    export OS_ENDPOINT={url}/placement\n"
        f"    export OS_PLACEMENT_ENDPOINT_OVERRIDE={url}/placement\n"
        f"    export OS_BAREMETAL_ENDPOINT_OVERRIDE={url}/baremetal\n"
        "    export OS_PLACEMENT_API_VERSION=1.39"
    )


def clouds_yaml(url: str) -> str:
    """The same as a ``clouds.yaml``."""
    return (
        "or save this as clouds.yaml and use --os-cloud baremetal-sched:\n\n"
        "    clouds:\n"
        "      baremetal-sched:\n"
        "        auth_type: none\n"
        "        auth:\n"
        f"          endpoint: {url}/placement\n"
        f"        placement_endpoint_override: {url}/placement\n"
        f"        baremetal_endpoint_override: {url}/baremetal\n"
        "        placement_api_version: '1.39'\n"
    )
