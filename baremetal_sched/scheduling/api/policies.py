"""The rules of the scheduling API. The API follows no other, so the names of its rules are its own, except those of the
rules about holds."""

from oslo_policy import policy

from baremetal_sched.baremetal.api.ends import END_RULES
from baremetal_sched.baremetal.api.policies.checks import BASE
from baremetal_sched.baremetal.api.policies.domains import DOMAIN_RULES
from baremetal_sched.baremetal.api.policies.domains import DOMAINS as DOMAINS
from baremetal_sched.baremetal.api.policies.holds import GET_NODE, HOLDS
from baremetal_sched.baremetal.api.policies.nodes import NODES

MANAGE_DOMAINS = "scheduling:domains:manage"
DRY_RUN = "scheduling:requests:create"
SHOW_NODES = "scheduling:requests:show_nodes"
CAPACITY = "scheduling:capacity:get"
ALL_CAPACITY = "scheduling:capacity:get_all"
EXPLAIN = "scheduling:explanations:create"
EXPLAIN_ALL = "scheduling:explanations:show_all"
EXPLAIN_NODE = "scheduling:explanations:get_node"
NODE_AVAILABILITY = "scheduling:nodes:get_availability"
SHOW_WORKERS = "scheduling:nodes:show_workers"
GROUPS = "scheduling:groups:get"
ALL_GROUPS = "scheduling:groups:get_all"
CLAIM = "scheduling:claims:create"
CLAIM_ALL = "scheduling:claims:create_all"
GET_CLAIM = "scheduling:claims:get"
ALL_CLAIMS = "scheduling:claims:get_all"
DELETE_CLAIM = "scheduling:claims:delete"
DELETE_ALL_CLAIMS = "scheduling:claims:delete_all"
BOOK = "scheduling:bookings:create"
BOOK_ALL = "scheduling:bookings:create_all"
GET_BOOKING = "scheduling:bookings:get"
ALL_BOOKINGS = "scheduling:bookings:get_all"
CHANGE_BOOKING = "scheduling:bookings:update"
CHANGE_ALL_BOOKINGS = "scheduling:bookings:update_all"
DELETE_BOOKING = "scheduling:bookings:delete"
DELETE_ALL_BOOKINGS = "scheduling:bookings:delete_all"
EVENTS = "scheduling:events:get"
ALL_EVENTS = "scheduling:events:get_all"
LAST_ERROR = "baremetal:node:get:last_error"
ALL_FIELDS = "baremetal:node:get:filter_threshold"
MANAGE_WEBHOOKS = "scheduling:webhooks:manage"
MANAGE_ALL_WEBHOOKS = "scheduling:webhooks:manage_all"

_EVERYTHING = "role:admin or role:service or (role:reader and system_scope:all)"
#: Who changes what belongs to no project, or to another one.
_FOR_ALL = "(role:admin and system_scope:all) or role:service"
#: Rules of the bare metal API that the rules about holds name, or that are checked before them.
BORROWED = (*BASE, *(rule for rule in NODES if rule.name in (GET_NODE, LAST_ERROR, ALL_FIELDS)))

_SCOPES = ["system", "project"]

