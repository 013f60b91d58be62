"""Routes of nodes and of what belongs to them: ports, portgroups, volume connectors and targets."""

from collections.abc import Iterator
from dataclasses import replace

from baremetal_sched.baremetal.api import absences
from baremetal_sched.baremetal.api.allocations import allocations
from baremetal_sched.baremetal.api.authorization import access, field_rules
from baremetal_sched.baremetal.api.hardware import bios, management, states, vendor_passthru
from baremetal_sched.baremetal.api.inspection import inspection_rules
from baremetal_sched.baremetal.api.network import portgroups, ports, vifs, volume
from baremetal_sched.baremetal.api.nodes import history, nodes, traits
from baremetal_sched.baremetal.api.provisioning import provision
from baremetal_sched.baremetal.api.route import BaremetalRoute
from baremetal_sched.baremetal.api.route_lines import (
    LARGE_BODY_SIZE,
    RECODED,
    after_access,
    any_method,
    every,
    patch,
    read,
    write,
)
from baremetal_sched.errors.baremetal import NodeNotFound


def _of_node(*routes: BaremetalRoute) -> Iterator[BaremetalRoute]:
    """Return ``routes``, whose paths begin with a node. Their policies are about that node, unless they have a guard of
    their own."""
    return (replace(route, path=f"/v1/nodes/<ident>{route.path}", guard=route.guard or access.node) for route in routes)


