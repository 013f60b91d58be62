"""Columns whose secrets are encrypted if keys are configured: ``[database] secrets_key_file``.

A document with secrets is stored as ``~<ID of the key>~<the whole document, encrypted>~<the document, masked>``. Reads
of masked documents use the last part unchanged, and need no key. A document without secrets is stored as JSON. JSON
never begins with ``~``, so clients cannot send anything that looks encrypted.

A value that cannot be decrypted is read as Unreadable: the row can be loaded, shown masked and deleted, and access to
the secrets fails with an error that names the missing key.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Self

from sqlalchemy import Text
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.types import TypeDecorator

from baremetal_sched import masking
from baremetal_sched.db.keyring import CannotDecrypt, Keyring, keyring_of
from baremetal_sched.db.types import Json, dump_json, require_size
from baremetal_sched.errors import SecretsUnreadable
from baremetal_sched.settings import Settings

_MARK = "~"
#: Prefix of a plain text that would otherwise look encrypted.
_ESCAPE = "~plain~"
#: Prefix of an encrypted text (unlike JSON, texts may begin with anything).
_SEALED_TEXT = re.compile(r"~[0-9a-f]{8}~[A-Za-z0-9_=-]+~")

#: Ciphertexts are a third longer than their contents, plus this.
_MORE = 200

_NO_KEYS = Keyring("")


def attach(dialect: Dialect, settings: Settings) -> None:
    """Let the columns of an engine use the configured key file. Raises oslo.config's ``cfg.Error``.

    Nothing is encrypted while the service is pinned to another release, which could not read it.
    """
    keyring = keyring_of(settings.database.secrets_key_file)
    dialect.secrets_keyring = keyring  # type: ignore[attr-defined]
    dialect.seals_secrets = bool(keyring.path) and not settings.pin_release_version  # type: ignore[attr-defined]


def keyring_for(dialect: Dialect) -> Keyring:
    """Return the keyring of an engine."""
    found: Keyring = getattr(dialect, "secrets_keyring", _NO_KEYS)
    return found


def seals(dialect: Dialect) -> bool:
    """Return whether secrets are encrypted when they are written."""
    found: bool = getattr(dialect, "seals_secrets", False)
    return found


class _Unreadable(SecretsUnreadable, DontWrapMixin):
    """Passed on by SQLAlchemy as it is."""


class Unreadable(Mapping[str, Any]):
    """A document that cannot be decrypted. Every access to its contents raises SecretsUnreadable. It is true, can be
    copied, and is written back as it was stored."""

    def __init__(self, stored: str, reason: str) -> None:
        self.stored = stored
        self._reason = reason

    def refuse(self) -> NoReturn:
        """Raise SecretsUnreadable."""
        raise _Unreadable(reason=self._reason)

    def __getitem__(self, name: str) -> Any:
        self.refuse()

    def __iter__(self) -> Iterator[str]:
        self.refuse()

    def __len__(self) -> int:
        self.refuse()

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class UnreadableText(str):
    """A text that cannot be decrypted: stars, and the stored form."""

    stored: str

    def __new__(cls, stored: str) -> Self:
        text = super().__new__(cls, masking.MASK)
        text.stored = stored
        return text


class SecretText(str):
    """A text that is always secret."""


class SealedJson(Json):
    """A Json column that may have secrets.

    ``whole``: all of it is a secret, unless it is empty. ``also``: names of members that are secrets here, besides
    the ones known to ``masking``.
    """

    impl = Json.impl
    cache_ok = True

    def __init__(self, *, whole: bool = False, also: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.whole = whole
        self.also = also

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if isinstance(value, Unreadable):
            return value.stored
        text = super().process_bind_param(value, dialect)
        return self.sealed(value, text, keyring_for(dialect)) if text is not None and seals(dialect) else text

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        if value is None or value[:1] != _MARK:
            return super().process_result_value(value, dialect)
        try:
            return json.loads(opened(value, keyring_for(dialect)))
        except CannotDecrypt as error:
            return Unreadable(value, str(error))

    def compare_values(self, x: Any, y: Any) -> bool:
        if isinstance(x, Unreadable) or isinstance(y, Unreadable):
            return x is y
        return super().compare_values(x, y)

    def sealed(self, document: Any, text: str, keyring: Keyring) -> str:
        """Return the stored form of ``document``, whose JSON is ``text``: unchanged if it has no secrets."""
        shown = self.shown(document, text)
        if shown == text:
            return text
        stored = sealed_text(text, keyring) + shown
        require_size(stored)
        return stored

    def shown(self, document: Any, text: str) -> str:
        """Return the JSON of the document with its secrets masked: ``text`` if there are none."""
        return dump_json(self._masked(document, text))

    def _masked(self, document: Any, text: str) -> Any:
        if self.whole:
            return {} if document else document
        named = [name for name in self.also if name in text]
        if not named and not masking.mentions_secret(text):
            return document
        # In the form in which it is read again: masking ignores tuples, which JSON turns into arrays.
        masked = masking.mask_decoded(json.loads(text), text)
        if isinstance(masked, dict):
            masked |= {name: masking.MASK for name in named if masked.get(name)}
        return masked


class SealedText(TypeDecorator[str]):
    """A text that is encrypted if it is a SecretText. ``whole``: each is."""

    impl = Text
    cache_ok = True

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__()
        self.whole = whole

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        if isinstance(value, UnreadableText):
            return value.stored
        if (self.whole or isinstance(value, SecretText)) and seals(dialect):
            return sealed_text(value, keyring_for(dialect))
        return plain_text(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or value[:1] != _MARK:
            return value
        if not is_sealed_text(value):
            return text_of(value)
        try:
            return SecretText(opened(value, keyring_for(dialect)))
        except CannotDecrypt:
            return UnreadableText(value)


class SealedByItsWriter(SealedText):
    """A text that is never stored plain: who writes it encrypts it, and who reads it decrypts it."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value


