"""Passwords, tokens and keys in texts and documents: stars take their place before anything is shown or logged.

What is a secret is decided by oslo.utils, as for Ironic: by the name of a member, and by words within a text, such as
``password=...``. Added are the names that it does not know, and passwords in URLs.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from oslo_utils import strutils

MASK = "******"

#: Names that oslo.utils leaves: those of SNMP (Ironic masks them by itself), and other spellings.
_MORE_NAMES = (
    *("snmp_auth_key", "snmp_priv_key", "snmp_community_read", "snmp_community_write", "snmp_community"),
    *("passwd", "pswd", "newpass", "privatekey", "kg_key"),
)
#: All parts of names that make a secret of a value. (That list is not public; what is found fast has to agree with it.)
_NAMES = (*strutils._SANITIZE_KEYS, *_MORE_NAMES)
#: The shortest of them: what contains one of the others contains one of these.
_PARTS = tuple(name for name in sorted(set(_NAMES)) if not any(part in name for part in set(_NAMES) - {name}))

#: Each name has one of these, which are fewer.
_FEW = ("pass", "token", "secret", "key", "pswd", "drive", "fsid", "cookie", "credential", "kek", "suffix", "community")
_HINTS = _FEW if all(any(hint in name for hint in _FEW) for name in _PARTS) else _PARTS

#: What oslo.utils does within texts, for the names that it does not know.
_ASSIGNED = re.compile(rf"((?:{'|'.join(_MORE_NAMES)})[0-9]*\s*=\s*['\"]?)[^\s'\"]+", re.IGNORECASE)

#: A text in quotes, as JSON and Python write it.
_QUOTED = r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
#: {"snmp_community": "..."}, which oslo.utils does for the names that it knows.
_NAMED = re.compile(rf"""(['"][^'"\s]*(?:{"|".join(_MORE_NAMES)})[^'"\s]*['"]\s*:\s*){_QUOTED}""", re.IGNORECASE)
#: {"path": "/driver_info/ipmi_password", "value": ...}, as patches have it, either way round. What is no text ends with
#: the object.
_PATH = rf"""['"]path['"]\s*:\s*['"][^'"]*(?:{"|".join(_PARTS)})[^'"]*['"]"""
_PATCHED = re.compile(rf"""({_PATH}[^}}]*?['"]value['"]\s*:\s*)(?:{_QUOTED}|[^}}]*)""", re.IGNORECASE)
_PATCHED_BEFORE = re.compile(rf"""(['"]value['"]\s*:\s*){_QUOTED}(?=[^}}]*?{_PATH})""", re.IGNORECASE)

#: The password of a URL, as in scheme://user:password@host; and what stands there alone, as in https://token@host. A
#: number after the colon is a port. A password may contain most characters, but no other URL.
_URL_PASSWORD = re.compile(r"(://[^\s/?#:@\"'<>\[]*:)(?!\d*(?:[/?#\s\"'<>]|$))(?:(?!://)[^\s\"'<>])*@")
_URL_TOKEN = re.compile(r"(https?://)[^\s/?#:@\"'<>]+@", re.IGNORECASE)

_LAST_LETTERS = frozenset(name[-1:] for name in _NAMES)

#: How much of a document is searched for secrets within its texts: characters, times the names that occur in them.
#: It takes some 50 ms. What is left then is masked as a whole if it may hold one.
_BUDGET = 200_000

_LONGEST_REMEMBERED = 100
_MOST_REMEMBERED = 10_000

_CONTAINERS = frozenset((dict, list))


def mask(document: Any) -> Any:
    """Return a copy of ``document`` (objects, arrays, texts, numbers) in which every secret is stars."""
    return _Search().value(document)


def mask_decoded(document: Any, text: str) -> Any:
    """Return ``mask(document)``, sooner. ``text`` is the JSON that it was decoded from, in ASCII."""
    # Quotes within a text, blanks other than spaces, and characters beyond ASCII come after a backslash.
    if "\\" in text or "'" in text or "<" in text or "@" in text or "--" in text or _follows_name(text):
        return mask(document)
    return _mask_named(document)


def mask_text(text: str) -> str:
    """Return ``text`` (a message, a line of a log) with stars in place of the secrets in it."""
    return _Search().text(text)


class _SecretNames(dict[str, bool]):
    """Whether the value of a member of a name is a secret, by names that were asked before.

    Clients choose the names, so there is an end to how many are remembered, and to their length.
    """

    def __missing__(self, name: str) -> bool:
        lowered = name.lower()
        found = any(part in lowered for part in _PARTS)
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
    """Return whether ``text`` (ASCII) may hold a secret: it has a name of one, or a URL with an ``@``."""
    lowered = text.lower()
    # The Kelvin sign is a k in lower case, and JSON writes it as an escape.
    if ("://" in text and "@" in text) or "\\u212a" in lowered:
        return True
    # Asked of every line of the log; a loop takes a third of the time that a generator does.
    for hint in _HINTS:
        if hint in lowered:
            return any(part in lowered for part in _PARTS)
    return False


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
    return text.rstrip().rstrip("0123456789")[-32:].lower().endswith(_NAMES)


def _mask_named(value: Any) -> Any:
    """Mask what has the name of a secret, and look into no text."""
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
    """{"name": "AdminPassword", "value": ...}, as steps have the settings of a BIOS."""
    if names_secret(str(masked.get("name", ""))):
        masked["value"] = MASK
    return masked


class _Search:
    """A walk through one document that searches its texts too."""

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
        if plain and not _follows_name(text):
            return text
        if "@" in text and "://" in text:
            text = _URL_TOKEN.sub(rf"\1{MASK}@", _URL_PASSWORD.sub(rf"\1{MASK}@", text))
        lowered = text.lower()
        found = sum(part in lowered for part in _PARTS)
        if not found:
            return text
        self._left -= found * len(text)
        if self._left < 0:
            return MASK
        masked: str = strutils.mask_password(text, MASK)
        for pattern in (_NAMED, _PATCHED, _PATCHED_BEFORE):
            masked = pattern.sub(rf"\1'{MASK}'", masked)
        return _ASSIGNED.sub(rf"\1{MASK}", masked)
