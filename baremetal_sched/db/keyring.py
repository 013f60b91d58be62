"""The encryption keys of secrets in the database: a file of Fernet keys, one a line.

The first key encrypts, all of them decrypt. The file is read at the start, and again when it has changed.
"""

import base64
import hashlib
import os
import re
import stat
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import structlog
from cryptography.fernet import Fernet, InvalidToken
from oslo_config import cfg

log = structlog.get_logger(__name__)

#: Its group may read the file: the service need not own it.
_TOO_OPEN = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
_LARGEST = 64 * 2**10
#: Python's decoder skips characters that are not base64, so that a garbled key could be taken for another one.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")

#: Seconds between two checks of the file. If a needed key is missing, it is checked at once.
_LOOK_EVERY = 1.0
#: A file changed more recently than this may change again without a new time stamp.
_SETTLED_AFTER_NANOSECONDS = 1_000_000_000


class CannotDecrypt(Exception):
    """No key decrypts a ciphertext; the message says why, without a secret."""


class _Key(NamedTuple):
    id: str
    fernet: Fernet


@dataclass(frozen=True)
class _Contents:
    keys: tuple[_Key, ...] = ()
    stamp: tuple[int, ...] | None = None


class Keyring:
    """The keys of one file; empty if ``path`` is empty. Thread-safe."""

    def __init__(self, path: str) -> None:
        """Read the file. Raises oslo.config's ``cfg.Error``, whose message never contains a key."""
        self.path = path
        self._lock = threading.Lock()
        self._looked_at = time.monotonic()
        self._refused: str | None = None
        self._unknown: set[str] = set()
        try:
            self._contents = _read(path) if path else _Contents()
        except ValueError as error:
            raise cfg.Error(f"[database] secrets_key_file {path} cannot be used: {error}") from None

    @property
    def first(self) -> str | None:
        """Return the ID of the encrypting key; None without keys."""
        keys = self._current().keys
        return keys[0].id if keys else None

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the IDs of all keys, which reveal nothing about the keys."""
        return tuple(key.id for key in self._current().keys)

    def encrypt(self, text: str) -> tuple[str, str]:
        """Return the ID of the first key, and ``text`` (ASCII) encrypted with it. There must be a key."""
        key = self._current().keys[0]
        return key.id, key.fernet.encrypt(text.encode()).decode()

    def decrypt(self, key_id: str, ciphertext: str) -> str:
        """Return the text. Raises CannotDecrypt."""
        keys = self._current().keys
        fernet = _find(keys, key_id) or _find(self._current(at_once=True).keys, key_id)
        try:
            if fernet is None:
                raise CannotDecrypt(self._without(key_id))
            return fernet.decrypt(ciphertext).decode()
        except (InvalidToken, ValueError):
            reason = f"what key {key_id} encrypted was changed in the database, or is not complete"
            raise CannotDecrypt(reason) from None
        except CannotDecrypt as error:
            self._say_once(key_id, error)
            raise

    def _without(self, key_id: str) -> str:
        if not self.path:
            return f"they were encrypted with key {key_id}, and [database] secrets_key_file is not set here"
        return f"they were encrypted with key {key_id}, which is not in the [database] secrets_key_file of this process"

    def _say_once(self, key_id: str, error: Exception) -> None:
        with self._lock:
            is_new = key_id not in self._unknown and len(self._unknown) < 100
            self._unknown.add(key_id) if is_new else None
        if is_new:
            log.error("secrets in the database cannot be decrypted", reason=str(error), file=self.path or None)

    def _current(self, *, at_once: bool = False) -> _Contents:
        now = time.monotonic()
        if self.path and (at_once or now - self._looked_at > _LOOK_EVERY):
            with self._lock:
                self._looked_at = now
                self._look()
        return self._contents

    def _look(self) -> None:
        try:
            if self._contents.stamp is None or self._contents.stamp != _stamp(Path(self.path).stat()):
                self._contents = _read(self.path)
            self._refused = None
        except (OSError, ValueError) as error:
            reason = _reason(error)
            if reason != self._refused:
                log.error(
                    "secrets_key_file cannot be used; the previous keys stay in use", file=self.path, reason=reason
                )
            self._refused = reason


@lru_cache(maxsize=100)
def keyring_of(path: str | None) -> Keyring:
    """Return the keyring of this file, which is created once per process. Raises oslo.config's ``cfg.Error``."""
    return Keyring(path or "")


def generate_key() -> str:
    """Return a new key, as a line of the file."""
    return Fernet.generate_key().decode()


def _find(keys: tuple[_Key, ...], key_id: str) -> Fernet | None:
    return next((key.fernet for key in keys if key.id == key_id), None)


def _read(path: str) -> _Contents:
    """Read the file. Raises ValueError, whose message contains no key."""
    try:
        with Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("it is not a file")
            if status.st_mode & _TOO_OPEN:
                raise ValueError("others may read or write it; chmod 600 forbids that, or 640 if its group reads it")
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(_reason(error)) from None
    if len(content) > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST} bytes")
    age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    return _Contents(_parse(content), _stamp(status) if age > _SETTLED_AFTER_NANOSECONDS else None)


def _parse(content: bytes) -> tuple[_Key, ...]:
    found: dict[str, tuple[int, _Key]] = {}
    for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not _KEY.fullmatch(text):
            raise ValueError(f"line {number} is not a Fernet key; baremetal-sched secrets generate-key makes one")
        key_id = _id_of(base64.urlsafe_b64decode(text))
        if key_id in found:
            raise ValueError(f"line {number} is the key of line {found[key_id][0]} again")
        found[key_id] = number, _Key(key_id, Fernet(text))
    if not found:
        raise ValueError("it has no key; baremetal-sched secrets generate-key makes one")
    return tuple(key for _, key in found.values())


def _id_of(key: bytes) -> str:
    """Return the ID of a key in ciphertexts: 32 bits of a digest, which reveal nothing about the 256 of the key."""
    return hashlib.sha256(b"baremetal-sched secrets key\0" + key).hexdigest()[:8]


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
