"""The rules about everything that is not a node."""

from baremetal_sched.baremetal.api.policies.checks import (
    ADMIN,
    ALLOCATION_CREATOR,
    ALLOCATION_MEMBER,
    ALLOCATION_READER,
    ANY_READER,
    OBSERVER,
    OWNER_ADMIN,
    OWNER_MEMBER_OR_LESSEE_ADMIN,
    OWNER_OR_LESSEE_ADMIN,
    OWNER_OR_SYSTEM_ADMIN,
    PROJECT_READER,
    RUNBOOK_CREATOR,
    RUNBOOK_MANAGER,
    RUNBOOK_READER,
    SYSTEM_ADMIN,
    SYSTEM_MEMBER,
    SYSTEM_READER,
    SYSTEM_READER_OR_ANY_ADMIN,
    rule,
)

_SYSTEM = ("system",)

_PORTS = (
    rule("port:get", PROJECT_READER, "See a port", was=OBSERVER),
    rule("port:list", ANY_READER, "List the ports of one's own nodes", was="rule:baremetal:port:get"),
    rule("port:list_all", SYSTEM_READER, "List all ports", was="rule:baremetal:port:get"),
    rule("port:create", OWNER_OR_SYSTEM_ADMIN, "Create a port", was=ADMIN),
    rule("port:delete", OWNER_OR_SYSTEM_ADMIN, "Delete a port", was=ADMIN),
    rule("port:update", OWNER_ADMIN, "Change a port", was=ADMIN),
    rule("portgroup:get", PROJECT_READER, "See a port group", was=OBSERVER),
    rule("portgroup:create", OWNER_OR_SYSTEM_ADMIN, "Create a port group", was=ADMIN),
    rule("portgroup:delete", OWNER_OR_SYSTEM_ADMIN, "Delete a port group", was=ADMIN),
    rule("portgroup:update", OWNER_ADMIN, "Change a port group", was=ADMIN),
    rule("portgroup:list", ANY_READER, "List one's own port groups", was=OBSERVER, was_named="portgroup:get"),
    rule("portgroup:list_all", SYSTEM_READER, "List all port groups", was=OBSERVER, was_named="portgroup:get"),
)

_VOLUMES = (
    rule("volume:list_all", SYSTEM_READER, "List all connectors and targets", was=OBSERVER, was_named="volume:get"),
    rule(
        "volume:list",
        ANY_READER,
        "List the connectors and targets of one's own nodes",
        was=OBSERVER,
        was_named="volume:get",
    ),
    rule("volume:get", PROJECT_READER, "See a connector or a target", was=OBSERVER),
    rule("volume:create", OWNER_OR_LESSEE_ADMIN, "Create a connector or a target", was=ADMIN),
    rule("volume:delete", OWNER_OR_LESSEE_ADMIN, "Delete a connector or a target", was=ADMIN),
    rule("volume:update", OWNER_MEMBER_OR_LESSEE_ADMIN, "Change a connector or a target", was=ADMIN),
    rule(
        "volume:view_target_properties",
        SYSTEM_READER_OR_ANY_ADMIN,
        "See the properties of targets, which may hold credentials",
        was=ADMIN,
        was_named="volume:update",
    ),
)

_CHASSIS_AND_DRIVERS = (
    rule("chassis:get", SYSTEM_READER, "List and see chassis", was=OBSERVER, scopes=_SYSTEM),
    rule("chassis:create", SYSTEM_ADMIN, "Create a chassis", was=ADMIN, scopes=_SYSTEM),
    rule("chassis:delete", SYSTEM_ADMIN, "Delete a chassis", was=ADMIN, scopes=_SYSTEM),
    rule("chassis:update", SYSTEM_MEMBER, "Change a chassis", was=ADMIN, scopes=_SYSTEM),
    rule("driver:get", SYSTEM_READER, "List and see drivers", was=OBSERVER, scopes=_SYSTEM),
    rule("driver:get_properties", SYSTEM_READER, "See what a driver needs to know", was=OBSERVER, scopes=_SYSTEM),
    rule(
        "driver:get_raid_logical_disk_properties",
        SYSTEM_READER,
        "See what can be said of logical disks",
        was=OBSERVER,
        scopes=_SYSTEM,
    ),
    rule(
        "driver:vendor_passthru",
        SYSTEM_ADMIN,
        "List or call the methods of a driver's vendor",
        was=ADMIN,
        scopes=_SYSTEM,
    ),
    rule("conductor:get", SYSTEM_READER, "List and see conductors", was=OBSERVER),
    rule("events:post", SYSTEM_ADMIN, "Report what happened elsewhere", was=ADMIN, scopes=_SYSTEM),
)

