"""The bare metal API on one screen. ``since`` is the minor part of the first microversion that has a route."""

from collections.abc import Callable

from flask import Response

from baremetal_sched.baremetal.api import (
    allocations,
    chassis,
    conductors,
    drivers,
    management,
    nodes,
    provision,
    root,
    states,
    traits,
    validation,
    vendor_passthru,
    vifs,
    vmedia,
)
from baremetal_sched.web.application import Route


def _any(path: str, view: Callable[..., Response]) -> list[Route]:
    """Whatever the method: which ones there are is up to the vendor."""
    return [Route(method, path, view, transaction="write") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")]


ROUTES = (
    Route("GET", "/", root.show_root, transaction=None),
    Route("POST", "/", root.show_root, transaction=None),
    Route("GET", "/v1", root.show_v1, transaction=None),
    Route("HEAD", "/v1", root.show_v1, transaction=None),
    *(Route(method, "/v1", root.refuse_method, transaction=None) for method in ("POST", "PUT", "PATCH", "DELETE")),
    Route("GET", "/v1/nodes", nodes.list_nodes),
    Route("POST", "/v1/nodes", nodes.create_node, transaction="write"),
    Route("PATCH", "/v1/nodes", nodes.refuse_missing_ident, transaction=None),
    Route("DELETE", "/v1/nodes", nodes.refuse_missing_ident, transaction=None),
    Route("GET", "/v1/nodes/", nodes.refuse_missing_ident, transaction=None),
    Route("GET", "/v1/nodes/detail", nodes.list_nodes_in_detail),
    Route("GET", "/v1/nodes/<ident>", nodes.show_node),
    Route("PATCH", "/v1/nodes/<ident>", nodes.update_node, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>", nodes.delete_node, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/maintenance", nodes.set_maintenance, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>/maintenance", nodes.clear_maintenance, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/states", states.show_states),
    Route("PUT", "/v1/nodes/<ident>/states/power", states.set_power, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/states/provision", provision.set_provision_state, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/states/raid", states.set_raid, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/states/console", states.show_console),
    Route("PUT", "/v1/nodes/<ident>/states/console", states.set_console, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/states/boot_mode", states.set_boot_mode, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/states/secure_boot", states.set_secure_boot, transaction="write"),
    Route("GET", "/v1/nodes/validate", validation.validate_named_node),
    Route("GET", "/v1/nodes/<ident>/validate", validation.validate_node),
    Route("GET", "/v1/nodes/<ident>/management/boot_device", management.show_boot_device),
    Route("PUT", "/v1/nodes/<ident>/management/boot_device", management.set_boot_device, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/management/boot_device/supported", management.show_supported_boot_devices),
    Route("PUT", "/v1/nodes/<ident>/management/inject_nmi", management.inject_nmi, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/management/indicators", management.list_indicators),
    Route("GET", "/v1/nodes/<ident>/management/indicators/<indicator>", management.show_indicator),
    Route("PUT", "/v1/nodes/<ident>/management/indicators/<indicator>", management.set_indicator, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/vendor_passthru/methods", vendor_passthru.list_methods),
    *_any("/v1/nodes/<ident>/vendor_passthru", vendor_passthru.call_named_method),
    *_any("/v1/nodes/<ident>/vendor_passthru/<method>", vendor_passthru.call_method),
    # Interfaces and media: below 1.28 and 1.89 there is nothing at these paths, see there.
    Route("GET", "/v1/nodes/<ident>/vifs", vifs.list_vifs),
    Route("POST", "/v1/nodes/<ident>/vifs", vifs.attach_vif, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>/vifs/<vif>", vifs.detach_vif, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/vmedia", vmedia.show_media),
    Route("POST", "/v1/nodes/<ident>/vmedia", vmedia.attach_media, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>/vmedia", vmedia.detach_media, transaction="write"),
    # Traits: below 1.37 each method answers in its own way, see there.
    Route("GET", "/v1/nodes/<ident>/traits", traits.list_traits),
    Route("PUT", "/v1/nodes/<ident>/traits", traits.replace_traits, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>/traits", traits.remove_all_traits, transaction="write"),
    Route("PUT", "/v1/nodes/<ident>/traits/<trait>", traits.add_trait, transaction="write"),
    Route("DELETE", "/v1/nodes/<ident>/traits/<trait>", traits.remove_trait, transaction="write"),
    Route("GET", "/v1/nodes/<ident>/allocation", allocations.show_allocation_of_node, since=52),
    Route(
        "DELETE", "/v1/nodes/<ident>/allocation", allocations.delete_allocation_of_node, since=52, transaction="write"
    ),
    Route("GET", "/v1/chassis", chassis.list_chassis),
    Route("POST", "/v1/chassis", chassis.create_chassis, transaction="write"),
    Route("GET", "/v1/chassis/detail", chassis.list_chassis_in_detail),
    Route("GET", "/v1/chassis/<uuid>", chassis.show_chassis),
    Route("PATCH", "/v1/chassis/<uuid>", chassis.update_chassis, transaction="write"),
    Route("DELETE", "/v1/chassis/<uuid>", chassis.delete_chassis, transaction="write"),
    Route("GET", "/v1/chassis/<uuid>/nodes", nodes.list_nodes_of_chassis),
    Route("GET", "/v1/chassis/<uuid>/nodes/detail", nodes.list_nodes_of_chassis_in_detail),
    Route("GET", "/v1/allocations", allocations.list_allocations, since=52),
    Route("POST", "/v1/allocations", allocations.create_allocation, since=52, transaction="write"),
    Route("GET", "/v1/allocations/<ident>", allocations.show_allocation, since=52),
    Route("PATCH", "/v1/allocations/<ident>", allocations.update_allocation, since=57, transaction="write"),
    Route("DELETE", "/v1/allocations/<ident>", allocations.delete_allocation, since=52, transaction="write"),
    Route("GET", "/v1/conductors", conductors.list_conductors, since=49),
    Route("GET", "/v1/conductors/<hostname>", conductors.show_conductor, since=49),
    Route("GET", "/v1/drivers", drivers.list_drivers),
    Route("GET", "/v1/drivers/<name>", drivers.show_driver),
    Route("GET", "/v1/drivers/<name>/properties", drivers.show_properties),
    Route("GET", "/v1/drivers/<name>/raid/logical_disk_properties", drivers.show_logical_disk_properties),
    Route("GET", "/v1/drivers/<name>/vendor_passthru/methods", vendor_passthru.list_driver_methods),
    *_any("/v1/drivers/<name>/vendor_passthru", vendor_passthru.call_named_driver_method),
    *_any("/v1/drivers/<name>/vendor_passthru/<method>", vendor_passthru.call_driver_method),
)
