"""gunicorn's log in the format of this service."""

from typing import Any

from gunicorn import glogging

from baremetal_sched import logs


class Logger(glogging.Logger):  # type: ignore[misc]
    """For ``logger_class``: formats each line by ``[DEFAULT] log_format``, at gunicorn's destination."""

    def _set_handler(self, log: Any, output: str | None, fmt: Any, stream: Any = None) -> None:
        super()._set_handler(log, output, logs.formatter(), stream)
