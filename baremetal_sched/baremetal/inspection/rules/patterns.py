"""Regular expressions from untrusted sources: they may take forever, or all memory.

They are Python's, as in Ironic, and Python cannot interrupt them. So a separate process (``matcher``), which can be
killed, evaluates them. It is started on demand, and again after it was killed. A library with a time-out is no
replacement: the one of the package ``regex`` does not cover the compilation, where ``(?:a|bc){1000000}`` ends the whole
process by a segmentation fault, and nested repetitions take gigabytes while no other thread can run.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

from baremetal_sched.baremetal.inspection.rules import matcher
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed


def require(regex: Any) -> None:
    """Raise RuleFailed unless ``regex`` is a regular expression."""
    _compile(_text(regex))


# A large change of a rule is checked twice, the second time in a transaction.
@lru_cache(maxsize=1000)
def _compile(regex: str) -> None:
    _MATCHER.ask("compile", regex, "")


def matches(regex: Any, text: str) -> bool:
    """Return whether the text matches from its beginning, and the expression's last alternative to its end, as in
    Ironic, for which rules have been written: ``Dell|HPE`` also matches "Dell Inc.".

    Raises RuleFailed if the regular expression is invalid or takes too long.
    """
    regex = _text(regex)
    return _MATCHER.ask("match", regex if regex.endswith("$") else f"{regex}$", text)


def contains(regex: Any, text: str) -> bool:
    """Return whether a part of the text matches. Raises like ``matches``."""
    return _MATCHER.ask("search", _text(regex), text)


def _text(regex: Any) -> str:
    if not isinstance(regex, str):
        raise _invalid(f"{regex!r} is not a string")
    return regex


def _invalid(reason: str) -> RuleFailed:
    return RuleFailed(message=f"invalid regular expression: {reason}")


class _Matcher:
    """The other process, asked by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, how: str, regex: str, text: str) -> bool:
        question = json.dumps([how, regex, text]).encode() + b"\n"
        with self._lock:
            try:
                reply = self._exchange(question)
            except BrokenPipeError:
                # The process has been killed.
                self.stop()
                reply = self._exchange(question)
            if not reply:
                raise RuleFailed(message=f"the regular expression {regex[:100]!r} {self._why_it_died()}")
        found, error = json.loads(reply)
        if error:
            raise _invalid(error)
        return bool(found)

    def stop(self) -> int | None:
        """End the process. Returns its exit status, or None if there was no process."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        # Output that was not read can no longer be flushed.
        with suppress(BrokenPipeError), process:
            pass
        return process.returncode

    def forget(self) -> None:
        """Start anew in the child of a fork: the process belongs to its parent."""
        self._lock, self._process = threading.Lock(), None

    def _exchange(self, question: bytes) -> bytes:
        if self._process is None:
            command = [sys.executable, "-I", "-S", "-W", "ignore", matcher.__file__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - they are pipes
        assert stdout is not None  # noqa: S101
        stdin.write(question)
        stdin.flush()
        return stdout.readline()

    def _why_it_died(self) -> str:
        if self.stop() == -signal.SIGPROF:
            return f"takes more than {matcher.SECONDS} s"
        return "could not be looked for"


_MATCHER = _Matcher()
atexit.register(_MATCHER.stop)
os.register_at_fork(after_in_child=_MATCHER.forget)
