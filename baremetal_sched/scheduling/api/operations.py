"""The part of the OpenAPI document about each route that the route table does not have."""

from collections.abc import Iterable, Mapping
from typing import Any

from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION
from baremetal_sched.placement.query_values import candidates_schema
from baremetal_sched.scheduling.api.operation import LIMIT, Operation
from baremetal_sched.scheduling.api.webhook_operations import WEBHOOK_OPERATIONS
from baremetal_sched.scheduling.capacity import COLUMNS, MOST_KEYS
from baremetal_sched.scheduling.claims import STATES
from baremetal_sched.scheduling.schemas.answers import (
    CAPACITY,
    DOCUMENT,
    DOMAIN_KEY,
    ERROR,
    GROUPS,
    TEXT,
    TRAIT_KEY,
    VERSIONS,
    array,
    said,
)
from baremetal_sched.scheduling.schemas.claims import ANY_CLAIM, CLAIM, CLAIMS, KINDS
from baremetal_sched.scheduling.schemas.domains import (
    CHANGED_DOMAIN,
    DOMAIN,
    DOMAIN_NODES,
    DOMAINS,
    FOLLOWED,
    FROM_PROPERTY,
    NEW_DOMAIN,
)
from baremetal_sched.scheduling.schemas.events import EVENT, EVENTS
from baremetal_sched.scheduling.schemas.explanations import (
    ANY_REQUEST,
    AVAILABILITY,
    CLOSEST_TREE,
    EXPLANATION,
    FINDING,
    NODE_EXPLANATION,
    NUMBER_WANTED,
    of_one_machine,
)
from baremetal_sched.scheduling.schemas.holds import CHANGES, HOLD, HOLDS, MADE_HOLDS, NEW_HOLD, NEW_HOLDS, NODE_HOLDS
from baremetal_sched.scheduling.schemas.requests import DRY_RUN, REQUEST
from baremetal_sched.scheduling.schemas.webhooks import (
    RESUMED_WEBHOOK,
    WEBHOOK,
    WEBHOOK_TEST,
    WEBHOOK_WITH_SECRET,
    WEBHOOKS,
)

#: The schemas that others refer to.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "Versions": VERSIONS,
    "OpenAPI": DOCUMENT,
    "DryRun": DRY_RUN,
    "Capacity": CAPACITY,
    "ConductorGroups": GROUPS,
    "Explanation": EXPLANATION,
    "NodeExplanation": NODE_EXPLANATION,
    "ClosestTree": CLOSEST_TREE,
    "Availability": AVAILABILITY,
    "Finding": FINDING,
    "Claim": CLAIM,
    "Claims": CLAIMS,
    "Hold": HOLD,
    "NodeHolds": NODE_HOLDS,
    "Holds": HOLDS,
    "MadeHolds": MADE_HOLDS,
    "Domain": DOMAIN,
    "Domains": DOMAINS,
    "DomainNodes": DOMAIN_NODES,
    "DomainsFromProperty": FOLLOWED,
    "Event": EVENT,
    "Events": EVENTS,
    "Webhook": WEBHOOK,
    "WebhookWithSecret": WEBHOOK_WITH_SECRET,
    "ResumedWebhook": RESUMED_WEBHOOK,
    "WebhookTest": WEBHOOK_TEST,
    "Webhooks": WEBHOOKS,
    "Error": ERROR,
}

#: The parameters of paths.
IN_PATHS: Mapping[str, Mapping[str, Any]] = {
    "node": said("UUID or name of the node.", {**TEXT, "minLength": 1}),
    "claim": said("UUID of the claim.", {**TEXT, "minLength": 1}),
    "hold": said("UUID of the hold.", {**TEXT, "minLength": 1}),
    "domain": said("UUID of the domain.", {**TEXT, "minLength": 1}),
    "webhook": said("UUID of the webhook.", {**TEXT, "minLength": 1}),
}


def _listed(description: str) -> dict[str, Any]:
    return said(f"{description} Separated by commas.", array(TEXT))


_TRAITS = {
    "traits": "have all of these traits",
    "not-traits": "do not have all of these traits",
    "traits-any": "have at least one of these traits",
    "not-traits-any": "have none of these traits",
}
_CAPACITY_QUERY = {
    "group_by": said(
        "The keys by which machines are grouped. Without it all are counted together.",
        {
            **array(
                {"anyOf": [{"enum": [*COLUMNS]}, *({**TEXT, "pattern": each} for each in (TRAIT_KEY, DOMAIN_KEY))]}
            ),
            "maxItems": MOST_KEYS,
        },
    ),
    "at_least": said("Only the rows where fewer machines than this are free.", {"type": "integer", "minimum": 0}),
    **{name: said(f"Only machines with this {name.replace('_', ' ')}.", TEXT) for name in COLUMNS},
    "shard": _listed("Only machines of one of these shards."),
    **{name: _listed(f"Only machines that {_TRAITS[name]}.") for name in TRAIT_FILTERS},
}


