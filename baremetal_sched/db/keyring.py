"""The encryption keys of secrets in the database: a file of Fernet keys, one a line.

The first key encrypts, all of them decrypt. The file is read at the start, and again when it has changed.
"""

import base64
import hashlib
import os
import re
import stat
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import structlog

from baremetal_sched.watched_file import WatchedFile

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

log = structlog.get_logger(__name__)

#: Its group may read the file: the service need not own it.
_TOO_OPEN = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO
_LARGEST = 64 * 2**10
#: Python's decoder skips characters that are not base64, so that a garbled key could be taken for another one.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")


class CannotDecrypt(Exception):
    """No key decrypts a ciphertext; the message says why, without a secret."""


class _Key(NamedTuple):
    id: str
    fernet: "Fernet"


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
    def _keys(self) -> tuple[_Key, ...]:
        return self._file.contents() if self._file else ()

    @property
    def first(self) -> str | None:
        """Return the ID of the encrypting key; None without keys."""
        keys = self._keys
        return keys[0].id if keys else None

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the IDs of all keys, which reveal nothing about the keys."""
        return tuple(key.id for key in self._keys)

    def encrypt(self, text: str) -> tuple[str, str]:
        """Return the ID of the first key, and ``text`` (ASCII) encrypted with it. There must be a key."""
        key = self._keys[0]
        return key.id, key.fernet.encrypt(text.encode()).decode()

    def decrypt(self, key_id: str, ciphertext: str) -> str:
        """Return the text. Raises CannotDecrypt."""
        from cryptography.fernet import InvalidToken  # without secrets to decrypt cryptography is not needed

        fernet = next((key.fernet for key in self._keys if key.id == key_id), None)
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


def _parse(content: str) -> tuple[_Key, ...]:
    from cryptography.fernet import Fernet  # see ``decrypt``

    found: dict[str, tuple[int, _Key]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
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
