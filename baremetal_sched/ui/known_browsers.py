"""Browsers from which a person has logged in before, so that guesses of others do not lock the person out.

A cookie says until when it counts, and a digest, with a key of the service, names the person.
"""

import hmac
import time
from collections.abc import Iterable

COOKIE = "baremetal_sched_browser"
#: Seconds for which a browser is known after a log-in: a year.
SECONDS = 365 * 86_400


def new_value(key: bytes, person: str) -> str:
    """Return the value of the cookie of a browser from which the person has just logged in."""
    until = str(int(time.time()) + SECONDS)
    return f"{until}.{_digest(key, until, person)}"


def is_known(value: str, keys: Iterable[bytes], person: str) -> bool:
    """Return whether one of the keys made this value for the person, and it still counts."""
    until, _, digest = value.partition(".")
    given = digest.encode(errors="replace")
    is_real = any(hmac.compare_digest(given, _digest(key, until, person).encode()) for key in keys)
    return is_real and int(until) > time.time()


def _digest(key: bytes, until: str, person: str) -> str:
    return hmac.digest(key, f"known browser\0{until}\0{person}".encode(errors="replace"), "sha256").hex()
