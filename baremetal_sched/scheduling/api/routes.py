"""The scheduling API on one screen."""

from baremetal_sched.baremetal.api.policies.holds import ADD, GET, REMOVE, UPDATE
from baremetal_sched.errors.compute import FlavorNotFound
from baremetal_sched.errors.image import ImageNotFound
from baremetal_sched.scheduling.api import (
    capacity,
    claims,
    explanations,
    groups,
    holds,
    node_explanations,
    openapi,
    policies,
    requests,
)
from baremetal_sched.web.http_errors import Statuses
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

#: The path is there; what the body names is not.
_OF_THE_BODY: Statuses = {FlavorNotFound: 400, ImageNotFound: 400}

ROUTES: tuple[Route, ...] = (
    Route("GET", "/", openapi.show_root, transaction=None, public=True),
    Route("GET", "/v1", openapi.show_root, transaction=None, public=True),
    Route("GET", "/v1/openapi.json", openapi.showing(lambda: ROUTES), transaction=None, public=True),
    Route(
        "POST",
        "/v1/requests",
        requests.create_request,
        transaction="read",
        policy=policies.DRY_RUN,
        takes=(JSON,),
        statuses=_OF_THE_BODY,
    ),
    Route("GET", "/v1/capacity", capacity.show_capacity, transaction="select", policy=policies.CAPACITY),
    Route("GET", "/v1/groups", groups.list_groups, transaction="select", policy=policies.GROUPS),
    Route("GET", "/v1/explanations", explanations.show_explanation, policy=policies.EXPLAIN),
    Route(
        "POST",
        "/v1/explanations",
        explanations.create_explanation,
        policy=policies.EXPLAIN,
        takes=(JSON,),
        statuses=_OF_THE_BODY,
    ),
    Route(
        "GET",
        "/v1/explanations/nodes/<node>",
        node_explanations.show_node_explanation,
        policy=policies.EXPLAIN_NODE,
        checks_policy=True,
    ),
    Route(
        "POST",
        "/v1/explanations/nodes/<node>",
        node_explanations.create_node_explanation,
        policy=policies.EXPLAIN_NODE,
        checks_policy=True,
        takes=(JSON,),
        statuses=_OF_THE_BODY,
    ),
    Route(
        "GET",
        "/v1/nodes/<node>/availability",
        node_explanations.show_availability,
        policy=policies.NODE_AVAILABILITY,
        checks_policy=True,
    ),
    Route("GET", "/v1/nodes/<node>/holds", holds.list_node_holds, policy=GET, checks_policy=True),
    Route(
        "POST",
        "/v1/nodes/<node>/holds",
        holds.create_node_hold,
        transaction="write",
        policy=ADD,
        checks_policy=True,
        takes=(JSON,),
    ),
    Route(
        "DELETE",
        "/v1/nodes/<node>/holds",
        holds.delete_node_holds,
        transaction="write",
        policy=REMOVE,
        checks_policy=True,
    ),
    Route("GET", "/v1/nodes/<node>/holds/<hold>", holds.show_node_hold, policy=GET, checks_policy=True),
    Route(
        "PATCH",
        "/v1/nodes/<node>/holds/<hold>",
        holds.update_node_hold,
        transaction="write",
        policy=UPDATE,
        checks_policy=True,
        takes=(JSON,),
    ),
    Route(
        "DELETE",
        "/v1/nodes/<node>/holds/<hold>",
        holds.delete_node_hold,
        transaction="write",
        policy=REMOVE,
        checks_policy=True,
    ),
    Route("GET", "/v1/holds", holds.list_holds, policy=GET, checks_policy=True),
    Route(
        "POST",
        "/v1/holds",
        holds.create_holds,
        transaction="write",
        policy=ADD,
        checks_policy=True,
        takes=(JSON,),
    ),
    Route("GET", "/v1/claims", claims.list_claims, policy=policies.GET_CLAIM),
    Route(
        "POST",
        "/v1/claims",
        claims.create_claim,
        transaction=None,
        policy=policies.CLAIM,
        takes=(JSON,),
        statuses=_OF_THE_BODY,
    ),
    Route("GET", "/v1/claims/<claim>", claims.show_claim, transaction=None, policy=policies.GET_CLAIM),
    Route("DELETE", "/v1/claims/<claim>", claims.delete_claim, transaction="write", policy=policies.DELETE_CLAIM),
)
