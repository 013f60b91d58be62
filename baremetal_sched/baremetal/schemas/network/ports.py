"""Bodies of requests about ports."""

from typing import Any

from marshmallow import ValidationError, validates_schema

from baremetal_sched.baremetal.identifiers import canonical_switch_id
from baremetal_sched.baremetal.schemas.base import MacAddress
from baremetal_sched.documents.schema import Flag, JsonObject, StrictSchema, Text, Uuid, shown

_NETWORK_TYPES = ("managed", "unmanaged")
#: For a switch that bridges to a virtual network of OVN; always together.
VTEP = ("vtep-logical-switch", "vtep-physical-switch")
_LINK_KEYS = frozenset({"port_id", "switch_id", "hostname", "switch_info", "network_type", *VTEP})
#: A link has one of these, or nothing at all: port of a switch, of a smart NIC, of an OVN gateway.
_LINK_FORMS = ({"port_id", "switch_id"}, {"port_id", "hostname"}, {"port_id", *VTEP})


class LocalLink(JsonObject):
    """Where the port is plugged in. The id of the switch becomes lower case."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        link = dict(super()._deserialize(value, attr, data, **kwargs))
        surplus = sorted(set(link) - _LINK_KEYS)
        if surplus:
            names = ", ".join(map(repr, surplus))
            raise ValidationError(f"Additional properties are not allowed ({names} unexpected)")
        for key, text in link.items():
            if not isinstance(text, str):
                raise ValidationError(f"{key}: {shown(text)} is not of type 'string'")
        if link.get("network_type", _NETWORK_TYPES[0]) not in _NETWORK_TYPES:
            raise ValidationError(f"{link['network_type']!r} is not one of {list(_NETWORK_TYPES)}")
        if len(set(VTEP) & set(link)) == 1:
            raise ValidationError(f"{' and '.join(VTEP)} go together")
        unmanaged = link.get("network_type") == "unmanaged"
        if link and not unmanaged and not any(form <= set(link) for form in _LINK_FORMS):
            raise ValidationError(
                f"a link with {', '.join(sorted(link))} has neither port_id and switch_id, nor port_id and hostname, "
                f"nor port_id and {' and '.join(VTEP)}; and its network_type is not 'unmanaged'"
            )
        if "switch_id" in link:
            switch_id = canonical_switch_id(link["switch_id"])
            if switch_id is None:
                raise ValidationError(f"Invalid switch_id: {link['switch_id']}")
            link["switch_id"] = switch_id
        return link


class _Port(StrictSchema):
    address = MacAddress(required=True)
    extra = JsonObject()
    pxe_enabled = Flag(allow_none=True)
    local_link_connection = LocalLink()
    portgroup_uuid = Uuid(allow_none=True)
    physical_network = Text(longest=64, allow_none=True)
    is_smartnic = Flag(allow_none=True)
    name = Text(longest=255, allow_none=True)
    description = Text(longest=255, allow_none=True)
    vendor = Text(longest=32, allow_none=True)
    category = Text(longest=80, allow_none=True)
    available_for_dynamic_portgroup = Flag()


class _PortCreate(_Port):
    uuid = Uuid(allow_none=True)
    node_uuid = Uuid()
    node_ident = Text(longest=255)

    @validates_schema
    def check_node(self, data: dict[str, Any], **kwargs: Any) -> None:
        if ("node_uuid" in data) == ("node_ident" in data):
            raise ValidationError("exactly one of node_ident and node_uuid is required")


class _PortUpdate(_Port):
    node_uuid = Uuid(required=True)


PORT_CREATE = _PortCreate()
PORT_UPDATE = _PortUpdate()
