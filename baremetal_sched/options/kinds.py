"""Kinds of values: addresses, names and levels. Each is checked when the settings are read; messages do not repeat
the value, which may contain a password."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from oslo_config import types

#: The pattern of the name of a level of domains.
LEVEL = "^[a-z][a-z0-9_-]{0,63}$"

#: That of a conductor group; empty is the default group.
CONDUCTOR_GROUP = "[a-zA-Z0-9_.-]{0,255}"

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9a-f:.]+:[0-9a-f:.]*")
_ZONE = re.compile(r"(?! )[^:]{1,255}(?<! )")


class Checked(types.String):
    """A text that ``is_valid``; otherwise the message says what was ``expected``."""

    def __init__(self, expected: str, is_valid: Callable[[str], object]) -> None:
        super().__init__()
        self._expected = expected
        self._is_valid = is_valid

    def __call__(self, value: Any) -> str:
        text: str = super().__call__(value)
        if not self._is_valid(text):
            raise ValueError(f"Expected {self._expected}.")
        return text


def _is_url(text: str) -> bool:
    """Return whether the text is a URL by HTTP, or empty, which is none."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    is_plain = text.isascii() and text.isprintable() and " " not in text and len(text) <= 1000
    return not text or (
        is_plain and parts.scheme in ("http", "https") and bool(_HOST.fullmatch(parts.hostname or "")) and port != 0
    )


def _is_endpoint(text: str) -> bool:
    return _is_url(text) and not {"@", "?", "#"} & set(text)


def _is_origin(text: str) -> bool:
    scheme, separator, host = text.partition("://")
    return text in ("*", "null") or (bool(scheme and separator and host) and not {"/", "@", " "} & set(host))


def at_most(length: int, least: int = 1) -> Checked:
    """Return the kind of texts of ``least`` to ``length`` characters."""
    return Checked(f"a text of {least} to {length} characters", lambda text: least <= len(text) <= length)


URL = Checked("a URL with http or https, such as https://images.example.com/agent.iso", _is_url)
ENDPOINT = Checked(
    "a URL with http or https and a host, without user, password, query and fragment: https://cloud.example.com",
    _is_endpoint,
)
ORIGIN = Checked("*, or a scheme and a host without a path: https://pages.example.com", _is_origin)
OPTIONAL_LEVEL = Checked(
    "the level of domains, such as rack: a small letter, then small letters, digits, _ and -, at most 64 characters",
    lambda text: not text or re.match(LEVEL, text),
)
GROUP = Checked(
    "a conductor group: letters, digits, '_', '-' and '.', at most 255", re.compile(CONDUCTOR_GROUP).fullmatch
)
ZONE = Checked("the name of a zone: at most 255 characters, without ':', no blanks around it", _ZONE.fullmatch)
