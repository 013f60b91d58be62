"""Masking: replaces passwords, tokens and keys in texts and documents by stars before they are shown or logged.

oslo.utils decides which values are secrets, as for Ironic: by the name of a member, and by words within a text
(``password=...``). This module adds names that it does not know, and passwords in URLs.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from oslo_utils import strutils

MASK = "******"

#: Names that oslo.utils does not know: those of SNMP, which Ironic masks itself, and other spellings.
_MORE_NAMES = (
    *("snmp_auth_key", "snmp_priv_key", "snmp_community_read", "snmp_community_write", "snmp_community"),
    *("passwd", "pswd", "newpass", "privatekey", "kg_key"),
)
#: All parts of names that mark a secret. (oslo.utils' list is not public; the fast check must agree with it.)
_NAMES = (*strutils._SANITIZE_KEYS, *_MORE_NAMES)
#: The shortest of them: a name that contains one of the others contains one of these.
_PARTS = tuple(name for name in sorted(set(_NAMES)) if not any(part in name for part in set(_NAMES) - {name}))

#: Every name contains one of these, which are fewer.
_FEW = ("pass", "token", "secret", "key", "pswd", "drive", "fsid", "cookie", "credential", "kek", "suffix", "community")
_HINTS = _FEW if all(any(hint in name for hint in _FEW) for name in _PARTS) else _PARTS

#: Names that are too short to be looked for within others: they mark a secret as words of a name only, and ``pass``
#: only as its last. A word ends before a capital letter, too.
_WORDS = (
    r"(?:api|access|ssh)[_. -]?key|authorization|cookies?|credentials?|community"
    "|psk|hmac|pwd|pw|pin|otp"
)
_BEGIN = r"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_END = r"(?![a-z])(?!(?<=[A-Z])[A-Z](?![a-z]))"
_LAST = r"(?:(?<=[A-Za-z0-9][_. -])(?i:pass)|(?<=[a-z0-9])Pass)[0-9]*(?![A-Za-z0-9_-])"
_WHOLE = rf"(?-i:{_BEGIN}(?i:{_WORDS}){_END}|{_LAST})"
_WHOLE_NAME = re.compile(_WHOLE)
#: Each of these words contains one of the hints. In a text, at most ``_MOST_HINTS`` occurrences of hints are examined,
#: each with ``_AROUND`` characters on both sides.
_MOST_HINTS = 20_000
_AROUND = 16
_WHOLE_HINTS = ("key", "author", "cookie", "credential", "community", "psk", "hmac", "pw", "pin", "otp", "pass")

#: What oslo.utils does within texts, for the additional names.
_ASSIGNED = re.compile(rf"((?:{'|'.join(_MORE_NAMES)}|{_WHOLE})[0-9]*\s*=\s*['\"]?)[^\s'\"]+", re.IGNORECASE)
#: The same for headers of HTTP; the value extends to the end of the line.
_HEADER = re.compile(r"((?<![A-Za-z-])(?:(?:proxy-)?authorization|(?:set-)?cookie): ?)[^\r\n]+", re.IGNORECASE)

#: A quoted string, as JSON and Python write it.
_QUOTED = r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
#: {"snmp_community": "..."}, which oslo.utils does for its own names.
_NAMED = re.compile(
    rf"""(['"][^'"\s]*(?:{"|".join(_MORE_NAMES)}|{_WHOLE})[^'"\s]*['"]\s*:\s*){_QUOTED}""", re.IGNORECASE
)
#: {"path": "/driver_info/ipmi_password", "value": ...}, as in patches, with the members in either order. A value that
#: is not a string extends to the end of the object.
_PATH = rf"""['"]path['"]\s*:\s*['"][^'"]*(?:{"|".join(_PARTS)}|{_WHOLE})[^'"]*['"]"""
_PATCHED = re.compile(rf"""({_PATH}[^}}]*?['"]value['"]\s*:\s*)(?:{_QUOTED}|[^}}]*)""", re.IGNORECASE)
_PATCHED_BEFORE = re.compile(rf"""(['"]value['"]\s*:\s*){_QUOTED}(?=[^}}]*?{_PATH})""", re.IGNORECASE)

#: The password of a URL, as in scheme://user:password@host; and a user alone, as in https://token@host. A number after
#: the colon is a port. A password may contain most characters, but no other URL.
_URL_PASSWORD = re.compile(r"(://[^\s/?#:@\"'<>\[]*:)(?!\d*(?:[/?#\s\"'<>]|$))(?:(?!://)[^\s\"'<>])*@")
_URL_TOKEN = re.compile(r"(https?://)[^\s/?#:@\"'<>]+@", re.IGNORECASE)

#: Of all of these names.
_LAST_LETTERS = frozenset(name[-1:] for name in _NAMES) | frozenset("cdeklnpswy")

#: How much text of a document is searched for secrets: characters, times the names that occur in them. This takes about
#: 50 ms. Further texts are masked as a whole if they may hold a secret.
_BUDGET = 200_000

_LONGEST_REMEMBERED = 100
_MOST_REMEMBERED = 10_000

_CONTAINERS = frozenset((dict, list))


def mask(document: Any) -> Any:
    """Return a copy of ``document`` (objects, arrays, texts, numbers) in which every secret is masked."""
    return _Search().value(document)


def mask_decoded(document: Any, text: str) -> Any:
    """Return ``mask(document)``, but faster. ``text`` is the ASCII JSON from which it was decoded."""
    # Quotes within a text, blanks other than spaces, and characters beyond ASCII come after a backslash.
    if "\\" in text or "'" in text or "<" in text or "@" in text or "--" in text or _follows_name(text):
        return mask(document)
    if _has_header(text):
        return mask(document)
    return _mask_named(document)


def mask_text(text: str) -> str:
    """Return ``text`` (a message, a line of a log) with stars in place of the secrets in it."""
    return _Search().text(text)


class _SecretNames(dict[str, bool]):
    """Cache of whether the value of a member with a given name is a secret.

    Clients choose the names, so their number and length are limited.
    """

    def __missing__(self, name: str) -> bool:
        lowered = name.lower()
        found = any(part in lowered for part in _PARTS) or _WHOLE_NAME.search(name) is not None
        if len(name) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[name] = found
        return found


_is_secret = _SecretNames()


def names_secret(name: str) -> bool:
    """Return whether the value of a member of this name is a secret."""
    return _is_secret[name]


def mentions_secret(text: str) -> bool:
    """Return whether ``text`` (ASCII) may hold a secret: the name of one, or a URL with an ``@``."""
    lowered = text.lower()
    # The Kelvin sign is a k in lower case, and JSON writes it as an escape.
    if ("://" in text and "@" in text) or "\\u212a" in lowered:
        return True
    # Called for every log line; a loop takes a third of the time of a generator.
    for hint in _HINTS:
        if hint in lowered:
            if any(part in lowered for part in _PARTS):
                return True
            break
    return _has_word(text, lowered)


def _has_word(text: str, lowered: str) -> bool:
    """Return whether ``text`` may hold a name that marks a secret as a word."""
    if len(lowered) != len(text):
        return True  # some letters have two in lower case
    left = _MOST_HINTS
    for hint in _WHOLE_HINTS:
        at = lowered.find(hint)
        while at >= 0:
            left -= 1
            if left < 0 or _WHOLE_NAME.search(text, max(0, at - _AROUND), at + _AROUND):
                return True
            at = lowered.find(hint, at + 1)
    return False


def _has_header(text: str) -> bool:
    lowered = text.lower()
    return "authorization:" in lowered or "cookie:" in lowered


def _follows_name(text: str) -> bool:
    """Return whether a name in ``text`` (ASCII) is followed by ``=``, or by a hyphen as in ``-x``."""
    if "=" in text and any(map(_ends_in_name, text.split("=")[:-1])):
        return True
    if "-" in text:
        for before, after in pairwise(text.split("-")):
            if not after[:1].isdigit() and _ends_in_name(before):
                return True
    return False


def _ends_in_name(text: str) -> bool:
    last = text[-1:]
    if last.islower() and last not in _LAST_LETTERS:
        return False
    name = text.rstrip().rstrip("0123456789")[-32:]
    return name.lower().endswith(_NAMES) or _WHOLE_NAME.search(name) is not None


def _mask_named(value: Any) -> Any:
    """Mask values by their names only, without searching texts."""
    if type(value) is list:
        return [_mask_named(item) if type(item) in _CONTAINERS else item for item in value]
    if type(value) is not dict:
        return value
    masked = {
        name: MASK
        if _is_secret[name]
        else item
        if type(item) is str or type(item) not in _CONTAINERS
        else _mask_named(item)
        for name, item in value.items()
    }
    return _mask_named_beside(masked) if "value" in masked else masked


def _mask_named_beside(masked: dict[str, Any]) -> dict[str, Any]:
    """Mask {"name": "AdminPassword", "value": ...}, the form of BIOS settings in steps."""
    if names_secret(str(masked.get("name", ""))):
        masked["value"] = MASK
    return masked


class _Search:
    """A walk through one document that also searches its texts."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        masked = {name: MASK if names_secret(str(name)) else self.value(item) for name, item in value.items()}
        return _mask_named_beside(masked) if "value" in masked else masked

    def text(self, text: str) -> str:
        plain = text.isascii() and not ("'" in text or '"' in text or "<" in text or "@" in text or "--" in text)
        plain = plain and not _has_header(text)
        if plain and not _follows_name(text):
            return text
        if "@" in text and "://" in text:
            text = _URL_TOKEN.sub(rf"\1{MASK}@", _URL_PASSWORD.sub(rf"\1{MASK}@", text))
        lowered = text.lower()
        found = sum(part in lowered for part in _PARTS) + _has_word(text, lowered)
        if not found:
            return text
        self._left -= found * len(text)
        if self._left < 0:
            return MASK
        masked: str = strutils.mask_password(text, MASK)
        for pattern in (_NAMED, _PATCHED, _PATCHED_BEFORE):
            masked = pattern.sub(rf"\1'{MASK}'", masked)
        return _HEADER.sub(rf"\1{MASK}", _ASSIGNED.sub(rf"\1{MASK}", masked))
