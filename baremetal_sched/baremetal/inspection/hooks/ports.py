"""Hooks that give a node the ports of its machine, and record the networks that these are connected to."""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.documents.schema import canonical_mac
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Interfaces by name, as in the inventory, with ``pxe_enabled``: whether the machine booted from it; None if that is
#: not known.
Interfaces = dict[str, dict[str, Any]]

#: Keys of the plugin data: all interfaces with a MAC address, the interfaces that get ports, and their addresses.
ALL, VALID, MACS = "all_interfaces", "valid_interfaces", "macs"


def validate(subject: Subject, settings: Settings) -> None:
    """Record ALL, VALID and MACS in the plugin data. Raises HookFailed if there are no valid interfaces.

    ``[inspector] add_ports`` says which interfaces are to have ports; the loopback interface never is.
    """
    boot_mac = _boot_mac(subject.inventory)
    interfaces = _with_addresses(subject, boot_mac)
    if not interfaces:
        raise HookFailed(message="The inventory has no valid network interfaces.")
    add_ports = settings.inspector.add_ports
    valid = {
        name: dict(interface)
        for name, interface in interfaces.items()
        if not _is_local(name, interface) and _gets_port(interface, add_ports, boot_mac)
    }
    if not valid:
        raise HookFailed(
            message=f'No network interfaces of the inventory match the configuration (add_ports is "{add_ports}").'
        )
    subject.plugin_data |= {ALL: interfaces, VALID: valid, MACS: [each["mac_address"] for each in valid.values()]}


def mac_of(interface: Mapping[str, Any]) -> str:
    """Return the MAC address of one of these interfaces in lower case."""
    return str(interface["mac_address"]).lower()


def addresses_of(interface: Mapping[str, Any]) -> list[str]:
    """Return the IP addresses of an interface; the one of version 4 comes first."""
    found = (interface.get(key) for key in ("ipv4_address", "ipv6_address"))
    return [address for address in found if isinstance(address, str) and address]


def _with_addresses(subject: Subject, boot_mac: str | None) -> Interfaces:
    valid: Interfaces = {}
    interfaces = subject.inventory.get("interfaces")
    for interface in interfaces if isinstance(interfaces, list) else ():
        name = interface.get("name")
        mac = canonical_mac(str(interface.get("mac_address")))
        if not isinstance(name, str) or not name or mac is None:
            log.info("ignored an interface without a name or a MAC address", interface=interface)
            continue
        ipv6_address = interface.get("ipv6_address")
        if isinstance(ipv6_address, str):
            # The zone in fe80::1%eth0 has a meaning only for the agent.
            ipv6_address = ipv6_address.partition("%")[0]
        booted = None if boot_mac is None else mac == boot_mac
        valid[name] = {**interface, "pxe_enabled": booted, "ipv6_address": ipv6_address}
    return valid


def _boot_mac(inventory: Mapping[str, Any]) -> str | None:
    """Return the MAC address from which the machine booted, if the agent reports it; pxelinux's form 01-aa-bb-cc-… is
    also understood."""
    boot = inventory.get("boot")
    text = boot.get("pxe_interface") if isinstance(boot, dict) else None
    if not isinstance(text, str):
        return None
    if "-" in text:
        text = text.split("-", 1)[1].replace("-", ":")
    return text.lower() or None


def _is_local(name: str, interface: Mapping[str, Any]) -> bool:
    return name == "lo" or any(_is_loopback(address) for address in addresses_of(interface)[:1])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _gets_port(interface: Mapping[str, Any], add_ports: str, boot_mac: str | None) -> bool:
    if add_ports == "pxe" and boot_mac is not None:
        return bool(interface["pxe_enabled"])
    return add_ports != "active" or bool(addresses_of(interface))


#: A subnet, and the name of the physical network that it is on.
Network = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]

#: Where the extra of a port has the id by which InfiniBand devices ask for addresses.
_CLIENT_ID = "client-id"


def settle(subject: Subject, settings: Settings) -> None:
    """``ports``: Add ports, remove ports that are not to be kept, and update the others.

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
            subject.add_port(address, pxe_enabled=interface["pxe_enabled"] is not False, extra=extra)


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
    is_known = any(interface["pxe_enabled"] is not None for interface in found.values())
    for address, uuid in subject.addresses.items():
        port, interface = subject.ports[uuid], found.get(address, {})
        if update_pxe_enabled and is_known:
            port["pxe_enabled"] = bool(interface.get("pxe_enabled"))
        if interface.get("client_id"):
            port["extra"][_CLIENT_ID] = interface["client_id"]


def set_physical_networks(subject: Subject, settings: Settings) -> None:
    """``physical-network``: Set the physical network of each port by the address of its interface, according to
    ``[inspector] physical_network_cidr_map``."""
    networks = physical_networks(settings)
    for interface in subject.plugin_data[ALL].values():
        uuid = subject.addresses.get(mac_of(interface))
        for address in addresses_of(interface) if uuid else ():
            name = _physical_network(networks, address)
            if name is not None:
                subject.port(uuid)["physical_network"] = name
                break


def physical_networks(settings: Settings) -> Sequence[Network]:
    """Return the networks in ``[inspector] physical_network_cidr_map``. Raises InvalidValue."""
    return [_network(entry) for entry in settings.inspector.physical_network_cidr_map]


def _network(entry: str) -> Network:
    """Parse an entry like ``10.1.0.0/16:physnet1``."""
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
