"""A program of its own: looks for regular expressions in texts, for the process that started it.

It reads a line of JSON for each, ``[how, regex, text]``, and writes one: ``[found, error]``. ``how`` is the name of a
method of patterns, or "compile". What takes too much time ends the program, by SIGPROF; what takes too much memory is
an error.
"""

import json
import re
import resource
import signal
import sys

#: For one regular expression: time of the processor, so that a busy machine does not change what rules do.
SECONDS = 1
#: For the whole program.
BYTES = 2**30


def answer(how: str, regex: str, text: str) -> tuple[bool, str | None]:
    """Return whether the text matches, and the error if that cannot be decided."""
    try:
        pattern = re.compile(regex)
        return how == "compile" or getattr(pattern, how)(text) is not None, None
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return False, str(error) or type(error).__name__


def main() -> None:
    """Answer until there are no more questions."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        answered = answer(*json.loads(line))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps(answered).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
