"""The routes of the scheduling API; those of nodes, of bookings and of events are in tables of their own."""

from baremetal_sched.errors.baremetal import NodeNotFound, SuitableNodesLocked
from baremetal_sched.errors.compute import (
    ExplanationTookTooLong,
    ServerLocked,
    TooManyExplanations,
)
from baremetal_sched.errors.placement import BadQuery
from baremetal_sched.errors.scheduling import (
    BookedNext,
    BookingIsOver,
    BookingNotFound,
    BookingNotRunning,
    CannotWait,
    ClaimDiffers,
    ClaimElsewhere,
    ClaimIsOver,
    ClaimNotFound,
    ConsumerInUse,
    EndsNotServed,
    FitUnknown,
    GroupDiffers,
    GroupsNotServed,
    HasEnded,
    HasNoEnd,
    MachinesShare,
    NeverFits,
    NothingFree,
    OthersWait,
    TooManyWaitingClaims,
    UuidTaken,
    WaitingNotServed,
)
from baremetal_sched.scheduling.api import (
    capacity,
    claims,
    explanations,
    groups,
    node_explanations,
    openapi,
    policies,
    requests,
)
from baremetal_sched.scheduling.api.booking_routes import BOOKING_ROUTES, FLAVORS, OF_THE_BODY, SEARCHING
from baremetal_sched.scheduling.api.event_routes import EVENT_ROUTES
from baremetal_sched.scheduling.api.node_routes import NODE_ROUTES
from baremetal_sched.scheduling.api.request_bodies import QUERY_PARAMETERS
from baremetal_sched.scheduling.schemas.claims import ANY_CLAIM
from baremetal_sched.scheduling.schemas.ends import CLAIM_CHANGE
from baremetal_sched.scheduling.schemas.explanations import ANY_REQUEST, of_one_machine
from baremetal_sched.scheduling.schemas.requests import REQUEST
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

#: Errors of machines of a group, of bookings, of explanations, of claims.
_GROUPS = (GroupDiffers, MachinesShare)
_BOOKED = (BookingNotFound, BookingIsOver)
_EXPLAINING = (ExplanationTookTooLong, TooManyExplanations)
_CLAIMING = (
    *(NothingFree, NeverFits, SuitableNodesLocked, TooManyWaitingClaims, ClaimDiffers, ConsumerInUse, UuidTaken),
    *(CannotWait, EndsNotServed, FitUnknown, GroupsNotServed, WaitingNotServed),
    *(*_BOOKED, BookingNotRunning),
)

