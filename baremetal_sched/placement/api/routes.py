"""The Placement API on one screen. ``since`` is the minor part of the first microversion that has a route."""

from baremetal_sched.placement.api import (
    allocation_candidates,
    allocations,
    inventories,
    resource_classes,
    resource_providers,
    root,
    traits,
    usages,
)
from baremetal_sched.web.application import Route

_PROVIDER = "/resource_providers/<uuid>"

ROUTES = (
    Route("GET", "/", root.show_root, transaction=None),
    Route("GET", "/resource_classes", resource_classes.list_classes, since=2),
    Route("GET", "/resource_classes/<name>", resource_classes.show_class, since=2),
    Route("GET", "/resource_providers", resource_providers.list_providers),
    Route("GET", _PROVIDER, resource_providers.show_provider),
    Route("GET", f"{_PROVIDER}/inventories", inventories.list_inventories),
    Route("GET", f"{_PROVIDER}/inventories/<resource_class>", inventories.show_inventory),
    Route("GET", f"{_PROVIDER}/usages", usages.show_provider_usages),
    Route("GET", f"{_PROVIDER}/traits", traits.list_provider_traits, since=6),
    Route("GET", f"{_PROVIDER}/allocations", allocations.list_provider_allocations),
    Route("GET", "/traits", traits.list_traits, since=6),
    Route("GET", "/traits/<name>", traits.show_trait, since=6),
    Route("GET", "/allocation_candidates", allocation_candidates.list_candidates, since=10),
    Route("GET", "/allocations/<consumer>", allocations.show_allocations),
    Route("PUT", "/allocations/<consumer>", allocations.replace_allocations, transaction="write"),
    Route("DELETE", "/allocations/<consumer>", allocations.delete_allocations, transaction="write"),
)
