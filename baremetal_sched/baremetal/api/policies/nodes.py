"""The rules about nodes."""

from baremetal_sched.baremetal.api.policies.checks import (
    ADMIN,
    ANY_ADMIN,
    ANY_READER,
    OBSERVER,
    OWNER_ADMIN,
    OWNER_MEMBER,
    OWNER_MEMBER_OR_LESSEE_ADMIN,
    OWNER_READER,
    OWNERS_ADMIN,
    PROJECT_MEMBER,
    PROJECT_READER,
    SYSTEM_ADMIN,
    SYSTEM_ADMIN_OR_SERVICE,
    SYSTEM_MEMBER,
    SYSTEM_READER,
    rule,
)

_READING = (
    rule("node:list", ANY_READER, "List the nodes that one's project owns or leases", was="rule:baremetal:node:get"),
    rule("node:list_all", SYSTEM_READER, "List all nodes", was="rule:baremetal:node:get"),
    rule("node:get", PROJECT_READER, "See a node, and that there is one", was=OBSERVER),
    *(
        rule(f"node:get:{field}", check, description, was=OBSERVER, was_named="node:get")
        for field, check, description in (
            ("filter_threshold", SYSTEM_READER, "See all fields, so that the other rules of fields are not asked"),
            ("last_error", OWNER_READER, "See what went wrong last"),
            ("reservation", OWNER_READER, "See which conductor works on a node"),
            ("driver_internal_info", OWNER_READER, "See the notes of the driver"),
            ("driver_info", OWNER_READER, "See how the machine's management is reached"),
        )
    ),
)

_CREATION_AND_REMOVAL = (
    rule("node:create", SYSTEM_ADMIN_OR_SERVICE, "Create a node with any owner, or without one", was=ADMIN),
    rule("node:create:self_owned_node", ANY_ADMIN, "Create a node that one's own project owns"),
    rule("node:delete", SYSTEM_ADMIN, "Delete a node", was=ADMIN),
    rule("node:delete:self_owned_node", OWNERS_ADMIN, "Delete a node that one's own project owns"),
)

_UPDATES = (
    *(
        rule(f"node:update:{fields}", check, description, was=ADMIN, was_named="node:update")
        for fields, check, description in (
            ("driver_info", OWNER_MEMBER, "Change how the machine's management is reached"),
            ("properties", OWNER_MEMBER, "Change the properties of the machine"),
            ("chassis_uuid", SYSTEM_ADMIN, "Change the chassis of a node"),
            ("instance_uuid", OWNER_MEMBER, "Change which instance a node has"),
            ("lessee", OWNER_MEMBER, "Change which project leases a node"),
            ("owner", SYSTEM_MEMBER, "Change which project owns a node"),
            ("driver_interfaces", OWNER_ADMIN, "Change the driver and its interfaces"),
            ("network_data", OWNER_MEMBER, "Change the static network configuration of the agent"),
            ("conductor_group", SYSTEM_MEMBER, "Change which conductors can have a node"),
            ("name", OWNER_MEMBER, "Change the name of a node"),
            ("retired", OWNER_MEMBER, "Retire a node, or take that back"),
        )
    ),
    rule("node:update", PROJECT_MEMBER, "Change fields of a node that have no rule of their own", was=ADMIN),
    rule("node:update_extra", PROJECT_MEMBER, "Change extra", was="rule:baremetal:node:update"),
    rule(
        "node:update_instance_info",
        OWNER_MEMBER_OR_LESSEE_ADMIN,
        "Change instance_info",
        was="rule:baremetal:node:update",
    ),
    rule(
        "node:update_owner_provisioned",
        SYSTEM_ADMIN,
        "Change the owner of a node in the state active",
        was=ADMIN,
        scopes=("system",),
    ),
    rule(
        "node:disable_cleaning",
        SYSTEM_ADMIN,
        "Switch automated cleaning of a node off or on",
        was="rule:baremetal:node:update",
    ),
    rule("node:update:shard", SYSTEM_ADMIN, "Change the shard of a node"),
    rule("node:update:parent_node", SYSTEM_MEMBER, "Change the parent of a node"),
    rule("node:update:disable_power_off", SYSTEM_ADMIN, "Change whether a node may be powered off"),
)

