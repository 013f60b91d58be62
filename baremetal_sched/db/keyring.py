"""The encryption keys of secrets in the database: a file of Fernet keys, one a line.

The first key encrypts, all of them decrypt. The file is read at the start, and again when it has changed.
"""

import base64
import hashlib
import hmac
import os
import re
import stat
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

from baremetal_sched import commands
from baremetal_sched.watched_file import WatchedFile

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

log = structlog.get_logger(__name__)

#: Its group may read the file: the service need not own it.
_TOO_OPEN = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
_LARGEST = 64 * 2**10
#: Python's decoder skips characters that are not base64, so that a garbled key could be taken for another one.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")


class CannotDecrypt(Exception):
    """No key decrypts a ciphertext; the message says why, without a secret."""


class _Keys(NamedTuple):
    """The IDs of all keys, in their order, digests of them, and what encrypts with the first and decrypts with all."""

    ids: tuple[str, ...]
    roots: tuple[bytes, ...]
    fernet: "MultiFernet"


class Keyring:
    """The keys of one file; empty if ``path`` is empty. Thread-safe."""

    def __init__(self, path: str) -> None:
        """Read the file. Raises oslo.config's ``cfg.Error``, whose message never contains a key."""
        self.path = path
        self._lock = threading.Lock()
        self._unknown: set[str] = set()
        self._file = (
            WatchedFile(Path(path), _parse, "[database] secrets_key_file", check=_require_private) if path else None
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the IDs of all keys, which reveal nothing about the keys."""
        return self._file.contents().ids if self._file else ()

    @property
    def first(self) -> str | None:
        """Return the ID of the encrypting key; None without keys."""
        return next(iter(self.ids), None)

    def encrypt(self, text: str) -> tuple[str, str]:
        """Return the ID of the first key, and ``text`` (ASCII) encrypted with it. There must be a key."""
        if self._file is None:
            raise LookupError("there is no key")
        keys = self._file.contents()
        return keys.ids[0], keys.fernet.encrypt(text.encode()).decode()

    def derived(self, purpose: str) -> list[bytes]:
        """Return for each key of the file, the first one first, a key for another purpose; empty without keys."""
        roots = self._file.contents().roots if self._file else ()
        return [hmac.digest(root, purpose.encode(), "sha256") for root in roots]

    def decrypt(self, key_id: str, ciphertext: str) -> str:
        """Return the text. Raises CannotDecrypt."""
        from cryptography.fernet import InvalidToken  # without secrets to decrypt cryptography is not needed

        keys = self._file.contents() if self._file else None
        if keys is None or key_id not in keys.ids:
            reason = self._without(key_id)
            self._say_once(key_id, reason)
            raise CannotDecrypt(reason)
        try:
            return keys.fernet.decrypt(ciphertext).decode()
        except (InvalidToken, ValueError):
            reason = f"what key {key_id} encrypted was changed in the database, or is not complete"
            raise CannotDecrypt(reason) from None

    def _without(self, key_id: str) -> str:
        if not self.path:
            return f"they were encrypted with key {key_id}, and [database] secrets_key_file is not set here"
        return f"they were encrypted with key {key_id}, which is not in the [database] secrets_key_file of this process"

    def _say_once(self, key_id: str, reason: str) -> None:
        with self._lock:
            is_new = key_id not in self._unknown and len(self._unknown) < 100
            self._unknown.add(key_id) if is_new else None
        if is_new:
            log.error("secrets in the database cannot be decrypted", reason=reason, file=self.path or None)


@lru_cache(maxsize=100)
def keyring_of(path: str | None) -> Keyring:
    """Return the keyring of this file, which is created once per process. Raises oslo.config's ``cfg.Error``."""
    return Keyring(path or "")


def generate_key() -> str:
    """Return a new key, as a line of the file."""
    from cryptography.fernet import Fernet  # see ``decrypt``

    return Fernet.generate_key().decode()


def _require_private(status: os.stat_result) -> None:
    """Raise ValueError unless this is a small file that only its owner changes, and only its group reads."""
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a file")
    if status.st_mode & _TOO_OPEN:
        raise ValueError("others may read or write it; chmod 600 forbids that, or 640 if its group reads it")
    if status.st_size > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST} bytes")


def _parse(content: str) -> _Keys:
    from cryptography.fernet import Fernet, MultiFernet  # see ``decrypt``

    lines: dict[str, int] = {}
    fernets, roots = [], []
    for number, line in enumerate(content.splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not _KEY.fullmatch(text):
            raise ValueError(f"line {number} is not a Fernet key. This makes one: {commands.GENERATE_KEY}")
        key = base64.urlsafe_b64decode(text)
        key_id = _id_of(key)
        if key_id in lines:
            raise ValueError(f"line {number} is the key of line {lines[key_id]} again")
        lines[key_id] = number
        fernets.append(Fernet(text))
        roots.append(hmac.digest(key, b"baremetal-sched derived keys", "sha256"))
    if not lines:
        raise ValueError(f"it has no key. This makes one: {commands.GENERATE_KEY}")
    return _Keys(tuple(lines), tuple(roots), MultiFernet(fernets))


def _id_of(key: bytes) -> str:
    """Return the ID of a key in ciphertexts: 32 bits of a digest, which reveal nothing about the 256 of the key."""
    return hashlib.sha256(b"baremetal-sched secrets key\0" + key).hexdigest()[:8]
