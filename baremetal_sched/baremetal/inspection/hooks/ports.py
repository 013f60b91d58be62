"""Hooks about ports: that a node has those of its machine, and where these are plugged in."""

import ipaddress
from collections.abc import Iterable, Sequence

import structlog

from baremetal_sched.baremetal.inspection.hooks.interfaces import ALL, MACS, VALID, addresses_of, mac_of
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: A subnet, and the name of the physical network that it is on.
Network = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]

#: Where the extra of a port has the id by which InfiniBand devices ask for addresses.
_CLIENT_ID = "client-id"


def settle(subject: Subject, settings: Settings) -> None:
    """``ports``: add ports, remove ports that are not to be kept, and update the others.

    ``[inspector] add_ports``, ``keep_ports`` and ``update_pxe_enabled`` control this. Addresses that belong to other
    nodes are detected when the ports are stored.
    """
    if settings.inspector.add_ports != "disabled":
        _add(subject)
    _remove(subject, settings.inspector.keep_ports)
    _update(subject, settings.inspector.update_pxe_enabled)


def _add(subject: Subject) -> None:
    for interface in subject.plugin_data[VALID].values():
        address, client_id = mac_of(interface), interface.get("client_id")
        if address not in subject.addresses:
            extra = {_CLIENT_ID: client_id} if client_id else {}
            subject.add_port(address, pxe_enabled=interface["pxe_enabled"], extra=extra)


def _remove(subject: Subject, keep: str) -> None:
    if keep == "all":
        return
    found: Iterable[str] = subject.plugin_data[MACS]
    if keep == "present":
        found = map(mac_of, subject.plugin_data[ALL].values())
    expected = {address.lower() for address in found}
    for address in [address for address in subject.addresses if address not in expected]:
        log.info("an inspection removes a port", node=subject.read_only.get("uuid"), address=address)
        subject.remove_port(address)


def _update(subject: Subject, update_pxe_enabled: bool) -> None:
    found = {mac_of(interface): interface for interface in subject.plugin_data[ALL].values()}
    for address, uuid in subject.addresses.items():
        port, interface = subject.ports[uuid], found.get(address, {})
        if update_pxe_enabled:
            port["pxe_enabled"] = bool(interface.get("pxe_enabled"))
        if interface.get("client_id"):
            port["extra"][_CLIENT_ID] = interface["client_id"]


def set_physical_networks(subject: Subject, settings: Settings) -> None:
    """``physical-network``: the network of a port, by the address that its interface has, as
    ``[inspector] physical_network_cidr_map`` says."""
    networks = physical_networks(settings)
    for interface in subject.plugin_data[ALL].values():
        uuid = subject.addresses.get(mac_of(interface))
        for address in addresses_of(interface) if uuid else ():
            name = _physical_network(networks, address)
            if name is not None:
                subject.port(uuid)["physical_network"] = name
                break


def physical_networks(settings: Settings) -> Sequence[Network]:
    """What ``[inspector] physical_network_cidr_map`` says. Raises InvalidValue."""
    return [_network(entry) for entry in settings.inspector.physical_network_cidr_map]


def _network(entry: str) -> Network:
    """``10.1.0.0/16:physnet1``"""
    subnet, _, name = entry.rpartition(":")
    try:
        return ipaddress.ip_network(subnet), name
    except ValueError as error:
        raise InvalidValue(message=f"[inspector] physical_network_cidr_map: {error}") from None


def _physical_network(networks: Iterable[Network], text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return next((name for subnet, name in networks if address in subnet), None)
