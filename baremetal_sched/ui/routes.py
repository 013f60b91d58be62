"""All pages on one screen. Pages with a label are in the navigation, in this order."""

from baremetal_sched.scheduling.api import policies
from baremetal_sched.ui import assets, capacity, fleet, groups, node, nodes
from baremetal_sched.ui.find import view as find
from baremetal_sched.ui.rendering import Page, routes_of
from baremetal_sched.web.route import Route

PAGES = (
    Page("/", fleet.show_fleet, "baremetal:node:list", label="Fleet", checks_policy=True, transaction="select"),
    Page("/nodes", nodes.show_nodes, "baremetal:node:list", label="Nodes", checks_policy=True),
    Page("/nodes/<ident>", node.show_node, "baremetal:node:get", checks_policy=True),
    Page("/capacity", capacity.show_capacity, policies.CAPACITY, label="Capacity", transaction="select"),
    Page("/find", find.show_find, policies.EXPLAIN, label="Find"),
    Page("/groups", groups.list_groups, policies.GROUPS, label="Groups", transaction="select"),
    Page("/groups/<path:name>", groups.show_group, policies.GROUPS, transaction="select"),
)

ROUTES = (
    *routes_of(PAGES),
    *(Route(method, "/static/<name>", assets.show_asset, transaction=None, public=True) for method in ("GET", "HEAD")),
)
