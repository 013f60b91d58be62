"""Names and addresses: the rules of their syntax."""

import re

from baremetal_sched.documents.schema import canonical_mac, canonical_uuid
from baremetal_sched.options.kinds import CONDUCTOR_GROUP

_LOGICAL_NAME = re.compile(r"[A-Za-z0-9\-._~]{1,255}")
_HOST_NAME = re.compile(
    r"(?=.{1,255}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_CONDUCTOR_GROUP = re.compile(CONDUCTOR_GROUP)
_DATAPATH_ID = re.compile(r"[0-9a-f]{16}", re.IGNORECASE)

#: Most traits on a node (specification node-traits).
TRAITS_PER_NODE = 50

RESERVED_NODE_NAMES = ("maintenance", "management", "states", "vendor_passthru", "detail", "validate")


def canonical_switch_id(text: str) -> str | None:
    """Return ``text`` as the id of a switch in lower case: a MAC address, or a datapath id of OpenFlow (16 hexadecimal
    digits); None if it is neither."""
    return text.lower() if _DATAPATH_ID.fullmatch(text) else canonical_mac(text)


def is_logical_name(text: str, *, hostname_only: bool = False) -> bool:
    """Return whether ``text`` can be the name of a resource, which a UUID cannot. ``hostname_only``: by the stricter
    rule of microversions below 1.10."""
    pattern = _HOST_NAME if hostname_only else _LOGICAL_NAME
    return pattern.fullmatch(text) is not None and canonical_uuid(text) is None


def is_conductor_group(text: str) -> bool:
    """Return whether ``text`` can be the name of a conductor group: at most 255 letters (any case), digits, ``_ - .``;
    empty is the default group."""
    return _CONDUCTOR_GROUP.fullmatch(text) is not None
