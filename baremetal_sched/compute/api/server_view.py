"""A server as clients of each microversion see it."""

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from hashlib import sha224
from typing import Any
from urllib.parse import quote

import orjson

from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.compute.api.call import PREFIX, ComputeCall
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.availability_zones import zone_of
from baremetal_sched.compute.hosts import network_addresses
from baremetal_sched.compute.server_states import ServerState
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.compute.servers.server_rows import ServerRow, decoded
from baremetal_sched.db.types import Reader

EC2_SINCE = 3
HOST_STATUS_SINCE = 16
EMBEDDED_FLAVOR_SINCE = 47
CERTIFICATES_SINCE = 63
GROUPS_SINCE = 71
FULL_ANSWERS_SINCE = 75
HOSTNAME_SINCE = 90
IMAGE_PROPERTIES_SINCE = 98

#: Statuses in which Nova shows how far something has come, and why something failed.
_IN_PROGRESS = frozenset({"ACTIVE", "BUILD", "REBUILD"})

_UP, _UNKNOWN = "UP", "UNKNOWN"
#: Every status of a host; a server without a node has none.
_HOST_STATUSES = ("", _UP, _UNKNOWN)


class Viewer:
    """The facts that all servers of an answer share: the caller, what the caller sees, and the live conductors.

    ``project_id``: the project of the only server, for which rules are checked; None: the servers are a list.
    """

    def __init__(self, call: ComputeCall, membership: Membership, project_id: str | None = None) -> None:
        self.version = call.version
        self._call = call
        self._target = None if project_id is None else {"project_id": project_id}
        self._membership = membership
        self._base = call.base_url
        self._default_zone: str = call.settings.compute.default_availability_zone

    @classmethod
    def of(cls, call: ComputeCall, reader: Reader, project_id: str | None = None) -> "Viewer":
        """Read which conductors there are, in one statement."""
        return cls(call, live_members(reader, call.settings), project_id)

    @property
    def is_admin(self) -> bool:
        """Return whether an administrator asks."""
        return self._call.is_admin

    @cached_property
    def shows_extended(self) -> bool:
        """Return whether extended attributes are shown: host, node and others."""
        return self._allows("os-extended-server-attributes")

    @cached_property
    def shows_extra_specs(self) -> bool:
        """Return whether the extra specs of flavors are shown."""
        return self._allows("servers:show:flavor-extra-specs")

    @cached_property
    def host_statuses(self) -> Collection[str]:
        """The statuses of hosts that are shown."""
        if self._allows("servers:show:host_status"):
            return _HOST_STATUSES
        return (_UNKNOWN,) if self._allows("servers:show:host_status:unknown-only") else ()

    def _allows(self, rule: str) -> bool:
        return self._call.allows(name_of(rule), self._target)

    def host(self, row: ServerRow) -> str | None:
        """The conductor of the server's node."""
        if row.node_uuid is None:
            return None
        return self._membership.owner(row.node_uuid, row.conductor_group, row.driver)

    def zone(self, row: ServerRow) -> str:
        """The zone of the server's node."""
        return "" if row.conductor_group is None else zone_of(row.conductor_group, self._default_zone)

    def links(self, collection: str, ident: str) -> list[dict[str, str]]:
        """The links of a thing whose id needs no quotes in an address."""
        return [
            {"rel": "self", "href": f"{self._base}{PREFIX}/{collection}/{ident}"},
            {"rel": "bookmark", "href": f"{self._base}/{collection}/{ident}"},
        ]


def summary(viewer: Viewer, row: Any) -> dict[str, Any]:
    """Return a server as a list without details shows it."""
    return {"id": row.uuid, "name": row.name, "links": viewer.links("servers", row.uuid)}


def detail(viewer: Viewer, row: ServerRow, *, single: bool = True) -> dict[str, Any]:
    """Return all that the microversion shows of a server; ``single``: it is not one of a list."""
    state, host, version = server_rows.state_of(row), viewer.host(row), viewer.version
    document = _base(viewer, row, state, host) | _extended(viewer, row, state)
    if viewer.shows_extended:
        document |= _attributes(row, host, version)
    elif version >= HOSTNAME_SINCE:
        document["OS-EXT-SRV-ATTR:hostname"] = row.hostname
    if version >= HOST_STATUS_SINCE:
        status = "" if row.node_uuid is None else _UP if host else _UNKNOWN
        if status in viewer.host_statuses:
            document["host_status"] = status
    _add_since_versions(document, row, version)
    if version >= GROUPS_SINCE and single:
        document["server_groups"] = row.server_groups
    return document


def changed(viewer: Viewer, row: ServerRow) -> dict[str, Any]:
    """Return a server as the answers to a change and to a rebuild show it: before 2.75 not everything."""
    version = viewer.version
    if version >= FULL_ANSWERS_SINCE:
        return detail(viewer, row)
    document = _base(viewer, row, server_rows.state_of(row), viewer.host(row))
    _add_since_versions(document, row, version)
    document["addresses"] = network_addresses.document(row.network_data, extended=False)
    if version >= GROUPS_SINCE:
        document["server_groups"] = row.server_groups
    return document


