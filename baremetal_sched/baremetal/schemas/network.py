"""Bodies of requests about ports, portgroups, volumes and events."""

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates, validates_schema

from baremetal_sched.baremetal.identifiers import canonical_switch_id, is_logical_name
from baremetal_sched.documents.schema import (
    Choice,
    Flag,
    JsonObject,
    Parent,
    StrictSchema,
    Text,
    Uuid,
    Whole,
    canonical_mac,
    excerpt,
)


class MacAddress(fields.Field[str]):
    """A MAC address; becomes lower case."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        address = canonical_mac(value) if isinstance(value, str) else None
        if address is None:
            raise ValidationError(f"Expected valid MAC address for {attr}: {value}")
        return address


class LogicalName(Text):
    """A name that can stand in a path."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> str:
        name = super()._deserialize(value, attr, data, **kwargs)
        if not is_logical_name(name):
            raise ValidationError(f"invalid name '{name}'")
        return name


EVENTS = ("network.bind_port", "network.unbind_port", "network.delete_port")

_Event = StrictSchema.from_dict(
    {
        "event": Choice(EVENTS, required=True),
        "port_id": Uuid(required=True),
        "mac_address": MacAddress(required=True),
        "status": Text(required=True),
        "device_id": Uuid(allow_none=True),
        "binding:host_id": Uuid(allow_none=True),
        "binding:vnic_type": Text(allow_none=True),
    },
    name="Event",
)


class _Events(StrictSchema):
    """The body of POST /v1/events."""

    events = fields.List(fields.Nested(_Event), required=True, validate=validate.Length(min=1))


EVENT: Schema = _Event()
EVENTS_POSTED = _Events()


class _Portgroup(StrictSchema):
    """The fields of a portgroup that a client may set, on creation or later."""

    node_uuid = Uuid(required=True)
    name = LogicalName(allow_none=True)
    address = MacAddress(allow_none=True)
    extra = JsonObject()
    standalone_ports_supported = Flag(allow_none=True)
    properties = JsonObject()
    physical_network = Text(longest=64, allow_none=True)
    category = Text(longest=80, allow_none=True)


class _PortgroupCreate(_Portgroup):
    """A new portgroup: without a mode it gets the default of the settings."""

    uuid = Uuid(allow_none=True)
    mode = Text(longest=255, allow_none=True)


class _PortgroupUpdate(_Portgroup):
    """A portgroup as a PATCH leaves it."""

    #: Mandatory: it cannot be removed.
    mode = Text(longest=255, shortest=1, required=True)


PORTGROUP_CREATE = _PortgroupCreate()
PORTGROUP_UPDATE = _PortgroupUpdate()


_NETWORK_TYPES = ("managed", "unmanaged")
#: For a switch that bridges to a virtual network of OVN; always together.
VTEP = ("vtep-logical-switch", "vtep-physical-switch")
_LINK_KEYS = frozenset({"port_id", "switch_id", "hostname", "switch_info", "network_type", *VTEP})
#: A link has one of these, or nothing at all: port of a switch, of a smart NIC, of an OVN gateway.
_LINK_FORMS = ({"port_id", "switch_id"}, {"port_id", "hostname"}, {"port_id", *VTEP})


class LocalLink(JsonObject):
    """Where the port is plugged in. The id of the switch becomes lower case."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> dict[str, object]:
        link = dict(super()._deserialize(value, attr, data, **kwargs))
        surplus = sorted(set(link) - _LINK_KEYS)
        if surplus:
            names = ", ".join(map(repr, surplus))
            raise ValidationError(f"Additional properties are not allowed ({names} unexpected)")
        for key, text in link.items():
            if not isinstance(text, str):
                raise ValidationError(f"{key}: {excerpt(text)} is not of type 'string'")
        if link.get("network_type", _NETWORK_TYPES[0]) not in _NETWORK_TYPES:
            raise ValidationError(f"{link['network_type']!r} is not one of {list(_NETWORK_TYPES)}")
        if len(set(VTEP) & set(link)) == 1:
            raise ValidationError(f"{' and '.join(VTEP)} go together")
        if "switch_id" in link:
            switch_id = canonical_switch_id(str(link["switch_id"]))
            if switch_id is None:
                raise ValidationError(f"Invalid switch_id: {link['switch_id']}")
            link["switch_id"] = switch_id
        return link


def link_complaint(link: Mapping[str, Any]) -> str | None:
    """Return why a client may not set this link, if it is not whole. Inspections store also the parts of one."""
    if not link or link.get("network_type") == "unmanaged" or any(form <= set(link) for form in _LINK_FORMS):
        return None
    return (
        f"a link with {', '.join(sorted(link))} has neither port_id and switch_id, nor port_id and hostname, "
        f"nor port_id and {' and '.join(VTEP)}; and its network_type is not 'unmanaged'"
    )


class _Port(StrictSchema):
    """The fields of a port that a client may set, on creation or later."""

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
    """A new port, whose node is named by UUID or, by newer clients, by name."""

    uuid = Uuid(allow_none=True)
    node_uuid = Uuid()
    node_ident = Text(longest=255)

    @validates("local_link_connection")
    def check_link(self, link: dict[str, Any], **kwargs: object) -> None:
        if complaint := link_complaint(link):
            raise ValidationError(complaint)

    @validates_schema
    def check_node(self, data: dict[str, Any], **kwargs: object) -> None:
        if ("node_uuid" in data) == ("node_ident" in data):
            raise ValidationError("exactly one of node_ident and node_uuid is required")


class _PortUpdate(_Port):
    """A port as a PATCH leaves it. A new link is to be checked for its completeness, too."""

    node_uuid = Uuid(required=True)


PORT_CREATE = _PortCreate()
PORT_UPDATE = _PortUpdate()


class _Connector(StrictSchema):
    """How storage knows a node."""

    node_uuid = Uuid(required=True)
    type = Text(longest=32, required=True)
    connector_id = Text(longest=255, required=True)
    extra = JsonObject()


class _Target(StrictSchema):
    """A remote volume of a node."""

    node_uuid = Uuid(required=True)
    volume_type = Text(longest=64, required=True)
    volume_id = Text(longest=255, required=True)
    boot_index = Whole(required=True)
    properties = JsonObject()
    extra = JsonObject()


class _ConnectorCreate(_Connector):
    uuid = Uuid(allow_none=True)


class _TargetCreate(_Target):
    uuid = Uuid(allow_none=True)


CONNECTOR_CREATE = _ConnectorCreate()
CONNECTOR_UPDATE = _Connector()
TARGET_CREATE = _TargetCreate()
TARGET_UPDATE = _Target()
