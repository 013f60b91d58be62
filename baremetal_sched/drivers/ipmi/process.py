"""Runs a command that may hang or print without end: it is killed when it exceeds its limits of time and output."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

#: The limit of a command's output, in bytes, for each of its two outputs.
_MOST = 65536
#: Seconds for which an output may stay open, held by others, once the command has ended.
_LINGER = 0.2
_AFTER_KILL = 5.0


@dataclass(frozen=True)
class Ended:
    """The result of a command: its exit status, None if it was killed, and the output that was read."""

    status: int | None
    output: str
    errors: str
    was_late: bool = False
    printed_too_much: bool = False


def run(
    arguments: Sequence[str], seconds: float, environment: Mapping[str, str | bytes], pass_fds: Collection[int] = ()
) -> Ended:
    """Run a command, without a shell, in a session of its own; if it is killed, so are all processes that it began.

    Raises OSError if it cannot be started.
    """
    process = subprocess.Popen(  # noqa: S603 - a list, whose values are checked
        [argument.encode() for argument in arguments],  # whatever the locale
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )
    printed = _Printed(process)
    try:
        printed.read(time.monotonic() + seconds)
    finally:
        status = _end(process, kill=printed.has_to_be_killed)
    output, errors = (bytes(each).decode(errors="replace") for each in printed.texts)
    return Ended(status, output, errors, printed.is_late, printed.is_too_much)


class _Printed:
    """The output of a process, read up to the limits."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.texts = (bytearray(), bytearray())
        self.is_late = False
        self.is_too_much = False
        self.has_to_be_killed = True

    def read(self, until: float) -> None:
        """Read until the process ends. It must be killed, with all that it began, unless it ended by itself."""
        with selectors.DefaultSelector() as selector:
            for stream, text in zip((self._process.stdout, self._process.stderr), self.texts, strict=True):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream.fileno(), selectors.EVENT_READ, text)
            while selector.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    self.is_late = True
                    return
                # Asked before the outputs are: what a process that has ended has printed is there by then.
                has_ended = self._process.poll() is not None
                ready = selector.select(min(left, _LINGER))
                for key, _ in ready:
                    self._take(selector, key)
                if self.is_too_much or (has_ended and not ready):
                    return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.is_late = True
        else:
            self.has_to_be_killed = False

    def _take(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        chunk = b""
        with suppress(BlockingIOError):
            chunk = os.read(key.fd, _MOST)
            if not chunk:
                selector.unregister(key.fd)
        key.data.extend(chunk)
        self.is_too_much = self.is_too_much or len(key.data) > _MOST


def _end(process: "subprocess.Popen[bytes]", *, kill: bool) -> int | None:
    status = process.poll()
    if kill:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_AFTER_KILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return status


@contextmanager
def readable(text: bytes) -> Iterator[int]:
    """Provide a pipe with ``text`` as its content; yield its number, for a command that reads it once."""
    reading, writing = os.pipe()
    try:
        os.write(writing, text)
    finally:
        os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)
