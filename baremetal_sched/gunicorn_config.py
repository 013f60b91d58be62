"""gunicorn's settings: ``gunicorn -c python:baremetal_sched.gunicorn_config baremetal_sched.wsgi:app``.

Options of gunicorn's command line (``--bind``, ``--workers``, ``--threads``, …) override these.
"""

import math
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from oslo_config import cfg

from baremetal_sched import logs, settings

log = structlog.get_logger(__name__)

#: Its threads receive complete requests only.
worker_class = "baremetal_sched.server.worker.Worker"

#: ``[api] max_requests_at_work`` limits concurrent requests; waiting requests need threads, too.
threads = 64

#: Connections of a worker. Beyond this, those idle for longest are closed.
worker_connections = 4000

#: Clients and proxies fail if they send a request while the server closes an idle connection.
keepalive = 75

#: Seconds after which a worker with a blocked loop is replaced. Requests may take longer.
timeout = 60

#: Seconds that a stop waits for requests, for the default of ``[api] request_timeout``; adjusted if that differs.
graceful_timeout = 50

#: Maximum length of the request line in bytes: the most that gunicorn allows.
limit_request_line = 8190

#: Otherwise gunicorn would open a control socket.
control_socket_disable = True

logger_class = "baremetal_sched.server.threads.Logger"
proc_name = "baremetal-sched"

#: Files of the code that workers share, and when each was changed.
_shared: dict[Path, int] = {}


def on_starting(arbiter: Any) -> None:
    """Check the settings once, before any worker does, and import the code that workers share.

    Each worker makes its application itself, so that a reload reads the settings again. Raises SystemExit if they are
    not valid.
    """
    try:
        _follow_settings(arbiter)
    except cfg.Error as error:
        arbiter.log.error("Invalid settings: %s", error)
        raise SystemExit(1) from None
    arbiter.log.setup(arbiter.cfg)
    if not arbiter.cfg.reload:  # which is for code that changes
        _share_code()


def on_reload(arbiter: Any) -> None:
    """Apply changed settings and code; workers report settings that are not valid."""
    with suppress(cfg.Error):
        _follow_settings(arbiter)
    if any(_time(file) != then for file, then in _shared.items()):
        _shared.clear()
        for name in _modules():  # new workers import the code themselves
            del sys.modules[name]


def _share_code() -> None:
    """Import the application, which takes workers longer than all else. There are no threads and listeners yet."""
    from baremetal_sched.app import settle

    settle()
    files = (getattr(sys.modules[name], "__file__", None) for name in _modules())
    _shared.update({Path(file): _time(Path(file)) for file in files if file})


def _modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]


def _time(file: Path) -> int:
    """Return when the file was changed; 0 if it is gone."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _follow_settings(arbiter: Any) -> None:
    loaded = settings.load(settings.default_files())
    logs.configure(loaded)
    warn_of_few_threads(arbiter.cfg.threads, loaded)
    if arbiter.cfg.graceful_timeout == graceful_timeout:  # not overridden by the command line
        arbiter.cfg.set("graceful_timeout", patience(loaded))


def warn_of_few_threads(count: int, loaded: settings.Settings) -> None:
    """Warn if waiting requests could take all ``count`` threads of a process."""
    api = loaded.api
    if count < api.max_requests_at_work + api.max_requests_waiting:
        log.warning(
            "waiting requests may take all threads: use more threads, or lower [api] max_requests_waiting",
            threads=count,
            max_requests_at_work=api.max_requests_at_work,
            max_requests_waiting=api.max_requests_waiting,
        )


def patience(loaded: settings.Settings) -> int:
    """Return how many seconds a stop waits for requests: slightly longer than a request may take."""
    seconds: float = loaded.api.request_timeout
    return math.ceil(seconds) + 5
