"""Network configuration for an instance, as Nova writes it into config drives (network_data.json)."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Interface

from marshmallow import ValidationError

from baremetal_sched.documents.schema import JsonObject, JsonSchema, Parent, SchemaDict

_LINK_TYPES = ("bridge", "dvs", "hw_veb", "hyperv", "ovs", "phy", "tap", "vhostuser", "vif")
_BOND_MODES = (*("802.3ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"),)
_TEXT: SchemaDict = {"type": "string"}
_MAC: SchemaDict = {"type": "string", "pattern": r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\Z"}


def _is_ipv4_mask(text: object) -> bool:
    # Python accepts a host mask (0.0.0.255), which is not a netmask.
    return str(IPv4Network(f"0.0.0.0/{text}").netmask) == text


_FORMATS = {
    "ipv4": lambda text: bool(IPv4Address(text)),
    "ipv4-mask": _is_ipv4_mask,
    "ipv6": lambda text: bool(IPv6Address(text)),
    "ipv6-host": lambda text: bool(IPv6Interface(text)),
}


def _objects(required: tuple[str, ...], properties: SchemaDict, **more: object) -> dict[str, object]:
    return {
        "type": "array",
        "items": {"type": "object", "required": list(required), "properties": properties, **more},
    }


def _of_type(types: tuple[str, ...], then: SchemaDict) -> dict[str, object]:
    return {"if": {"required": ["type"], "properties": {"type": {"enum": list(types)}}}, "then": then}


def _addresses(host: str, mask: str, address: str) -> dict[str, object]:
    """The schema of the networks of one version of IP; the arguments are formats."""
    route = {
        name: {"type": "string", "format": kind}
        for name, kind in (("network", address), ("netmask", mask), ("gateway", address))
    }
    return {
        "properties": {
            "ip_address": {"type": "string", "format": host},
            "netmask": {"type": "string", "format": mask},
            "routes": _objects(("network", "netmask", "gateway"), route),
        }
    }


_LINKS = _objects(
    ("id", "type"),
    {
        "id": _TEXT,
        "type": {"enum": [*_LINK_TYPES, "bond", "vlan"]},
        "vif_id": _TEXT,
        "mtu": {"type": ["number", "null"], "minimum": 1, "maximum": 65535},
        "ethernet_mac_address": _MAC,
        "vlan_mac_address": _MAC,
        "vlan_id": {"type": "integer"},
        "vlan_link": _TEXT,
        "bond_mode": {"enum": list(_BOND_MODES)},
        "bond_links": {"type": "array", "items": _TEXT},
    },
    allOf=[
        _of_type((*_LINK_TYPES, "bond"), {"required": ["ethernet_mac_address"]}),
        _of_type(("bond",), {"required": ["bond_mode", "bond_links"]}),
        _of_type(("vlan",), {"required": ["vlan_mac_address", "vlan_id", "vlan_link"]}),
    ],
)
_IPV4, _IPV6 = ("ipv4", "ipv4_dhcp"), ("ipv6", "ipv6_dhcp", "ipv6_slaac")
_NETWORKS = _objects(
    ("id", "link", "network_id", "type"),
    {"id": _TEXT, "link": _TEXT, "network_id": _TEXT, "type": {"enum": [*_IPV4, *_IPV6]}},
    allOf=[
        _of_type(_IPV4, _addresses("ipv4", "ipv4-mask", "ipv4")),
        _of_type(_IPV6, _addresses("ipv6-host", "ipv6", "ipv6")),
    ],
)
_SERVICES = _objects(
    ("type", "address"),
    {
        "type": {"enum": ["dns"]},
        "address": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6-host"}]},
    },
)
_SCHEMA = JsonSchema(
    {
        "required": ["links", "networks", "services"],
        "properties": {"links": _LINKS, "networks": _NETWORKS, "services": _SERVICES},
    },
    _FORMATS,
)


class NetworkData(JsonObject):
    """Links, networks and services; or nothing."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> dict[str, object]:
        document = super()._deserialize(value, attr, data, **kwargs)
        error = _SCHEMA.error(document) if document else None
        if error is not None:
            place = "".join(f"/{part}" for part in error.absolute_path)
            # The message begins with the value.
            instance = repr(error.instance)
            reason = f"it{rest}" if (rest := error.message.removeprefix(instance)) != error.message else rest
            raise ValidationError(f"Invalid network_data{f' at {place}' if place else ''}: {reason}")
        return document
