"""The fields of a node."""

from baremetal_sched.documents.fields import Field, FieldKind, Fields
from baremetal_sched.machines.interface_types import INTERFACE_TYPES


def _interface(kind: str) -> Field:
    return Field(f"{kind}_interface", INTERFACE_TYPES[kind], post=True, patch=True)


FIELDS = Fields(
    Field("uuid", post=True),
    Field("created_at", kind=FieldKind.TIME, selectable=False),
    Field("updated_at", kind=FieldKind.TIME, selectable=False),
    Field("links", kind=FieldKind.LINKS, selectable=False),
    Field("ports", kind=FieldKind.LINKS, selectable=False),
    Field("driver", post=True, patch=True),
    Field("driver_info", kind=FieldKind.MASKED, post=True, patch=True, default={}),
    Field("instance_info", kind=FieldKind.MASKED, post=True, patch=True, default={}),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("properties", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("chassis_uuid", kind=FieldKind.COMPUTED, post=True, patch=True),
    Field("instance_uuid", post=True, patch=True),
    Field("console_enabled", post=True, default=False),
    Field("maintenance", post=True, patch=True, default=False),
    Field("maintenance_reason"),
    Field("power_state"),
    Field("target_power_state"),
    Field("provision_state", kind=FieldKind.COMPUTED),
    Field("target_provision_state"),
    Field("provision_updated_at", kind=FieldKind.TIME),
    Field("last_error"),
    Field("reservation"),
    Field("driver_internal_info", 3, FieldKind.MASKED),
    Field("name", 5, post=True, patch=True),
    Field("inspection_started_at", 6, FieldKind.TIME),
    Field("inspection_finished_at", 6, FieldKind.TIME),
    Field("clean_step", 7, FieldKind.MASKED),
    Field("raid_config", 12, FieldKind.JSON),
    Field("target_raid_config", 12, FieldKind.JSON),
    Field("states", 14, FieldKind.LINKS, selectable=False),
    Field("resource_class", 21, post=True, patch=True),
    Field("portgroups", 24, FieldKind.LINKS, selectable=False),
    *(_interface(kind) for kind in INTERFACE_TYPES),
    Field("volume", 32, FieldKind.LINKS, selectable=False),
    Field("traits", 37, FieldKind.COMPUTED),
    Field("fault", 42),
    Field("deploy_step", 44, FieldKind.MASKED),
    Field("conductor_group", 46, post=True, patch=True, default=""),
    Field("automated_clean", 47, post=True, patch=True),
    Field("protected", 48, patch=True, default=False),
    Field("protected_reason", 48, patch=True),
    Field("conductor", 49, FieldKind.COMPUTED),
    Field("owner", 50, post=True, patch=True),
    Field("description", 51, post=True, patch=True),
    Field("allocation_uuid", 52),
    Field("retired", 61, post=True, patch=True, default=False),
    Field("retired_reason", 61, post=True, patch=True),
    Field("lessee", 65, post=True, patch=True),
    Field("network_data", 66, FieldKind.JSON, post=True, patch=True, default={}),
    Field("boot_mode", 75, post=True),
    Field("secure_boot", 75, post=True),
    Field("shard", 82, post=True, patch=True),
    Field("parent_node", 83, post=True, patch=True),
    Field("service_step", 87, FieldKind.MASKED),
    Field("disable_power_off", 95, post=True, patch=True, default=False),
    Field("instance_name", 104, post=True, patch=True),
    Field("health", 109),
)

#: What ``GET /v1/nodes`` shows of each node.
LIST_DEFAULT = ("instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name")

#: What ``GET /v1/nodes/{node}/states`` shows.
STATES = (
    "console_enabled",
    "last_error",
    "power_state",
    "provision_state",
    "provision_updated_at",
    "target_power_state",
    "target_provision_state",
    "raid_config",
    "target_raid_config",
    "boot_mode",
    "secure_boot",
)
