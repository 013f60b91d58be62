"""Host names of servers."""

import re

#: The longest name of a host.
MOST = 63

_NOT_ALLOWED = re.compile(r"[^a-z0-9.-]+")
_EDGES = ".-"


def of(name: str, uuid: str) -> str:
    """Return the host name of a server with this name: letters, digits and hyphens; of its UUID if none is left."""
    ascii_name = name.lower().encode("ascii", "ignore").decode()
    spaced = re.sub(r"[ _]+", "-", ascii_name)
    hostname = _NOT_ALLOWED.sub("", spaced).replace(".", "-").strip(_EDGES)[:MOST].rstrip(_EDGES)
    return hostname or f"server-{uuid}"
