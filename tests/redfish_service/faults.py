"""Faults in the answers of a controller."""

import re
from dataclasses import dataclass


@dataclass
class Fault:
    """Answers requests whose method and path match: with ``status``, with ``body`` as it is, or never (``hangs``).

    ``loses`` does what is asked, and closes the connection without an answer; ``late`` answers that many seconds later.

    ``drops`` closes the connection without an answer. ``times`` says for how many requests, None for all. ``seconds``
    is how long an answer takes that is right otherwise. ``retry_after`` is the header of the answer.
    """

    path: str = ""
    method: str = ""
    status: int = 200
    body: bytes | None = None
    hangs: bool = False
    drops: bool = False
    loses: bool = False
    late: float = 0.0
    seconds: float = 0.0
    times: int | None = None
    retry_after: str | None = None

    def takes(self, method: str, path: str) -> bool:
        """Is this request answered so? If it is, that counts."""
        if self.times == 0 or not re.search(self.path, path) or not re.fullmatch(self.method or ".*", method):
            return False
        if self.times is not None:
            self.times -= 1
        return True
