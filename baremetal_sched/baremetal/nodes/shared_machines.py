"""Nodes that stand for one machine: their ``driver_info`` has the same controller, and the same system behind it.

Nothing forbids this, but the machine could be given to two consumers, one through each node.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import structlog
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes.node_list import contains
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.db.types import as_text

log = structlog.get_logger(__name__)

#: Nodes: UUID and name of each.
Others = Sequence[tuple[str, str | None]]

#: ``redfish_address``, ``ipmi_address`` and so on; not ``ipmi_target_address``, which is a part of the way there.
_ADDRESS = re.compile(r"([a-z0-9]+)_address")
#: What tells machines behind one address apart, without the driver's prefix.
_PARTS = ("port", "system_id", "target_channel", "target_address", "transit_channel", "transit_address")
#: The port without one, by scheme and kind of controller.
_PORTS = {"http": "80", "https": "443", "redfish": "443", "ipmi": "623"}
#: The number of other nodes that a message names.
_MOST = 5


@dataclass(frozen=True)
class _Place:
    """A machine: a host, and what leads to it from there; without a part, it is the only machine there."""

    host: str
    parts: Mapping[str, str]

    def may_be(self, other: "_Place") -> bool:
        """Return whether both are the same machine, as far as they say."""
        known = self.parts.keys() & other.parts.keys()
        return self.host == other.host and all(self.parts[name] == other.parts[name] for name in known)


def others(session: Session, node: Node) -> Others:
    """Return UUID and name of other nodes with the machine of ``node``, the first few; none if it names no controller.

    SELECT id, uuid, name, driver_info FROM nodes WHERE id != :node AND (lower(driver_info) LIKE '%<host>%' OR …)
    """
    places = _places(node.driver_info)
    if not places:
        return []
    named = or_(*(contains(as_text(Node.driver_info.expression), place.host) for place in places))
    query = select(Node.uuid, Node.name, Node.driver_info).where(Node.id != node.id, named).order_by(Node.id)
    found = [
        (uuid, name)
        for uuid, name, driver_info in session.execute(query)
        if any(mine.may_be(theirs) for mine in places for theirs in _places(driver_info))
    ]
    return found[:_MOST]


def warning(found: Others, *, names_others: bool = True) -> str | None:
    """Return a sentence about the ``others`` of a node; None if there are none.

    ``names_others``: whether they are named.
    """
    if not found:
        return None
    who = f"node {', '.join(name or uuid for uuid, name in found)}" if names_others else "another node"
    return f"driver_info names the same machine as that of {who}, so that it may be given out twice."


def log_warning(node: Node, found: Others) -> None:
    """Log ``warning`` for a node that was enrolled or changed."""
    if text := warning(found):
        log.warning(text, node=node.uuid)


def _places(driver_info: Any) -> list[_Place]:
    info = readable(driver_info)
    found = []
    for key, value in info.items():
        match = _ADDRESS.fullmatch(key)
        if match and isinstance(value, str) and (host := _host(value)):
            parts = {name: info.get(f"{match[1]}_{name}") for name in _PARTS}
            known = {name: str(part).rstrip("/") for name, part in parts.items() if part not in (None, "")}
            found.append(_Place(host, {"kind": match[1], "port": _port(value, match[1]), **known}))
    return found


def _host(address: str) -> str:
    try:
        return (urlsplit(address if "//" in address else f"//{address}").hostname or "").lower()
    except ValueError:
        return ""


def _port(address: str, kind: str) -> str:
    url = urlsplit(address if "//" in address else f"//{address}")
    try:
        port = url.port
    except ValueError:
        port = None
    return str(port) if port else _PORTS.get(url.scheme or kind, "")
