"""Identifiers of all APIs."""

import uuid


def canonical_uuid(text: str) -> str | None:
    """Return ``text`` as a UUID in lower case with dashes; None if it is not one. Dashes may be missing, and letters
    may be of any case."""
    try:
        canonical = str(uuid.UUID(text))
    except (ValueError, AttributeError):
        return None
    return canonical if text.lower().replace("-", "") == canonical.replace("-", "") else None
