"""Regular expressions from untrusted sources: they may take for ever, or all memory.

They are Python's, as in Ironic, which cannot be interrupted; so a separate process (``matcher``), which can be killed,
evaluates them. It is started on demand, and again after it was killed.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from baremetal_sched.baremetal.inspection.rules import matcher
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed

#: How many regular expressions are remembered as good ones.
_MOST_KNOWN = 1000


def require(regex: Any) -> None:
    """Raise RuleFailed unless ``regex`` is a regular expression."""
    _MATCHER.require(regex)


def matches(regex: Any, text: str) -> bool:
    """Return whether all of the text matches. Raises RuleFailed if the regular expression is invalid or takes
    too long."""
    return _MATCHER.ask("fullmatch", regex, text)


def contains(regex: Any, text: str) -> bool:
    """Return whether a part of the text matches. Raises like ``matches``."""
    return _MATCHER.ask("search", regex, text)


class _Matcher:
    """The other process, asked by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._known: set[str] = set()

    def ask(self, how: str, regex: Any, text: str) -> bool:
        if not isinstance(regex, str):
            raise RuleFailed(message=f"invalid regular expression: {regex!r} is not a string")
        question = json.dumps([how, regex, text]).encode() + b"\n"
        with self._lock:
            try:
                reply = self._exchange(question)
            except BrokenPipeError:
                # The process was killed meanwhile.
                self.stop()
                reply = self._exchange(question)
            if not reply:
                raise RuleFailed(message=f"the regular expression {regex[:100]!r} {self._why_it_died()}")
        found, error = json.loads(reply)
        if error:
            raise RuleFailed(message=f"invalid regular expression: {error}")
        return bool(found)

    def require(self, regex: Any) -> None:
        # A large change of a rule is looked at twice, the second time in a transaction.
        if not isinstance(regex, str) or regex not in self._known:
            self.ask("compile", regex, "")
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known.add(regex)

    def stop(self) -> int | None:
        """It is no longer needed; returns how it ended, None if it was not there."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        # What was not read cannot be flushed any more.
        with suppress(BrokenPipeError), process:
            pass
        return process.returncode

    def forget(self) -> None:
        """This is the child of a fork: the other process is its parent's."""
        self._lock, self._process = threading.Lock(), None

    def _exchange(self, question: bytes) -> bytes:
        if self._process is None:
            command = [sys.executable, "-I", "-S", "-W", "ignore", matcher.__file__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None  # noqa: S101 - they are pipes
        assert told is not None  # noqa: S101
        asked.write(question)
        asked.flush()
        return told.readline()

    def _why_it_died(self) -> str:
        if self.stop() == -signal.SIGPROF:
            return f"takes more than {matcher.SECONDS} s"
        return "could not be looked for"


_MATCHER = _Matcher()
atexit.register(_MATCHER.stop)
os.register_at_fork(after_in_child=_MATCHER.forget)