#: No rule applies to agents: the routes are public, and check the agent's token or its address.
_AGENTS = (
    rule("node:ipa_heartbeat", "", "An agent says that it lives", was="rule:public_api", scopes=None),
    rule("driver:ipa_lookup", "", "An agent asks which node it runs on", was="rule:public_api", scopes=None),
    rule("driver:ipa_continue_inspection", "", "An agent says what it found", scopes=None),
)

_ALLOCATIONS = (
    rule("allocation:get", ALLOCATION_READER, "See an allocation", was=OBSERVER),
    rule("allocation:list", ANY_READER, "List one's own allocations", was="rule:baremetal:allocation:get"),
    rule(
        "allocation:list_all",
        SYSTEM_READER,
        "List all allocations",
        was="rule:baremetal:allocation:get and is_admin_project:True",
    ),
    rule(
        "allocation:create",
        ALLOCATION_CREATOR,
        "Create an allocation",
        was="rule:is_admin and is_admin_project:True",
    ),
    rule(
        "allocation:create_restricted",
        SYSTEM_MEMBER,
        "Create an allocation that another project owns, or none",
        was="rule:baremetal:allocation:create",
    ),
    rule("allocation:delete", ALLOCATION_MEMBER, "Delete an allocation", was=ADMIN),
    rule("allocation:update", ALLOCATION_MEMBER, "Change an allocation", was=ADMIN),
    rule(
        "allocation:create_pre_rbac",
        "(rule:is_member and role:baremetal_admin) or (is_admin_project:True and role:admin)",
        "Create an allocation without an owner, as before scopes",
        scopes=("project",),
    ),
)

_TEMPLATES_AND_RULES = (
    rule("deploy_template:get", SYSTEM_READER, "List and see deploy templates", was=OBSERVER),
    rule("deploy_template:create", SYSTEM_ADMIN, "Create a deploy template", was=ADMIN),
    rule("deploy_template:delete", SYSTEM_ADMIN, "Delete a deploy template", was=ADMIN),
    rule("deploy_template:update", SYSTEM_ADMIN, "Change a deploy template", was=ADMIN),
    rule("runbook:get", RUNBOOK_READER, "See a runbook"),
    rule("runbook:list", ANY_READER, "List one's own runbooks and the public ones"),
    rule("runbook:list_all", SYSTEM_READER, "List all runbooks"),
    rule("runbook:create", RUNBOOK_CREATOR, "Create a runbook"),
    rule("runbook:delete", RUNBOOK_MANAGER, "Delete a runbook"),
    rule("runbook:update", RUNBOOK_MANAGER, "Change a runbook"),
    rule("runbook:update:public", SYSTEM_MEMBER, "Make a runbook public, or take that back"),
    rule("runbook:update:owner", SYSTEM_MEMBER, "Change which project owns a runbook"),
    rule("runbook:use", RUNBOOK_MANAGER, "Clean or service a node with a runbook"),
    rule("inspection_rule:get", SYSTEM_READER, "See an inspection rule"),
    rule("inspection_rule:list_all", SYSTEM_READER, "List inspection rules"),
    rule("inspection_rule:create", SYSTEM_ADMIN, "Create an inspection rule"),
    rule("inspection_rule:update", SYSTEM_ADMIN, "Change an inspection rule"),
    rule("inspection_rule:delete", SYSTEM_ADMIN, "Delete inspection rules"),
)

RESOURCES = (*_PORTS, *_VOLUMES, *_CHASSIS_AND_DRIVERS, *_AGENTS, *_ALLOCATIONS, *_TEMPLATES_AND_RULES)
