"""The scheduling API on one screen."""

from baremetal_sched.errors.flavors import FlavorNotFound
from baremetal_sched.errors.image import ImageNotFound
from baremetal_sched.scheduling.api import capacity, node_availability, policies, requests, root
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

ROUTES = (
    Route("GET", "/", root.show_root, transaction=None, public=True),
    Route("GET", "/v1", root.show_root, transaction=None, public=True),
    Route(
        "POST",
        "/v1/requests",
        requests.create_request,
        transaction="read",
        policy=policies.DRY_RUN,
        takes=(JSON,),
        # The path is there; what the body names is not.
        statuses={FlavorNotFound: 400, ImageNotFound: 400},
    ),
    Route("GET", "/v1/capacity", capacity.show_capacity, transaction="select", policy=policies.CAPACITY),
    Route(
        "GET",
        "/v1/nodes/<node>/availability",
        node_availability.show_availability,
        policy=policies.NODE_AVAILABILITY,
        checks_policy=True,
    ),
)
