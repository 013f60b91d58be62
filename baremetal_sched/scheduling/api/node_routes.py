"""The routes of what is said about nodes: their holds, and the domains that they are in."""

from baremetal_sched.baremetal.api.policies.holds import ADD, GET, REMOVE, UPDATE
from baremetal_sched.errors.baremetal import NodeLocked, NodeNotFound
from baremetal_sched.errors.domains import (
    DomainExists,
    DomainNotEmpty,
    DomainNotFound,
    DomainsNotServed,
    LevelTwice,
    NodeNotInDomain,
    ParentNotFound,
)
from baremetal_sched.errors.holds import (
    HoldExists,
    HoldNotChangeable,
    HoldNotFound,
    HoldOfProjectExists,
    HoldsKept,
    HoldsNotServed,
    HoldsRefused,
    TooManyHolds,
)
from baremetal_sched.scheduling.api import domains, holds
from baremetal_sched.scheduling.api.policies import DOMAINS, MANAGE_DOMAINS
from baremetal_sched.scheduling.schemas.domains import CHANGED_DOMAIN, FROM_PROPERTY, NEW_DOMAIN
from baremetal_sched.scheduling.schemas.holds import CHANGES, NEW_HOLD, NEW_HOLDS
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

_OTHERS = (HoldExists, HoldOfProjectExists)
_ASSERTING = (*_OTHERS, TooManyHolds, NodeLocked, HoldsNotServed)
_ONE_HOLD = (NodeNotFound, HoldNotFound)
_HANGING = (ParentNotFound, LevelTwice)

NODE_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/nodes/<node>/holds",
        holds.list_node_holds,
        policy=GET,
        checks_policy=True,
        operation=Operation("list_node_holds", "List the holds of a node", "NodeHolds"),
        errors=(NodeNotFound,),
    ),
    Route(
        "POST",
        "/v1/nodes/<node>/holds",
        holds.create_node_hold,
        transaction="write",
        policy=ADD,
        checks_policy=True,
        takes=(JSON,),
        operation=Operation(
            "create_node_hold",
            "Assert a hold of a node",
            "Hold",
            body=NEW_HOLD.schema,
            done={200: "It was there before (or_existing).", 201: "Asserted."},
        ),
        errors=(NodeNotFound, *_ASSERTING),
    ),
    Route(
        "DELETE",
        "/v1/nodes/<node>/holds",
        holds.delete_node_holds,
        transaction="write",
        policy=REMOVE,
        checks_policy=True,
        operation=Operation("delete_node_holds", "Release all holds of a node", None),
        errors=(NodeNotFound, HoldsKept),
    ),
    Route(
        "GET",
        "/v1/nodes/<node>/holds/<hold>",
        holds.show_node_hold,
        policy=GET,
        checks_policy=True,
        operation=Operation("show_node_hold", "Show a hold of a node", "Hold"),
        errors=_ONE_HOLD,
    ),
    Route(
        "PATCH",
        "/v1/nodes/<node>/holds/<hold>",
        holds.update_node_hold,
        transaction="write",
        policy=UPDATE,
        checks_policy=True,
        takes=(JSON,),
        operation=Operation("update_node_hold", "Change a hold of a node", "Hold", body=CHANGES.schema),
        errors=(*_ONE_HOLD, *_OTHERS, HoldNotChangeable, HoldsKept),
    ),
    Route(
        "DELETE",
        "/v1/nodes/<node>/holds/<hold>",
        holds.delete_node_hold,
        transaction="write",
        policy=REMOVE,
        checks_policy=True,
        operation=Operation("delete_node_hold", "Release a hold of a node", None),
        errors=(*_ONE_HOLD, HoldsKept),
    ),
    Route(
        "GET",
        "/v1/holds",
        holds.list_holds,
        policy=GET,
        checks_policy=True,
        operation=Operation("list_holds", "List holds", "Holds", holds.PARAMETERS),
    ),
    Route(
        "POST",
        "/v1/holds",
        holds.create_holds,
        transaction="write",
        policy=ADD,
        checks_policy=True,
        takes=(JSON,),
        operation=Operation(
            "create_holds",
            "Assert a hold of each node that a filter selects",
            "MadeHolds",
            body=NEW_HOLDS.schema,
            done={
                200: "A dry run; or all were there before (or_existing).",
                201: "They are asserted, with skip_refused or or_existing at least one of them.",
            },
        ),
        errors=(*_ASSERTING, HoldsRefused),
    ),
    Route(
        "GET",
        "/v1/domains",
        domains.list_domains,
        policy=DOMAINS,
        operation=Operation("list_domains", "List domains", "Domains", domains.PARAMETERS),
    ),
    Route(
        "POST",
        "/v1/domains",
        domains.create_domain,
        transaction="write",
        policy=MANAGE_DOMAINS,
        takes=(JSON,),
        operation=Operation(
            "create_domain",
            "Make a domain",
            "Domain",
            body=NEW_DOMAIN.schema,
            done={201: "Created."},
        ),
        errors=(DomainExists, *_HANGING, DomainsNotServed),
    ),
    Route(
        "POST",
        "/v1/domains/from_property",
        domains.create_from_property,
        transaction="write",
        policy=MANAGE_DOMAINS,
        takes=(JSON,),
        operation=Operation(
            "create_domains_from_property",
            "Make the domains of a level from a property of the nodes, a portion of the nodes at a time",
            "DomainsFromProperty",
            body=FROM_PROPERTY.schema,
        ),
        errors=(DomainsNotServed,),
    ),
    Route(
        "GET",
        "/v1/domains/<domain>",
        domains.show_domain,
        policy=DOMAINS,
        operation=Operation("show_domain", "Show a domain", "Domain"),
        errors=(DomainNotFound,),
    ),
    Route(
        "PATCH",
        "/v1/domains/<domain>",
        domains.update_domain,
        transaction="write",
        policy=MANAGE_DOMAINS,
        takes=(JSON,),
        operation=Operation(
            "update_domain",
            "Rename a domain, or put it below another one",
            "Domain",
            body=CHANGED_DOMAIN.schema,
        ),
        errors=(DomainNotFound, DomainExists, *_HANGING),
    ),
    Route(
        "DELETE",
        "/v1/domains/<domain>",
        domains.delete_domain,
        transaction="write",
        policy=MANAGE_DOMAINS,
        operation=Operation("delete_domain", "Delete a domain without nodes", None),
        errors=(DomainNotFound, DomainNotEmpty),
    ),
    Route(
        "GET",
        "/v1/domains/<domain>/nodes",
        domains.list_domain_nodes,
        policy=DOMAINS,
        operation=Operation("list_domain_nodes", "List the nodes of a domain", "DomainNodes", domains.NODE_PARAMETERS),
        errors=(DomainNotFound,),
    ),
    Route(
        "PUT",
        "/v1/domains/<domain>/nodes/<node>",
        domains.put_node,
        transaction="write",
        policy=MANAGE_DOMAINS,
        checks_policy=True,
        operation=Operation("put_domain_node", "Put a node into a domain, out of others of its level", None),
        errors=(DomainNotFound, NodeNotFound, DomainsNotServed),
    ),
    Route(
        "DELETE",
        "/v1/domains/<domain>/nodes/<node>",
        domains.remove_node,
        transaction="write",
        policy=MANAGE_DOMAINS,
        checks_policy=True,
        operation=Operation("remove_domain_node", "Take a node out of a domain and those below it", None),
        errors=(DomainNotFound, NodeNotFound, NodeNotInDomain),
    ),
)