_BELOW_NODES = tuple(
    _of_node(
        read("", nodes.show_node, "node:get", transaction="select"),
        patch("", nodes.update_node, "node:update", field_rules.patched_node, statuses=RECODED),
        write("DELETE", "", nodes.delete_node, "node:delete", access.removable_node, statuses=RECODED),
        *every(
            write("PUT", "/maintenance", nodes.set_maintenance, "node:set_maintenance"),
            write("DELETE", "/maintenance", nodes.clear_maintenance, "node:clear_maintenance"),
            statuses=RECODED,
            ident_is_argument=True,
        ),
        *every(
            read("/states", states.show_states, "node:get_states", transaction="select"),
            write("PUT", "/states/power", states.set_power, "node:set_power_state"),
            write(
                "PUT",
                "/states/provision",
                provision.set_provision_state,
                "node:set_provision_state",
                field_rules.provisioned_node,
                largest_body=LARGE_BODY_SIZE,
            ),
            *after_access(
                write(
                    "PUT", "/states/raid", states.set_raid, "node:set_raid_state", since=12, absent=absences.too_new(12)
                )
            ),
            BaremetalRoute(
                "PUT",
                "/states/target_raid_config",
                states.refuse_target_raid_config,
                policy="baremetal:node:get_states",
                guard=access.refusal,
                transaction=None,
            ),
            read("/states/console", states.show_console, "node:get_console"),
            write("PUT", "/states/console", states.set_console, "node:set_console_state"),
            *after_access(
                write(
                    "PUT",
                    "/states/boot_mode",
                    states.set_boot_mode,
                    "node:set_boot_mode",
                    since=76,
                    absent=absences.endpoint(76),
                )
            ),
            *after_access(
                write(
                    "PUT",
                    "/states/secure_boot",
                    states.set_secure_boot,
                    "node:set_secure_boot",
                    since=76,
                    absent=absences.endpoint(76),
                )
            ),
            ident_is_argument=True,
        ),
        read("/validate", provision.validate_node, "node:validate"),
        *every(
            read("/management/boot_device", management.show_boot_device, "node:get_boot_device"),
            write("PUT", "/management/boot_device", management.set_boot_device, "node:set_boot_device"),
            read("/management/boot_device/supported", management.show_supported_boot_devices, "node:get_boot_device"),
            write("PUT", "/management/inject_nmi", management.inject_nmi, "node:inject_nmi", since=29),
            read("/management/indicators", management.list_indicators, "node:get_indicator_state"),
            read("/management/indicators/<indicator>", management.show_indicator, "node:get_indicator_state"),
            write("PUT", "/management/indicators/<indicator>", management.set_indicator, "node:set_indicator_state"),
            read("/vendor_passthru/methods", vendor_passthru.list_methods, "node:vendor_passthru"),
            *any_method("/vendor_passthru", vendor_passthru.call_method, "node:vendor_passthru"),
            *any_method("/vendor_passthru/<method>", vendor_passthru.call_method, "node:vendor_passthru"),
            ident_is_argument=True,
        ),
        *every(
            read("/vifs", vifs.list_vifs, "node:vif:list", since=28),
            write("POST", "/vifs", vifs.attach_vif, "node:vif:attach", since=28),
            write("DELETE", "/vifs/<vif>", vifs.detach_vif, "node:vif:detach", since=28),
            read("/vmedia", management.show_media, "node:vmedia:get", since=93),
            write("POST", "/vmedia", management.attach_media, "node:vmedia:attach", since=89),
            write("DELETE", "/vmedia", management.detach_media, "node:vmedia:detach", since=89),
            hides_path=True,
            statuses=RECODED,
        ),
        read("/traits", traits.refuse_list, "node:traits:list", until=36),
        read("/traits", traits.list_traits, "node:traits:list", since=37),
        *every(
            write("PUT", "/traits", traits.replace_traits, "node:traits:set", ident_is_argument=True),
            write("DELETE", "/traits", traits.remove_all_traits, "node:traits:delete", ident_is_argument=True),
            write("PUT", "/traits/<trait>", traits.add_trait, "node:traits:set"),
            write("DELETE", "/traits/<trait>", traits.remove_trait, "node:traits:delete"),
            since=37,
            transaction="change",
            absent=absences.traits,
        ),
        *every(
            read(
                "/allocation",
                allocations.show_allocation_of_node,
                "allocation:get",
                access.allocation_of_node,
                statuses={NodeNotFound: 400},
            ),
            write(
                "DELETE",
                "/allocation",
                allocations.delete_allocation_of_node,
                "allocation:delete",
                access.allocation_of_node,
            ),
            since=52,
            absent=absences.allocation_of_node,
            hides_path=True,
        ),
        read("/ports", ports.list_ports_of_node, "port:list", access.node_and_list),
        BaremetalRoute(
            "POST",
            "/ports",
            ports.refuse_creation,
            policy="baremetal:port:create",
            guard=access.refusal,
            transaction=None,
        ),
        read("/ports/detail", ports.list_ports_of_node, "port:list", access.node_and_list),
        *every(
            read("/portgroups", portgroups.list_portgroups_of_node, "portgroup:list", access.node_and_list, since=24),
            read(
                "/portgroups/detail",
                portgroups.list_portgroups_of_node,
                "portgroup:list",
                access.node_and_list,
                since=24,
            ),
            read("/bios", bios.list_settings, "node:bios:get", since=40),
            read("/bios/<setting>", bios.show_setting, "node:bios:get", since=40),
            read("/firmware", bios.list_components, "node:firmware:get", since=86),
            read("/children", nodes.list_children, "node:list", access.node_and_list, since=83),
            read("/history", history.list_history, "node:history:get", since=78),
            read("/history/<uuid>", history.show_event, "node:history:get", since=78),
            read("/inventory", inspection_rules.show_inventory, "node:inventory:get", since=81),
            hides_path=True,
        ),
        *every(
            read("/volume/connectors", volume.CONNECTORS.list, "volume:list", access.node_and_list),
            read("/volume/targets", volume.TARGETS.list, "volume:list", access.node_and_list),
            since=32,
            absent=absences.collection,
            hides_path=True,
        ),
    )
)

