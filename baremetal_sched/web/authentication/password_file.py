"""The file of users: a line ``NAME:HASH`` for each, as Apache's ``htpasswd -B`` writes it."""

import re
from collections import Counter
from dataclasses import dataclass

import bcrypt

#: Maximum number of bytes of a password that bcrypt uses.
LONGEST_PASSWORD = 72

#: Cost of a new hash; each step doubles the time. 12 takes about a quarter of a second.
COST = 12
#: Maximum cost of a hash: higher ones would block a thread for several seconds.
_HIGHEST_COST = 15

_HASH = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{53}")
_NAME = re.compile(r"(?![#\s])[^:\x00-\x1f\x7f]{1,255}(?<!\s)")


@dataclass(frozen=True)
class Users:
    """Users and the hashes of their passwords."""

    hashes: dict[str, bytes]
    #: A hash that no password matches, and whose check takes as long as those of most users.
    decoy: bytes


def parse(text: str) -> Users:
    """Return the users in ``text``. Empty lines, and lines that begin with ``#``, are ignored.

    Raises ValueError for any other line that is not ``NAME:HASH`` with a bcrypt hash, and for a duplicate user. The
    message has the number of the line and no hash.
    """
    hashes: dict[str, bytes] = {}
    costs: Counter[int] = Counter()
    for number, line in enumerate(text.split("\n"), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        name, colon, hashed = entry.partition(":")
        if not colon or not is_name(name):
            raise ValueError(f"line {number} is not NAME:HASH")
        match = _HASH.fullmatch(hashed)
        if match is None:
            raise ValueError(
                f"line {number}: the password of {name!r} must be hashed with bcrypt, as htpasswd -B and "
                "baremetal-sched user add do it"
            )
        cost = int(match["cost"])
        if not 4 <= cost <= _HIGHEST_COST:
            raise ValueError(f"line {number}: the cost of the hash of {name!r} must be from 4 to {_HIGHEST_COST}")
        if name in hashes:
            raise ValueError(f"line {number}: there is another line of {name!r} above")
        hashes[name] = hashed.encode()
        costs[cost] += 1
    usual = costs.most_common(1)[0][0] if costs else COST
    return Users(hashes, f"$2b${usual:02}${'.' * 53}".encode())


def is_name(text: str) -> bool:
    """Return whether ``text`` is a valid user name."""
    return _NAME.fullmatch(text) is not None


def hash_password(password: str) -> str:
    """Return the hash to write into the file. Raises ValueError for a password that bcrypt would truncate or refuse."""
    encoded = password.encode()
    if not encoded or b"\0" in encoded or len(encoded) > LONGEST_PASSWORD:
        raise ValueError(f"A password must have from 1 to {LONGEST_PASSWORD} bytes of UTF-8, and no NUL.")
    return bcrypt.hashpw(encoded, bcrypt.gensalt(COST)).decode()
