"""Messages about names that are not traits."""

import re
from difflib import get_close_matches

from baremetal_sched.placement.names import NAME_LENGTH, STANDARD_TRAITS, is_custom

_CUSTOM = "CUSTOM_"
_NOT_ALLOWED = re.compile(r"[^A-Z0-9_]+")
#: Most names to propose, and longest name to propose something for: comparing longer ones is slow.
_MOST = 3
_LONGEST = 100
_ALIKE = 0.8


def complaint(name: str) -> str:
    """Return what is said of ``name``, which is not a trait: it proposes traits that may have been meant.

    Test suites of released clients look for "does not match".
    """
    found = proposals(name)
    meant = f" Did you mean {' or '.join(found)}?" if found else ""
    return (
        f"'{name}' is not a valid trait.{meant} It is not one of os-traits, and does not match '^CUSTOM_[A-Z0-9_]+$'."
    )


def proposals(name: str) -> list[str]:
    """Return the traits that ``name`` may be meant for, the best first: standard ones that are alike, a custom one."""
    if len(name) > _LONGEST:
        return []
    plain = _NOT_ALLOWED.sub("_", name.strip().upper()).strip("_")
    if plain in ("", _CUSTOM.rstrip("_")):
        return []
    if plain in STANDARD_TRAITS:
        return [plain]
    custom = plain if plain.startswith(_CUSTOM) else _CUSTOM + plain
    alike = get_close_matches(plain, sorted(STANDARD_TRAITS), _MOST - 1, _ALIKE)
    ending = sorted(trait for trait in STANDARD_TRAITS if trait.endswith(f"_{plain}") and trait not in alike)
    found = [*alike, *([custom] if is_custom(custom) and len(custom) <= NAME_LENGTH else []), *ending]
    return found[:_MOST]
