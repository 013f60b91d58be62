"""Identifiers of all APIs."""

import re
import uuid

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def canonical_uuid(text: str) -> str | None:
    """Return ``text`` as a UUID in lower case with dashes; None if it is not one. Dashes may be missing, and letters
    may be of any case."""
    try:
        canonical = str(uuid.UUID(text))
    except (ValueError, AttributeError):
        return None
    return canonical if text.lower().replace("-", "") == canonical.replace("-", "") else None


def canonical_mac(text: str) -> str | None:
    """Return ``text`` as a MAC address in lower case, or None if it is not a MAC address."""
    return text.lower() if _MAC.fullmatch(text) else None