def is_sealed(text: str) -> bool:
    """Return whether the text of a SealedJson column is encrypted."""
    return text[:1] == _MARK


def is_sealed_text(text: str) -> bool:
    """Return whether the text of a SealedText column is encrypted."""
    return _SEALED_TEXT.match(text) is not None


def plain_text(value: str) -> str:
    """Return the stored form, in a SealedText column, of a text that is not encrypted."""
    looks_sealed = value[:1] == _MARK and (value.startswith(_ESCAPE) or is_sealed_text(value))
    return _ESCAPE + value if looks_sealed else str(value)


def text_of(stored: str) -> str:
    """Return the text from a stored form of ``plain_text``."""
    return stored.removeprefix(_ESCAPE)


def key_of(stored: str) -> str:
    """Return the ID of the key with which a text was encrypted."""
    return stored.split(_MARK, 2)[1]


def masked_text(stored: str) -> str:
    """Return the JSON to show for a stored SealedJson: the masked document of an encrypted one."""
    return stored.split(_MARK, 3)[3] if is_sealed(stored) else stored


def whole_text(stored: str, keyring: Keyring) -> str:
    """Return the JSON with its secrets; what cannot be decrypted is masked."""
    if not is_sealed(stored):
        return stored
    try:
        return opened(stored, keyring)
    except CannotDecrypt:
        return masked_text(stored)


def sealed_again(stored: str, keyring: Keyring) -> str:
    """Return an encrypted text re-encrypted with the first key. Raises CannotDecrypt."""
    return sealed_text(opened(stored, keyring), keyring) + stored.split(_MARK, 3)[3]


def opened(stored: str, keyring: Keyring) -> str:
    """Return the text that was encrypted. Raises CannotDecrypt."""
    _, key_id, ciphertext, _ = stored.split(_MARK, 3)
    return keyring.decrypt(key_id, ciphertext)


def readable(document: Any) -> Any:
    """Return the document; empty if there is none, or if it cannot be decrypted.

    For operations that must complete in any case; the result must not be written back.
    """
    return {} if isinstance(document, Unreadable) else document or {}


def sealed_size(size: int) -> int:
    """Return the maximum size in bytes of an encrypted text of ``size`` bytes."""
    return size * 4 // 3 + _MORE


def sealed_text(text: str, keyring: Keyring) -> str:
    """Return the stored form of a text that is a secret."""
    key_id, ciphertext = keyring.encrypt(text)
    return f"{_MARK}{key_id}{_MARK}{ciphertext}{_MARK}"