def _base(viewer: Viewer, row: ServerRow, state: ServerState, host: str | None) -> dict[str, Any]:
    status = state.status
    document = {
        "id": row.uuid,
        "name": row.name,
        "status": status,
        "tenant_id": row.project_id,
        "user_id": row.user_id,
        "metadata": row.metadata,
        "hostId": host_id(row.project_id, host),
        "image": _image(viewer, row),
        "flavor": _flavor(viewer, row),
        "created": _short(row.created_at),
        "updated": _short(row.updated_at or row.created_at),
        "addresses": network_addresses.document(row.network_data) if row.network_data else {},
        "accessIPv4": row.access_ip_v4 or "",
        "accessIPv6": row.access_ip_v6 or "",
        "links": viewer.links("servers", row.uuid),
        "OS-DCF:diskConfig": row.disk_config,
    }
    if status == "ERROR" and row.fault:
        document["fault"] = _fault(viewer, row.fault)
    if status in _IN_PROGRESS:
        document["progress"] = 0
    return document


def _extended(viewer: Viewer, row: ServerRow, state: ServerState) -> dict[str, Any]:
    return {
        "OS-EXT-AZ:availability_zone": viewer.zone(row),
        "OS-EXT-STS:task_state": state.task_state,
        "OS-EXT-STS:vm_state": state.vm_state,
        "OS-EXT-STS:power_state": state.power_state,
        "OS-SRV-USG:launched_at": f"{row.launched_at[:19]}.000000" if row.launched_at else None,
        "OS-SRV-USG:terminated_at": None,
        "os-extended-volumes:volumes_attached": [],
        "config_drive": "True" if row.config_drive else "",
        "key_name": key_name(row),
        "security_groups": [{"name": name} for name in row.security_groups],
    }


def key_name(row: ServerRow) -> str | None:
    """Return the name of the server's key pair."""
    name: str | None = row.keypair.get("name")
    return name


def _attributes(row: ServerRow, host: str | None, version: int) -> dict[str, Any]:
    document = {
        "OS-EXT-SRV-ATTR:host": host,
        "OS-EXT-SRV-ATTR:instance_name": f"instance-{row.id:08x}",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": row.node_uuid,
    }
    if version < EC2_SINCE:
        return document
    properties = _image_properties(row.image)
    return document | {
        "OS-EXT-SRV-ATTR:hostname": row.hostname,
        "OS-EXT-SRV-ATTR:kernel_id": properties.get("kernel_id", ""),
        "OS-EXT-SRV-ATTR:ramdisk_id": properties.get("ramdisk_id", ""),
        "OS-EXT-SRV-ATTR:launch_index": row.launch_index,
        "OS-EXT-SRV-ATTR:reservation_id": row.reservation_id,
        "OS-EXT-SRV-ATTR:root_device_name": None,
        "OS-EXT-SRV-ATTR:user_data": row.user_data,
    }


#: Members that show a column as it is, with the first microversion that has each.
_SINCE = {
    "locked": (9, "locked"),
    "description": (19, "description"),
    "tags": (26, "tags"),
    "locked_reason": (73, "locked_reason"),
    "pinned_availability_zone": (96, "requested_zone"),
    "scheduler_hints": (100, "scheduler_hints"),
}


def _add_since_versions(document: dict[str, Any], row: ServerRow, version: int) -> None:
    document |= {name: getattr(row, column) for name, (since, column) in _SINCE.items() if version >= since}
    if version >= CERTIFICATES_SINCE:
        document["trusted_image_certificates"] = None


def _fault(viewer: Viewer, fault: dict[str, Any]) -> dict[str, Any]:
    if viewer.is_admin or fault["code"] != 500:
        return fault
    return {name: value for name, value in fault.items() if name != "details"}


def _image(viewer: Viewer, row: ServerRow) -> Any:
    if row.image_id is None:
        return ""
    document: dict[str, Any] = {"id": row.image_id, "links": viewer.links("images", row.image_id)[1:]}
    if viewer.version >= IMAGE_PROPERTIES_SINCE:
        document["properties"] = _image_properties(row.image)
    return document


def _flavor(viewer: Viewer, row: ServerRow) -> Any:
    if viewer.version >= EMBEDDED_FLAVOR_SINCE:
        return _embedded(row.flavor, viewer.shows_extra_specs)
    return {"id": row.flavor_id, "links": viewer.links("flavors", quote(row.flavor_id, safe=""))[1:]}


# Many servers have the same copies.


@lru_cache(maxsize=500)
def _embedded(text: str, with_extra_specs: bool) -> orjson.Fragment:
    flavor = decoded(text)
    members = {name: flavor[name] for name in ("vcpus", "ram", "disk", "ephemeral", "swap")}
    if with_extra_specs:
        members["extra_specs"] = flavor["extra_specs"]
    return orjson.Fragment(orjson.dumps({**members, "original_name": flavor["name"]}))


@lru_cache(maxsize=500)
def _image_properties(text: str | None) -> Mapping[str, str]:
    properties: Mapping[str, str] = (decoded(text) or {}).get("properties", {})
    return properties


@lru_cache(maxsize=1000)
def host_id(project_id: str, host: str | None) -> str:
    """Return the host's identifier for users: a text that is the same for all servers of their project on it."""
    return sha224((project_id + host).encode()).hexdigest() if host else ""


def _short(moment: str) -> str:
    """A time stamp as Nova writes it here."""
    return f"{moment[:19]}Z"
