"""All pages on one screen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from baremetal_sched.baremetal.api.policies.holds import GET as GET_HOLD
from baremetal_sched.scheduling.api import policies
from baremetal_sched.ui import (
    act,
    allocations,
    assets,
    bookings,
    calendar,
    capacity,
    catalog,
    claims,
    domains,
    events,
    fleet,
    groups,
    holds,
    node,
    nodes,
    search,
    servers,
    session_pages,
    waiting,
    webhooks,
)
from baremetal_sched.ui.find import view as find
from baremetal_sched.web.route import Route, View


@dataclass(frozen=True)
class PageRoute:
    """A page at ``path`` below ``/ui``. ``policy``: the rule of the API whose data it shows, which must be met.

    ``checks_policy``: its view checks the rule, which depends on the shown resource. ``transaction``: as that of a
    route.
    """

    path: str
    view: View
    policy: str
    checks_policy: bool = field(default=False, kw_only=True)
    transaction: Literal["read", "select"] = field(default="read", kw_only=True)


def routes_of(pages: Iterable[PageRoute]) -> Iterator[Route]:
    """Return the routes of the pages, for GET and HEAD."""
    for page in pages:
        for method in ("GET", "HEAD"):
            yield Route(
                method,
                page.path,
                page.view,
                transaction=page.transaction,
                policy=page.policy,
                checks_policy=page.checks_policy,
            )


PAGES = (
    PageRoute("/", fleet.show_fleet, "baremetal:node:list", checks_policy=True, transaction="select"),
    PageRoute("/nodes", nodes.show_nodes, "baremetal:node:list", checks_policy=True),
    PageRoute("/nodes/<ident>", node.show_node, "baremetal:node:get", checks_policy=True),
    PageRoute("/search", search.show_search, "baremetal:node:list", checks_policy=True),
    PageRoute("/capacity", capacity.show_capacity, policies.CAPACITY, transaction="select"),
    PageRoute("/domains", domains.show_domains, policies.DOMAINS),
    PageRoute("/find", find.show_find, policies.EXPLAIN),
    PageRoute("/waiting", waiting.show_waiting, policies.GET_CLAIM),
    PageRoute("/claims", claims.show_claims, policies.GET_CLAIM),
    PageRoute("/bookings", bookings.show_bookings, policies.GET_BOOKING),
    PageRoute("/bookings/<uuid>", bookings.show_booking, policies.GET_BOOKING, checks_policy=True),
    PageRoute("/calendar", calendar.show_calendar, policies.CAPACITY),
    PageRoute("/holds", holds.show_holds, GET_HOLD, checks_policy=True),
    PageRoute("/events", events.show_events, policies.EVENTS, transaction="select"),
    PageRoute("/webhooks", webhooks.show_webhooks, policies.MANAGE_WEBHOOKS),
    PageRoute("/groups", groups.list_groups, policies.GROUPS, transaction="select"),
    PageRoute("/groups/<path:name>", groups.show_group, policies.GROUPS, transaction="select"),
    PageRoute("/servers", servers.show_servers, "os_compute_api:servers:index", checks_policy=True),
    PageRoute("/allocations", allocations.show_allocations, "baremetal:allocation:list", checks_policy=True),
    PageRoute("/flavors", catalog.show_flavors, "os_compute_api:servers:index", checks_policy=True),
    PageRoute("/images", catalog.show_images, "get_images", checks_policy=True),
)

LOGIN = "/login"

#: Strangers may request these; the views look for a session if they need one. They call Keystone, so they begin
#: transactions themselves.
SESSION_ROUTES = (
    *(Route(method, LOGIN, session_pages.show_login, transaction=None, public=True) for method in ("GET", "HEAD")),
    Route("POST", LOGIN, session_pages.log_in, transaction=None, public=True, refuses_query=True),
    *(
        Route(method, "/session", session_pages.show_session, transaction=None, public=True)
        for method in ("GET", "HEAD")
    ),
    Route("POST", "/session", session_pages.choose_scope, transaction=None, public=True, refuses_query=True),
    Route("POST", "/logout", session_pages.log_out, transaction=None, public=True, refuses_query=True),
)

#: The API that an action is a request of checks its rule.
_ACTIONS = (
    *routes_of([PageRoute("/confirm", act.show_confirmation, "baremetal:node:get", checks_policy=True)]),
    Route("POST", "/confirm", act.show_confirmation, policy="baremetal:node:get", checks_policy=True),
    Route("POST", "/act", act.act, transaction=None, policy="baremetal:node:get", checks_policy=True),
)

ROUTES = (
    *routes_of(PAGES),
    *SESSION_ROUTES,
    *_ACTIONS,
    *(Route(method, "/static/<name>", assets.show_asset, transaction=None, public=True) for method in ("GET", "HEAD")),
)
