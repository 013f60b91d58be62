"""The bare metal API on one screen. ``since`` is the minor part of the first microversion that has a route."""

from dataclasses import replace

from baremetal_sched.baremetal.api import absences, root
from baremetal_sched.baremetal.api.allocations import allocations
from baremetal_sched.baremetal.api.alternatives import alternatives, named
from baremetal_sched.baremetal.api.authorization import access, field_rules
from baremetal_sched.baremetal.api.conductors import conductors, drivers
from baremetal_sched.baremetal.api.hardware import vendor_passthru
from baremetal_sched.baremetal.api.inspection import agents, inspection_rules
from baremetal_sched.baremetal.api.network import vifs
from baremetal_sched.baremetal.api.node_routes import NODE_ROUTES
from baremetal_sched.baremetal.api.nodes import chassis, nodes
from baremetal_sched.baremetal.api.provisioning import runbooks
from baremetal_sched.baremetal.api.provisioning.deploy_templates import TEMPLATES
from baremetal_sched.baremetal.api.route import BaremetalRoute, guarded, sub_collections
from baremetal_sched.baremetal.api.route_lines import LARGE_BODY_SIZE, RECODED, any_method, every, patch, read, write

ROUTES = tuple(
    guarded(route)
    for route in (
        *every(
            BaremetalRoute("GET", "/", root.show_root, transaction=None),
            BaremetalRoute("POST", "/", root.show_root, transaction=None),
            BaremetalRoute("GET", "/v1", root.show_v1, transaction=None),
            BaremetalRoute("HEAD", "/v1", root.show_v1, transaction=None),
            *(
                BaremetalRoute(method, "/v1", root.refuse_method, transaction=None)
                for method in ("POST", "PUT", "PATCH", "DELETE")
            ),
            public=True,
        ),
        *NODE_ROUTES,
        read("/v1/chassis", chassis.CHASSIS.list, "chassis:get"),
        write("POST", "/v1/chassis", chassis.CHASSIS.create, "chassis:create"),
        read("/v1/chassis/detail", chassis.CHASSIS.list, "chassis:get"),
        read("/v1/chassis/<uuid>", chassis.CHASSIS.show, "chassis:get"),
        patch("/v1/chassis/<uuid>", chassis.CHASSIS.update, "chassis:update"),
        write("DELETE", "/v1/chassis/<uuid>", chassis.CHASSIS.delete, "chassis:delete"),
        read("/v1/chassis/<uuid>/nodes", nodes.list_nodes_of_chassis, "node:list", access.lists),
        read("/v1/chassis/<uuid>/nodes/detail", nodes.list_nodes_of_chassis, "node:list", access.lists),
        *every(
            read("/v1/allocations", allocations.list_allocations, "allocation:list", access.lists, since=52),
            write(
                "POST",
                "/v1/allocations",
                allocations.create_allocation,
                "allocation:create",
                field_rules.new_allocation,
                since=52,
            ),
            read(
                "/v1/allocations/<ident>", allocations.ALLOCATIONS.show, "allocation:get", access.allocation, since=52
            ),
            patch(
                "/v1/allocations/<ident>",
                allocations.ALLOCATIONS.update,
                "allocation:update",
                access.allocation,
                since=57,
            ),
            write(
                "DELETE",
                "/v1/allocations/<ident>",
                allocations.ALLOCATIONS.delete,
                "allocation:delete",
                access.allocation,
                since=52,
            ),
            absent=absences.named("allocations", 52),
        ),
        *every(
            read("/v1/deploy_templates", TEMPLATES.list, "deploy_template:get", since=55),
            write("POST", "/v1/deploy_templates", TEMPLATES.create, "deploy_template:create", since=55),
            read("/v1/deploy_templates/<ident>", TEMPLATES.show, "deploy_template:get", since=55),
            patch("/v1/deploy_templates/<ident>", TEMPLATES.update, "deploy_template:update", since=55),
            write(
                "DELETE",
                "/v1/deploy_templates/<ident>",
                TEMPLATES.delete,
                "deploy_template:delete",
                since=55,
            ),
            absent=absences.routed("deploy templates", 55),
        ),
        *every(
            read("/v1/runbooks", runbooks.list_runbooks, "runbook:list", access.lists, since=92),
            write("POST", "/v1/runbooks", runbooks.RUNBOOKS.create, "runbook:create", since=92),
            read("/v1/runbooks/<ident>", runbooks.RUNBOOKS.show, "runbook:get", access.readable_runbook, since=92),
            patch(
                "/v1/runbooks/<ident>",
                runbooks.RUNBOOKS.update,
                "runbook:update",
                field_rules.patched_runbook,
                since=92,
            ),
            write(
                "DELETE", "/v1/runbooks/<ident>", runbooks.RUNBOOKS.delete, "runbook:delete", access.runbook, since=92
            ),
            absent=absences.routed("runbooks", absences.RUNBOOKS_SINCE),
        ),
        *every(
            read("/v1/runbooks/<ident>/traits", runbooks.list_traits, "runbook:get", access.runbook, since=112),
            write(
                "PUT",
                "/v1/runbooks/<ident>/traits",
                runbooks.replace_traits,
                "runbook:update",
                access.runbook,
                since=112,
            ),
            write(
                "DELETE",
                "/v1/runbooks/<ident>/traits",
                runbooks.remove_all_traits,
                "runbook:update",
                access.runbook,
                since=112,
            ),
            write(
                "PUT",
                "/v1/runbooks/<ident>/traits/<trait>",
                runbooks.add_trait,
                "runbook:update",
                access.runbook,
                since=112,
            ),
            write(
                "DELETE",
                "/v1/runbooks/<ident>/traits/<trait>",
                runbooks.remove_trait,
                "runbook:update",
                access.runbook,
                since=112,
            ),
            absent=absences.runbook_traits,
            hides_path=True,
        ),
        *every(
            read("/v1/inspection_rules", inspection_rules.list_rules, "inspection_rule:get", since=96),
            write("POST", "/v1/inspection_rules", inspection_rules.RULES.create, "inspection_rule:create", since=96),
            write(
                "DELETE", "/v1/inspection_rules", inspection_rules.delete_all_rules, "inspection_rule:delete", since=96
            ),
            read("/v1/inspection_rules/<uuid>", inspection_rules.RULES.show, "inspection_rule:get", since=96),
            patch("/v1/inspection_rules/<uuid>", inspection_rules.RULES.update, "inspection_rule:update", since=96),
            write(
                "DELETE",
                "/v1/inspection_rules/<uuid>",
                inspection_rules.RULES.delete,
                "inspection_rule:delete",
                since=96,
            ),
            absent=absences.named("inspection rules", 96),
        ),
        *every(
            read("/v1/conductors", conductors.list_conductors, "conductor:get", since=49),
            read("/v1/conductors/<hostname>", conductors.show_conductor, "conductor:get", since=49),
            absent=absences.collection,
        ),
        *every(
            write("GET", "/v1/lookup", agents.look_up, "driver:ipa_lookup", since=22, absent=absences.resource),
            write(
                "POST",
                "/v1/heartbeat/<ident>",
                agents.beat,
                "node:ipa_heartbeat",
                since=22,
                absent=absences.resource,
                ident_is_argument=True,
            ),
            write(
                "POST",
                "/v1/continue_inspection",
                agents.continue_inspection,
                "driver:ipa_continue_inspection",
                check=agents.check_report,
                largest_body=LARGE_BODY_SIZE,
            ),
            statuses=RECODED,
            public=True,
        ),
        BaremetalRoute(
            "POST",
            "/v1/events",
            vifs.receive_events,
            policy="baremetal:events:post",
            since=54,
            transaction=None,
            absent=absences.collection,
        ),
        *every(
            read("/v1/shards", chassis.list_shards, "shards:get", since=82),
            read("/v1/shards/<name>", chassis.refuse_one, "shards:get", since=82, transaction=None),
            absent=absences.named("shards", 82),
        ),
        read("/v1/drivers", drivers.list_drivers, "driver:get"),
        read("/v1/drivers/<name>", drivers.show_driver, "driver:get"),
        read("/v1/drivers/<name>/properties", drivers.show_properties, "driver:get_properties"),
        read(
            "/v1/drivers/<name>/raid/logical_disk_properties",
            drivers.show_logical_disk_properties,
            "driver:get_raid_logical_disk_properties",
            since=12,
            absent=absences.too_new(12),
        ),
        read(
            "/v1/drivers/<name>/vendor_passthru/methods", vendor_passthru.list_driver_methods, "driver:vendor_passthru"
        ),
        *any_method("/v1/drivers/<name>/vendor_passthru", vendor_passthru.call_driver_method, "driver:vendor_passthru"),
        *any_method(
            "/v1/drivers/<name>/vendor_passthru/<method>", vendor_passthru.call_driver_method, "driver:vendor_passthru"
        ),
    )
)

_SHOWN = next(route for route in ROUTES if (route.method, route.path) == ("GET", "/v1/nodes/<ident>"))

#: The same at other addresses.
ALTERNATIVES = (
    *alternatives(ROUTES),
    replace(_SHOWN, path="/v1/nodes/", view=named("ident", "node_ident", _SHOWN.view), ident_is_argument=True),
    # To clients below 1.22 there is no heartbeat, but first they hear that it names no node.
    write(
        "POST",
        "/v1/heartbeat",
        named("ident", "node_ident", agents.refuse_beat),
        "node:ipa_heartbeat",
        until=21,
    ),
)

#: Names that cannot stand for a node in a path.
SUB_COLLECTIONS = sub_collections(ROUTES)
