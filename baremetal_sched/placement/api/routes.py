"""The routes of the Placement API. ``since`` is the minor part of the first microversion that has a route.

Within a path, methods are in the order of the Allow header.
"""

from typing import Literal

from baremetal_sched.placement.api import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    resource_classes,
    resource_providers,
    root,
    traits,
    usages,
)
from baremetal_sched.placement.api.policies import USAGES
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Absence, Route, View, method_not_allowed, path_not_found

_RC = "/resource_classes"
_RP = "/resource_providers"
_ONE = "/resource_providers/<uuid>"
_CLASSES = "placement:resource_classes"
_PROVIDERS = "placement:resource_providers"
_INVENTORIES = "placement:resource_providers:inventories"


def get(
    path: str,
    view: View,
    policy: str,
    *,
    since: int = 0,
    gives_json: bool = True,
    transaction: Literal["read", "select"] = "read",
) -> Route:
    """Return the route of a GET that answers with a document."""
    return Route("GET", path, view, since, transaction, policy=policy, gives_json=gives_json)


def select(path: str, view: View, policy: str, *, since: int = 0) -> Route:
    """Return the route of a GET that selects columns, without entities."""
    return get(path, view, policy, since=since, transaction="select")


def write(
    method: str,
    path: str,
    view: View,
    policy: str,
    *,
    since: int = 0,
    until: int | None = None,
    takes: tuple[str, ...] = (JSON,),
    absent: Absence = path_not_found,
    transaction: Literal["write", "change"] = "write",
) -> Route:
    """Return the route of a POST or PUT, by default with a JSON body."""
    return Route(method, path, view, since, transaction, until=until, policy=policy, takes=takes, absent=absent)


def claim(
    method: str, path: str, view: View, policy: str, *, since: int = 0, takes: tuple[str, ...] = (JSON,)
) -> Route:
    """Return the route of a change of allocations, without entities, as these are the most frequent requests of
    schedulers."""
    return write(method, path, view, policy, since=since, takes=takes, transaction="change")


def remove(path: str, view: View, policy: str, *, since: int = 0, absent: Absence = path_not_found) -> Route:
    """Return the route of a DELETE."""
    return write("DELETE", path, view, policy, since=since, takes=(), absent=absent)


ROUTES = (
    Route("GET", "/", root.show_root, transaction=None, public=True),
    get(_RC, resource_classes.list_classes, f"{_CLASSES}:list", since=2),
    write("POST", _RC, resource_classes.create_class, f"{_CLASSES}:create", since=2),
    get(f"{_RC}/<name>", resource_classes.show_class, f"{_CLASSES}:show", since=2),
    write("PUT", f"{_RC}/<name>", resource_classes.rename_class, f"{_CLASSES}:update", since=2, until=6),
    write("PUT", f"{_RC}/<name>", resource_classes.ensure_class, f"{_CLASSES}:update", since=7, takes=()),
    remove(f"{_RC}/<name>", resource_classes.delete_class, f"{_CLASSES}:delete", since=2),
    get(_RP, resource_providers.list_providers, f"{_PROVIDERS}:list"),
    write("POST", _RP, resource_providers.create_provider, f"{_PROVIDERS}:create"),
    get(_ONE, resource_providers.show_provider, f"{_PROVIDERS}:show"),
    remove(_ONE, resource_providers.delete_provider, f"{_PROVIDERS}:delete"),
    write("PUT", _ONE, resource_providers.update_provider, f"{_PROVIDERS}:update"),
    select(f"{_ONE}/inventories", inventories.list_inventories, f"{_INVENTORIES}:list"),
    write("POST", f"{_ONE}/inventories", inventories.create_inventory, f"{_INVENTORIES}:create"),
    write("PUT", f"{_ONE}/inventories", inventories.replace_inventories, f"{_INVENTORIES}:update"),
    remove(
        f"{_ONE}/inventories",
        inventories.delete_inventories,
        f"{_INVENTORIES}:delete",
        since=5,
        absent=method_not_allowed,
    ),
    select(f"{_ONE}/inventories/<resource_class>", inventories.show_inventory, f"{_INVENTORIES}:show"),
    write("PUT", f"{_ONE}/inventories/<resource_class>", inventories.update_inventory, f"{_INVENTORIES}:update"),
    remove(f"{_ONE}/inventories/<resource_class>", inventories.delete_inventory, f"{_INVENTORIES}:delete"),
    select(f"{_ONE}/usages", usages.show_provider_usages, f"{_PROVIDERS}:usages"),
    select(f"{_ONE}/aggregates", aggregates.list_aggregates, f"{_PROVIDERS}:aggregates:list", since=1),
    write("PUT", f"{_ONE}/aggregates", aggregates.replace_aggregates, f"{_PROVIDERS}:aggregates:update", since=1),
    get(f"{_ONE}/allocations", allocations.list_provider_allocations, f"{_PROVIDERS}:allocations:list"),
    select(f"{_ONE}/traits", traits.list_provider_traits, f"{_PROVIDERS}:traits:list", since=6),
    write("PUT", f"{_ONE}/traits", traits.replace_provider_traits, f"{_PROVIDERS}:traits:update", since=6),
    remove(f"{_ONE}/traits", traits.delete_provider_traits, f"{_PROVIDERS}:traits:delete", since=6),
    claim("POST", "/allocations", allocations.write_allocations, "placement:allocations:manage", since=13),
    get("/allocations/<consumer>", allocations.show_allocations, "placement:allocations:list"),
    claim("PUT", "/allocations/<consumer>", allocations.replace_allocations, "placement:allocations:update"),
    claim(
        "DELETE", "/allocations/<consumer>", allocations.delete_allocations, "placement:allocations:delete", takes=()
    ),
    get(
        "/allocation_candidates",
        allocation_candidates.list_candidates,
        "placement:allocation_candidates:list",
        since=10,
        transaction="select",
    ),
    get("/traits", traits.list_traits, "placement:traits:list", since=6),
    get("/traits/<name>", traits.show_trait, "placement:traits:show", since=6, gives_json=False),
    write("PUT", "/traits/<name>", traits.put_trait, "placement:traits:update", since=6, takes=()),
    remove("/traits/<name>", traits.delete_trait, "placement:traits:delete", since=6),
    select("/usages", usages.show_usages, USAGES, since=9),
    write("POST", "/reshaper", allocations.reshape, "placement:reshaper:reshape", since=30),
)