_ACTIONS = (
    rule("node:validate", OWNER_MEMBER_OR_LESSEE_ADMIN, "Ask a node's interfaces whether they are ready", was=ADMIN),
    rule("node:set_maintenance", OWNER_MEMBER_OR_LESSEE_ADMIN, "Put a node in maintenance", was=ADMIN),
    rule("node:clear_maintenance", OWNER_MEMBER_OR_LESSEE_ADMIN, "Take a node out of maintenance", was=ADMIN),
    rule("node:get_boot_device", OWNER_ADMIN, "See the boot device, and which ones there are", was=OBSERVER),
    rule("node:set_boot_device", OWNER_ADMIN, "Set the boot device", was=ADMIN, was_named="node:set_maintenance"),
    rule("node:get_indicator_state", PROJECT_READER, "See the indicators and whether they are lit", was=OBSERVER),
    rule("node:set_indicator_state", OWNER_MEMBER, "Switch an indicator", was=ADMIN),
    rule("node:inject_nmi", OWNER_ADMIN, "Inject a non-maskable interrupt", was=ADMIN),
    rule("node:get_states", PROJECT_READER, "See the states of a node", was=OBSERVER),
    rule("node:set_power_state", PROJECT_MEMBER, "Power a node on or off, or reboot it", was=ADMIN),
    rule("node:set_boot_mode", PROJECT_MEMBER, "Set the boot mode", was=ADMIN, was_named="node:set_power_state"),
    rule(
        "node:set_secure_boot",
        PROJECT_MEMBER,
        "Switch secure boot on or off",
        was=ADMIN,
        was_named="node:set_power_state",
    ),
    rule("node:set_provision_state", OWNER_MEMBER_OR_LESSEE_ADMIN, "Deploy, clean, rebuild, delete, …", was=ADMIN),
    rule(
        "node:set_provision_state:clean_steps", OWNER_MEMBER_OR_LESSEE_ADMIN, "Clean with steps that the request names"
    ),
    rule(
        "node:set_provision_state:service_steps",
        OWNER_MEMBER_OR_LESSEE_ADMIN,
        "Service with steps that the request names",
    ),
    rule("node:set_raid_state", OWNER_MEMBER, "Say which RAID a node is to have", was=ADMIN),
    rule("node:get_console", OWNER_MEMBER, "See how the console is reached", was=ADMIN),
    rule("node:set_console_state", OWNER_MEMBER, "Start or stop the console", was=ADMIN),
    rule("node:vendor_passthru", SYSTEM_ADMIN, "List or call the methods of a node's vendor", was=ADMIN),
)

_PARTS = (
    rule("node:vif:list", PROJECT_READER, "List the virtual interfaces of a node", was=ADMIN),
    rule("node:vif:attach", OWNER_MEMBER_OR_LESSEE_ADMIN, "Attach a virtual interface", was=ADMIN),
    rule("node:vif:detach", OWNER_MEMBER_OR_LESSEE_ADMIN, "Detach a virtual interface", was=ADMIN),
    rule("node:traits:list", PROJECT_READER, "List the traits of a node", was=OBSERVER),
    rule("node:traits:set", OWNER_ADMIN, "Add traits to a node, or replace all of them", was=ADMIN),
    rule("node:traits:delete", OWNER_ADMIN, "Remove traits from a node", was=ADMIN),
    rule("node:bios:get", PROJECT_READER, "See the BIOS settings of a node", was=OBSERVER),
    rule("node:firmware:get", PROJECT_READER, "See the firmware of a node"),
    rule("node:history:get", OWNER_READER, "See what happened to a node", was=OBSERVER, was_named="node:get"),
    rule("node:inventory:get", OWNER_READER, "See what inspection found", was=OBSERVER, was_named="node:get"),
    rule("node:vmedia:attach", PROJECT_MEMBER, "Attach virtual media"),
    rule("node:vmedia:detach", PROJECT_MEMBER, "Detach virtual media"),
    rule("node:vmedia:get", PROJECT_READER, "See which virtual media are attached"),
    rule("shards:get", SYSTEM_READER, "List the shards, and how many nodes each has"),
)

NODES = (*_READING, *_CREATION_AND_REMOVAL, *_UPDATES, *_ACTIONS, *_PARTS)
