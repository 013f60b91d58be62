"""The addresses of a server, from the ``network_data`` of its node."""

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Address:
    """An address on a network; ``version`` is 4 or 6."""

    network: str
    text: str
    version: int
    mac: str | None


def compact_ipv6(text: str) -> str:
    """Return the address as Nova stores it, which is netaddr's ``ipv6_compact``; other texts as they are."""
    try:
        return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
    except (OSError, ValueError):
        return text


def of(network_data: Mapping[str, Any] | None) -> list[Address]:
    """Return the fixed addresses that ``network_data`` gives, in its order. Addresses from DHCP are not known."""
    data = network_data or {}
    links = {link.get("id"): link for link in _objects(data.get("links"))}
    found = []
    for network in _objects(data.get("networks")):
        text = network.get("ip_address")
        if not isinstance(text, str):
            continue
        link = links.get(network.get("link"), {})
        mac = link.get("ethernet_mac_address") or link.get("vlan_mac_address")
        plain = text.partition("/")[0]
        name = network.get("network_id") or network.get("id") or "network"
        found.append(Address(str(name), plain, 6 if ":" in plain else 4, mac))
    return found


def _objects(value: Any) -> Iterable[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def document(network_data: Mapping[str, Any] | None, *, extended: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses by network, as the compute API shows them; ``extended``: with type and MAC address."""
    networks: dict[str, list[dict[str, Any]]] = {}
    for address in of(network_data):
        item: dict[str, Any] = {"addr": address.text, "version": address.version}
        if extended:
            item |= {"OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": address.mac or ""}
        networks.setdefault(address.network, []).append(item)
    return networks
