"""gunicorn's log, in the form of ours."""

from typing import Any

from gunicorn import glogging

from baremetal_sched import logs


class Logger(glogging.Logger):  # type: ignore[misc]
    """For ``logger_class``: each line as ``[DEFAULT] log_format`` has it, wherever gunicorn writes it."""

    def _set_handler(self, log: Any, output: str | None, fmt: Any, stream: Any = None) -> None:
        super()._set_handler(log, output, logs.formatter(), stream)
