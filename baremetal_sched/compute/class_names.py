"""Names of resource classes in requests."""

import re
from difflib import get_close_matches

from baremetal_sched.placement.names import NAME_LENGTH, STANDARD_CLASSES, is_custom

_CUSTOM = "CUSTOM_"
_NOT_ALLOWED = re.compile(r"[^A-Z0-9_]+")
_ALIKE = 0.8


def is_class(name: str) -> bool:
    """Return whether ``name`` is one of os-resource-classes, or ``CUSTOM_`` and then ``A-Z 0-9 _``."""
    return name in STANDARD_CLASSES or is_custom(name)


def not_a_class(name: str) -> str:
    """Return a sentence about ``name``, which is not a resource class, that proposes what may be meant."""
    meant = _proposal(name)
    return (
        f"'{name}' is not a resource class.{f' Did you mean {meant}?' if meant else ''} It is not one of "
        "os-resource-classes, and does not match '^CUSTOM_[A-Z0-9_]+$'."
    )


def _proposal(name: str) -> str | None:
    plain = _NOT_ALLOWED.sub("_", name.strip().upper()).strip("_")
    if plain in ("", _CUSTOM.rstrip("_")):
        return None
    close: list[str] = get_close_matches(plain, STANDARD_CLASSES, n=1, cutoff=_ALIKE)
    if close:
        return close[0]
    custom = plain if plain.startswith(_CUSTOM) else _CUSTOM + plain
    return custom if len(custom) <= NAME_LENGTH else None
