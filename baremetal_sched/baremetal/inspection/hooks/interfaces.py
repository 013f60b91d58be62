"""``validate-interfaces``: which network interfaces count, and which of them are to have ports."""

import ipaddress
from collections.abc import Mapping
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.documents.identifiers import canonical_mac
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Interfaces by name, as in the inventory, with ``pxe_enabled``: whether the machine booted from it.
Interfaces = dict[str, dict[str, Any]]

#: Keys of the plugin data: all interfaces with a MAC address, the interfaces that get ports, and their addresses.
ALL, VALID, MACS = "all_interfaces", "valid_interfaces", "macs"


def validate(subject: Subject, settings: Settings) -> None:
    """Note ALL, VALID and MACS in the plugin data. Raises HookFailed if there is nothing to note.

    ``[inspector] add_ports`` says which interfaces are to have ports; the loopback interface never is.
    """
    boot_mac = _boot_mac(subject.inventory)
    found = _with_addresses(subject, boot_mac)
    if not found:
        raise HookFailed(message="The inventory has no valid network interfaces.")
    wanted = settings.inspector.add_ports
    valid = {
        name: dict(interface)
        for name, interface in found.items()
        if not _is_local(name, interface) and _is_wanted(interface, wanted, boot_mac)
    }
    if not valid:
        raise HookFailed(
            message=f'No network interfaces of the inventory match the configuration (add_ports is "{wanted}").'
        )
    subject.plugin_data |= {ALL: found, VALID: valid, MACS: [each["mac_address"] for each in valid.values()]}


def mac_of(interface: Mapping[str, Any]) -> str:
    """The MAC address of one of these interfaces, in lower case."""
    return str(interface["mac_address"]).lower()


def addresses_of(interface: Mapping[str, Any]) -> list[str]:
    """Its IP addresses, the one of version 4 first."""
    found = (interface.get(key) for key in ("ipv4_address", "ipv6_address"))
    return [address for address in found if isinstance(address, str) and address]


def _with_addresses(subject: Subject, boot_mac: str | None) -> Interfaces:
    found: Interfaces = {}
    interfaces = subject.inventory.get("interfaces")
    for interface in interfaces if isinstance(interfaces, list) else ():
        name = interface.get("name")
        mac = canonical_mac(str(interface.get("mac_address")))
        if not isinstance(name, str) or not name or mac is None:
            log.info("ignored an interface without a name or a MAC address", interface=interface)
            continue
        ipv6_address = interface.get("ipv6_address")
        if isinstance(ipv6_address, str):
            # fe80::1%eth0: the zone is a matter of the agent's.
            ipv6_address = ipv6_address.partition("%")[0]
        found[name] = {**interface, "pxe_enabled": mac == boot_mac, "ipv6_address": ipv6_address}
    return found


def _boot_mac(inventory: Mapping[str, Any]) -> str | None:
    """The MAC address from which the machine booted, if the agent says so: also as pxelinux does, 01-aa-bb-cc-…."""
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


def _is_wanted(interface: Mapping[str, Any], wanted: str, boot_mac: str | None) -> bool:
    if wanted == "pxe" and boot_mac is not None:
        return bool(interface["pxe_enabled"])
    return wanted != "active" or bool(addresses_of(interface))