NODE_ROUTES = (
    read("/v1/nodes", nodes.list_nodes, "node:list", access.lists),
    write("POST", "/v1/nodes", nodes.create_node, "node:create", field_rules.new_node, statuses=RECODED),
    read("/v1/nodes/detail", nodes.list_nodes, "node:list", access.lists),
    *_BELOW_NODES,
    read("/v1/nodes/validate", provision.validate_named_node, "node:validate", access.named_node),
    read("/v1/ports", ports.list_ports, "port:list", access.lists),
    write("POST", "/v1/ports", ports.PORTS.create, "port:create", access.on_node("node_uuid", "node_ident")),
    read("/v1/ports/detail", ports.list_ports, "port:list", access.lists),
    read("/v1/ports/<ident>", ports.PORTS.show, "port:get", access.port),
    patch("/v1/ports/<ident>", ports.PORTS.update, "port:update", access.port),
    write("DELETE", "/v1/ports/<ident>", ports.PORTS.delete, "port:delete", access.port),
    *every(
        read("/v1/portgroups", portgroups.list_portgroups, "portgroup:list", access.lists, since=23),
        write(
            "POST",
            "/v1/portgroups",
            portgroups.PORTGROUPS.create,
            "portgroup:create",
            access.on_node("node_uuid"),
            since=23,
        ),
        read("/v1/portgroups/detail", portgroups.list_portgroups, "portgroup:list", access.lists, since=23),
        read("/v1/portgroups/<ident>", portgroups.PORTGROUPS.show, "portgroup:get", access.portgroup, since=23),
        patch("/v1/portgroups/<ident>", portgroups.PORTGROUPS.update, "portgroup:update", access.portgroup, since=23),
        write(
            "DELETE",
            "/v1/portgroups/<ident>",
            portgroups.PORTGROUPS.delete,
            "portgroup:delete",
            access.portgroup,
            since=23,
        ),
        read(
            "/v1/portgroups/<ident>/ports",
            ports.list_ports_of_portgroup,
            "port:list",
            access.portgroup_and_list,
            since=24,
        ),
        BaremetalRoute(
            "POST",
            "/v1/portgroups/<ident>/ports",
            ports.refuse_creation,
            policy="baremetal:port:create",
            guard=access.refusal,
            since=24,
            transaction=None,
        ),
        read(
            "/v1/portgroups/<ident>/ports/detail",
            ports.list_ports_of_portgroup,
            "port:list",
            access.portgroup_and_list,
            since=24,
        ),
        absent=absences.collection,
        hides_path=True,
    ),
    *every(
        read("/v1/nodes/<ident>/volume", volume.show_volume_of_node, "volume:get", since=32),
        read("/v1/volume", volume.show_volume, "volume:get", since=32, transaction=None),
        absent=absences.collection,
        hides_path=True,
    ),
    *every(
        read("/v1/volume/connectors", volume.CONNECTORS.list, "volume:list", access.lists, since=32),
        write(
            "POST",
            "/v1/volume/connectors",
            volume.CONNECTORS.create,
            "volume:create",
            access.on_node("node_uuid"),
            since=32,
        ),
        read("/v1/volume/connectors/<uuid>", volume.CONNECTORS.show, "volume:get", access.connector, since=32),
        patch("/v1/volume/connectors/<uuid>", volume.CONNECTORS.update, "volume:update", access.connector, since=32),
        write(
            "DELETE",
            "/v1/volume/connectors/<uuid>",
            volume.CONNECTORS.delete,
            "volume:delete",
            access.connector,
            since=32,
        ),
        read("/v1/volume/targets", volume.TARGETS.list, "volume:list", access.lists, since=32),
        write(
            "POST",
            "/v1/volume/targets",
            volume.TARGETS.create,
            "volume:create",
            access.on_node("node_uuid"),
            since=32,
        ),
        read("/v1/volume/targets/<uuid>", volume.TARGETS.show, "volume:get", access.target, since=32),
        patch("/v1/volume/targets/<uuid>", volume.TARGETS.update, "volume:update", access.target, since=32),
        write("DELETE", "/v1/volume/targets/<uuid>", volume.TARGETS.delete, "volume:delete", access.target, since=32),
        hides_path=True,
    ),
)