def _candidate_query() -> Iterable[tuple[str, dict[str, Any]]]:
    """The parameters of allocation candidates: by name, and together those whose names have suffixes."""
    schema = candidates_schema(QUERY_VERSION)
    yield from schema["properties"].items()
    groups = {"type": "object", "patternProperties": schema["patternProperties"], "additionalProperties": False}
    yield "groups", said("The conditions on providers, with the suffix of a group or without one.", groups)


_QUERY = dict(_candidate_query())
_CLAIMS_QUERY = {
    "limit": said("The size of the page, at most [api] max_limit.", {"type": "integer", "minimum": 1}),
    "marker": said("Claims after the one with this UUID.", TEXT),
    "state": said("Claims in this state now.", {**TEXT, "enum": list(STATES)}),
    "kind": said("Claims of this kind.", {**TEXT, "enum": list(KINDS)}),
    "project_id": said("Claims of this project.", TEXT),
    "resource_class": said("Claims of this class, as placement names it.", TEXT),
}
_HOLDS_QUERY = {
    "limit": said("The size of the page, at most [api] max_limit.", {"type": "integer", "minimum": 1}),
    "marker": said("Holds after the one with this UUID.", TEXT),
    "type": said("Holds of this type.", TEXT),
    "active": said("Only holds that have begun, or only others.", {"type": "boolean"}),
    "own": said("Only holds that callers of the caller's project asserted, or only others.", {"type": "boolean"}),
    "since": said("Holds that end after this time, with a time zone.", {**TEXT, "format": "date-time"}),
    "until": said("Holds that start before this time, with a time zone.", {**TEXT, "format": "date-time"}),
    **{name: said(f"Holds of nodes with this {name.replace('_', ' ')}.", TEXT) for name in COLUMNS},
}
_DOMAINS_QUERY = {
    "limit": LIMIT,
    "marker": said("Domains after the one with this UUID.", TEXT),
    "name": said("Domains of this name.", TEXT),
    "level": said("Domains of this level.", TEXT),
    "parent": said("Domains right below the one with this UUID.", TEXT),
}
_NODES_QUERY = {"limit": LIMIT, "marker": said("Nodes after the one with this UUID.", TEXT)}
_POLL = said("For how many seconds to wait until the claim is decided.", {"type": "integer", "minimum": 0})
_EVENTS_QUERY = {
    "after": said(
        "The cursor of an answer: only events after it. now: only those from now on. Without it: all that are left.",
        TEXT,
    ),
    "limit": LIMIT,
    "wait": said("For how many seconds to wait for an event, if there is none.", {"type": "integer", "minimum": 0}),
    "type": _listed("Only events of these types."),
    "node": said("Only events of the node with this UUID.", TEXT),
}
_CLAIMED = {
    200: "The same body has been sent before, and its claim does not wait any more.",
    201: "A machine is claimed.",
    202: "The claim waits.",
}