RULES = (
    policy.RuleDefault(
        DRY_RUN,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Show which machines a flavor and an image get",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        SHOW_NODES,
        _EVERYTHING,
        description="See in the answer which nodes fit, of all nodes; others see how many of those fit that their "
        "project may use",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        CAPACITY,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Ask how many machines are free",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ALL_CAPACITY,
        _EVERYTHING,
        description="Have all machines counted; for others only machines count that their project owns or leases",
        scope_types=_SCOPES,
    ),
    *DOMAIN_RULES,
    *END_RULES,
    policy.RuleDefault(
        MANAGE_DOMAINS,
        _FOR_ALL,
        description="Make, change and delete domains, and put nodes that the caller sees into them",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        EXPLAIN,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Explain the result of a request",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        EXPLAIN_ALL,
        _EVERYTHING,
        description="Have requests explained by all machines; for others only machines count that their project may "
        "use",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        EXPLAIN_NODE,
        f"{_EVERYTHING} or (role:reader and (project_id:%(node.owner)s or project_id:%(node.lessee)s))",
        description="Explain why a node does or does not fit a request",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        NODE_AVAILABILITY,
        f"{_EVERYTHING} or (role:reader and (project_id:%(node.owner)s or project_id:%(node.lessee)s))",
        description="Explain why a node is or is not on offer",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        SHOW_WORKERS,
        _EVERYTHING,
        description="See in the answer which consumers and which conductor keep a node from others",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        GROUPS,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Ask for the conductor groups",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ALL_GROUPS,
        _EVERYTHING,
        description="See all conductor groups with their conductors; others see the groups of nodes that their "
        "project owns or leases, and no conductor by name",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        CLAIM,
        f"rule:{CLAIM_ALL} or (role:member and project_id:%(project_id)s)",
        description="Claim a machine for a project, now or when one is free, of the nodes that the caller's project "
        "may use",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        CLAIM_ALL,
        _FOR_ALL,
        description="Claim any machine, for any project, and resources that belong to no machine, such as those of "
        "hosts of virtual machines",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        GET_CLAIM,
        f"rule:{ALL_CLAIMS} or (role:reader and project_id:%(project_id)s)",
        description="See a claim of a project, and wait until it is decided",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ALL_CLAIMS,
        _EVERYTHING,
        description="List the claims of all projects; others list those of their own",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        DELETE_CLAIM,
        f"rule:{DELETE_ALL_CLAIMS} or (role:member and project_id:%(project_id)s)",
        description="Give back the machine of a claim of a project, or end its waiting",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        DELETE_ALL_CLAIMS,
        _FOR_ALL,
        description="Give back or end the claims of all projects",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        BOOK,
        f"rule:{BOOK_ALL} or (role:member and project_id:%(project_id)s)",
        description="Book machines for a project, of the nodes that the caller's project may use, within the limits",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        BOOK_ALL,
        _FOR_ALL,
        description="Book any machines, for any project, beyond the limits of bookings",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        GET_BOOKING,
        f"rule:{ALL_BOOKINGS} or (role:member and project_id:%(project_id)s)",
        description="See a booking of a project",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ALL_BOOKINGS,
        _EVERYTHING,
        description="List the bookings of all projects; others list those of their own",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        CHANGE_BOOKING,
        f"rule:{CHANGE_ALL_BOOKINGS} or (role:member and project_id:%(project_id)s)",
        description="Change a booking of a project",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        CHANGE_ALL_BOOKINGS,
        _FOR_ALL,
        description="Change the bookings of all projects",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        DELETE_BOOKING,
        f"rule:{DELETE_ALL_BOOKINGS} or (role:member and project_id:%(project_id)s)",
        description="Cancel a booking of a project",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        DELETE_ALL_BOOKINGS,
        _FOR_ALL,
        description="Cancel the bookings of all projects",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        EVENTS,
        f"{_EVERYTHING} or (role:reader and project_id:%(project_id)s)",
        description="Read the events of the machines and claims that were the caller's project's when they happened",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        ALL_EVENTS,
        _EVERYTHING,
        description="Read all events; others read those of their project",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        MANAGE_WEBHOOKS,
        "role:admin or role:service",
        description="Make, see, change, test, resume and delete the webhooks of the caller's project, which send what "
        "their maker may read (scheduling:events:get)",
        scope_types=_SCOPES,
    ),
    policy.RuleDefault(
        MANAGE_ALL_WEBHOOKS,
        _FOR_ALL,
        description="Do so with the webhooks of all projects, and make webhooks that belong to none",
        scope_types=_SCOPES,
    ),
    *HOLDS,
)
