"""gunicorn's settings: ``gunicorn -c python:baremetal_sched.gunicorn_config baremetal_sched.wsgi:app``.

Options of gunicorn's command line (``--bind``, ``--workers``, ``--threads``, …) are stronger than these.
"""

import math
from contextlib import suppress
from typing import Any

import structlog
from oslo_config import cfg

from baremetal_sched import logs, settings

log = structlog.get_logger(__name__)

#: Its threads see complete requests only.
worker_class = "baremetal_sched.server.worker.Worker"

#: ``[api] max_requests_at_work`` says how many requests are worked on; there are threads for those that wait, too.
threads = 64

#: Connections of a worker. When there are more, those that have been silent for longest are closed.
worker_connections = 4000

#: Clients, and proxies, fail if they send a request while the server closes an idle connection.
keepalive = 75

#: A worker whose loop does nothing for this long is replaced. Requests may take longer.
timeout = 60

#: A stop waits for requests. This is for the default of ``[api] request_timeout``; with another one it follows that.
graceful_timeout = 50

#: Longest first line of a request, in bytes: the most that gunicorn allows.
limit_request_line = 8190

#: gunicorn would open a socket from which it can be controlled.
control_socket_disable = True

logger_class = "baremetal_sched.server.logger.Logger"
proc_name = "baremetal-sched"


def on_starting(arbiter: Any) -> None:
    """Check the settings once, before any worker does. Raises SystemExit if they cannot be used."""
    try:
        _follow_settings(arbiter)
    except cfg.Error as error:
        arbiter.log.error("Invalid settings: %s", error)
        raise SystemExit(1) from None
    arbiter.log.setup(arbiter.cfg)


def on_reload(arbiter: Any) -> None:
    """Follow changed settings; workers report those that cannot be used."""
    with suppress(cfg.Error):
        _follow_settings(arbiter)


def _follow_settings(arbiter: Any) -> None:
    loaded = settings.load(settings.files_from_environment())
    logs.configure(loaded)
    warn_of_few_threads(arbiter.cfg.threads, loaded)
    if arbiter.cfg.graceful_timeout == graceful_timeout:  # the command line names no other
        arbiter.cfg.set("graceful_timeout", patience(loaded))


def warn_of_few_threads(count: int, loaded: settings.Settings) -> None:
    """Warn if requests that wait could take all ``count`` threads of a process."""
    api = loaded.api
    if count < api.max_requests_at_work + api.max_requests_waiting:
        log.warning(
            "requests that wait may take all threads: have more of them, or lower [api] max_requests_waiting",
            threads=count,
            max_requests_at_work=api.max_requests_at_work,
            max_requests_waiting=api.max_requests_waiting,
        )


def patience(loaded: settings.Settings) -> int:
    """Return how many seconds a stop waits for requests: a little longer than one may take."""
    seconds: float = loaded.api.request_timeout
    return math.ceil(seconds) + 5