_WANTED = {"wanted": said("How many machines are wanted.", NUMBER_WANTED)}

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/"): Operation("list_versions", "Show the version", "Versions", refuses=False),
    ("GET", "/v1"): Operation("show_version", "Show the version", "Versions", refuses=False),
    ("GET", "/v1/openapi.json"): Operation("show_openapi", "Show this document", "OpenAPI"),
    ("POST", "/v1/requests"): Operation(
        "create_request", "Show which machines a flavor and an image get", "DryRun", body=REQUEST.schema
    ),
    ("GET", "/v1/capacity"): Operation("show_capacity", "Count machines", "Capacity", _CAPACITY_QUERY),
    ("GET", "/v1/groups"): Operation(
        "list_groups",
        "List conductor groups with their conductors",
        "ConductorGroups",
        {"conductor_group": said("Only this conductor group, letter case aside.", TEXT)},
    ),
    ("GET", "/v1/explanations"): Operation(
        "show_explanation", "Explain a query of allocation candidates", "Explanation", {**_WANTED, **_QUERY}
    ),
    ("POST", "/v1/explanations"): Operation("create_explanation", "Explain a request", "Explanation", body=ANY_REQUEST),
    ("GET", "/v1/explanations/nodes/<node>"): Operation(
        "show_node_explanation", "Explain whether one machine fits a query", "NodeExplanation", _QUERY
    ),
    ("POST", "/v1/explanations/nodes/<node>"): Operation(
        "create_node_explanation",
        "Explain a request for one machine",
        "NodeExplanation",
        body=of_one_machine(ANY_REQUEST),
    ),
    ("GET", "/v1/nodes/<node>/availability"): Operation(
        "show_availability", "Explain why a machine is or is not on offer", "Availability"
    ),
    ("GET", "/v1/nodes/<node>/holds"): Operation("list_node_holds", "List the holds of a node", "NodeHolds"),
    ("POST", "/v1/nodes/<node>/holds"): Operation(
        "create_node_hold",
        "Assert a hold of a node",
        "Hold",
        body=NEW_HOLD.schema,
        done={201: "It is asserted."},
        conflicts=True,
    ),
    ("DELETE", "/v1/nodes/<node>/holds"): Operation(
        "delete_node_holds", "Release all holds of a node", None, done={204: "Done."}
    ),
    ("GET", "/v1/nodes/<node>/holds/<hold>"): Operation("show_node_hold", "Show a hold of a node", "Hold"),
    ("PATCH", "/v1/nodes/<node>/holds/<hold>"): Operation(
        "update_node_hold", "Change a hold of a node", "Hold", body=CHANGES.schema, conflicts=True
    ),
    ("DELETE", "/v1/nodes/<node>/holds/<hold>"): Operation(
        "delete_node_hold", "Release a hold of a node", None, done={204: "Done."}
    ),
    ("GET", "/v1/holds"): Operation("list_holds", "List holds", "Holds", _HOLDS_QUERY),
    ("POST", "/v1/holds"): Operation(
        "create_holds",
        "Assert a hold of each node that a filter selects",
        "MadeHolds",
        body=NEW_HOLDS.schema,
        done={200: "A dry run.", 201: "They are asserted, with skip_refused at least one of them."},
        conflicts=True,
    ),
    ("GET", "/v1/domains"): Operation("list_domains", "List domains", "Domains", _DOMAINS_QUERY),
    ("POST", "/v1/domains"): Operation(
        "create_domain",
        "Make a domain",
        "Domain",
        body=NEW_DOMAIN.schema,
        done={201: "It is made."},
        conflicts=True,
    ),
    ("POST", "/v1/domains/from_property"): Operation(
        "create_domains_from_property",
        "Make the domains of a level from a property of the nodes, a portion of the nodes at a time",
        "DomainsFromProperty",
        body=FROM_PROPERTY.schema,
    ),
    ("GET", "/v1/domains/<domain>"): Operation("show_domain", "Show a domain", "Domain"),
    ("PATCH", "/v1/domains/<domain>"): Operation(
        "update_domain",
        "Rename a domain, or put it below another one",
        "Domain",
        body=CHANGED_DOMAIN.schema,
        conflicts=True,
    ),
    ("DELETE", "/v1/domains/<domain>"): Operation(
        "delete_domain", "Delete a domain without nodes", None, done={204: "Done."}, conflicts=True
    ),
    ("GET", "/v1/domains/<domain>/nodes"): Operation(
        "list_domain_nodes", "List the nodes of a domain", "DomainNodes", _NODES_QUERY
    ),
    ("PUT", "/v1/domains/<domain>/nodes/<node>"): Operation(
        "put_domain_node", "Put a node into a domain, out of others of its level", None, done={204: "Done."}
    ),
    ("DELETE", "/v1/domains/<domain>/nodes/<node>"): Operation(
        "remove_domain_node", "Take a node out of a domain and those below it", None, done={204: "Done."}
    ),
    ("GET", "/v1/events"): Operation(
        "list_events", "Read events, or wait for one", "Events", _EVENTS_QUERY, conflicts=True, expires=True
    ),
    **WEBHOOK_OPERATIONS,
    ("GET", "/v1/claims"): Operation("list_claims", "List claims", "Claims", _CLAIMS_QUERY),
    ("POST", "/v1/claims"): Operation(
        "create_claim",
        "Claim a machine, now or when one is free",
        "Claim",
        body=ANY_CLAIM,
        done=_CLAIMED,
        conflicts=True,
    ),
    ("GET", "/v1/claims/<claim>"): Operation(
        "show_claim", "Show a claim, or wait until it is decided", "Claim", {"wait": _POLL}
    ),
    ("DELETE", "/v1/claims/<claim>"): Operation(
        "delete_claim", "Give back a claim, or end its waiting", None, done={204: "Done."}, conflicts=True
    ),
}