_CLAIMED = {
    200: "The same body has been sent before, and its claim no longer waits.",
    201: "A machine is claimed.",
    202: "The claim waits.",
}

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/",
        openapi.show_root,
        transaction=None,
        public=True,
        operation=Operation("list_versions", "Show the version", "Versions", refuses=False),
    ),
    Route(
        "GET",
        "/v1",
        openapi.show_root,
        transaction=None,
        public=True,
        operation=Operation("show_version", "Show the version", "Versions", refuses=False),
    ),
    Route(
        "GET",
        "/v1/openapi.json",
        openapi.showing(lambda: ROUTES),
        transaction=None,
        public=True,
        operation=Operation("show_openapi", "Show this document", "OpenAPI"),
    ),
    Route(
        "POST",
        "/v1/requests",
        requests.create_request,
        transaction="read",
        policy=policies.DRY_RUN,
        takes=(JSON,),
        statuses=OF_THE_BODY,
        operation=Operation(
            "create_request", "Show which machines a flavor and an image get", "DryRun", body=REQUEST.schema
        ),
        errors=(*FLAVORS, *SEARCHING, *_GROUPS, *_EXPLAINING),
    ),
    Route(
        "GET",
        "/v1/capacity",
        capacity.show_capacity,
        transaction="select",
        policy=policies.CAPACITY,
        operation=Operation("show_capacity", "Count machines", "Capacity", capacity.PARAMETERS),
    ),
    Route(
        "GET",
        "/v1/groups",
        groups.list_groups,
        transaction="select",
        policy=policies.GROUPS,
        operation=Operation(
            "list_groups", "List conductor groups with their conductors", "ConductorGroups", groups.PARAMETERS
        ),
    ),
    Route(
        "GET",
        "/v1/explanations",
        explanations.show_explanation,
        policy=policies.EXPLAIN,
        operation=Operation(
            "show_explanation", "Explain a query of allocation candidates", "Explanation", explanations.PARAMETERS
        ),
        errors=(BadQuery, *_EXPLAINING),
    ),
    Route(
        "POST",
        "/v1/explanations",
        explanations.create_explanation,
        policy=policies.EXPLAIN,
        takes=(JSON,),
        statuses=OF_THE_BODY,
        operation=Operation("create_explanation", "Explain a request", "Explanation", body=ANY_REQUEST),
        errors=(BadQuery, *FLAVORS, *_GROUPS, *_BOOKED, *_EXPLAINING),
    ),
    Route(
        "GET",
        "/v1/explanations/nodes/<node>",
        node_explanations.show_node_explanation,
        policy=policies.EXPLAIN_NODE,
        checks_policy=True,
        operation=Operation(
            "show_node_explanation", "Explain whether one machine fits a query", "NodeExplanation", QUERY_PARAMETERS
        ),
        errors=(NodeNotFound, BadQuery, *_EXPLAINING),
    ),
    Route(
        "POST",
        "/v1/explanations/nodes/<node>",
        node_explanations.create_node_explanation,
        policy=policies.EXPLAIN_NODE,
        checks_policy=True,
        takes=(JSON,),
        statuses=OF_THE_BODY,
        operation=Operation(
            "create_node_explanation",
            "Explain a request for one machine",
            "NodeExplanation",
            body=of_one_machine(ANY_REQUEST),
        ),
        errors=(NodeNotFound, BadQuery, *FLAVORS, *_EXPLAINING),
    ),
    Route(
        "GET",
        "/v1/nodes/<node>/availability",
        node_explanations.show_availability,
        policy=policies.NODE_AVAILABILITY,
        checks_policy=True,
        operation=Operation("show_availability", "Explain why a machine is or is not on offer", "Availability"),
        errors=(NodeNotFound,),
    ),
    *NODE_ROUTES,
    *EVENT_ROUTES,
    *BOOKING_ROUTES,
    Route(
        "GET",
        "/v1/claims",
        claims.list_claims,
        policy=policies.GET_CLAIM,
        operation=Operation("list_claims", "List claims", "Claims", claims.PARAMETERS),
    ),
    Route(
        "POST",
        "/v1/claims",
        claims.create_claim,
        transaction=None,
        policy=policies.CLAIM,
        takes=(JSON,),
        statuses=OF_THE_BODY,
        operation=Operation(
            "create_claim",
            "Claim a machine, now or when one is free",
            "Claim",
            body=ANY_CLAIM,
            done=_CLAIMED,
        ),
        errors=(*FLAVORS, *SEARCHING, *_GROUPS, *_CLAIMING),
    ),
    Route(
        "GET",
        "/v1/claims/<claim>",
        claims.show_claim,
        transaction=None,
        policy=policies.GET_CLAIM,
        operation=Operation("show_claim", "Show a claim, or wait until it is decided", "Claim", claims.POLL),
        errors=(ClaimNotFound,),
    ),
    Route(
        "PATCH",
        "/v1/claims/<claim>",
        claims.change_claim,
        transaction="write",
        policy=policies.GET_CLAIM,
        takes=(JSON,),
        refuses_query=True,
        operation=Operation(
            "change_claim",
            "Change the end of a claim, or of a server or an allocation that has a machine",
            "Claim",
            body=CLAIM_CHANGE.schema,
        ),
        errors=(
            ClaimNotFound,
            ServerLocked,
            HasEnded,
            HasNoEnd,
            ClaimIsOver,
            OthersWait,
            BookedNext,
            EndsNotServed,
            *_BOOKED,
        ),
    ),
    Route(
        "DELETE",
        "/v1/claims/<claim>",
        claims.delete_claim,
        transaction="write",
        policy=policies.DELETE_CLAIM,
        operation=Operation("delete_claim", "Give back a claim, or end its waiting", None),
        errors=(ClaimNotFound, ClaimElsewhere),
    ),
)
