"""Fills the database of an Ironic: ``PYTHON fill_ironic.py SETTINGS``, with a Python that has Ironic.

Everything is made by Ironic's own objects, so that rows have its versions; states that nodes are in only for a moment
are set like any other. With ``answer`` after the settings it fills nothing, and answers requests, without a
conductor: see ``in_process``. Standard library and Ironic only.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
try:
    import oslo_service.backend

    oslo_service.backend.init_backend(oslo_service.backend.BackendType.THREADING)
except ImportError:
    pass

sys.path.insert(0, str(Path(__file__).parent))

import in_process  # noqa: E402
from ironic.common import service, states  # noqa: E402
from moving_nodes import (  # noqa: E402
    NODES,
    STATES,
    class_of,
    instance_of,
    name_of,
    node_values,
    state_of,
    traits_of,
)

#: States in which a conductor has the node, and steps that are going on.
BUSY = {
    states.DEPLOYING: "deploy_step",
    states.CLEANING: "clean_step",
    states.SERVICING: "service_step",
    states.VERIFYING: None,
}


def fill() -> None:
    """Fill the database."""
    from ironic import objects
    from ironic.common import context
    from ironic.db import api as db_api

    objects.register_all()
    database, admin = db_api.get_instance(), context.get_admin_context()
    host = database.register_conductor({"hostname": "old-1", "drivers": ["fake-hardware"], "conductor_group": ""})
    fill_lists(objects, admin)
    for number in range(NODES):
        fill_node(objects, admin, number, host.id)
    fill_allocations(objects, admin, host.id)
    database.register_conductor_hardware_interfaces(
        host.id,
        [
            {
                "hardware_type": "fake-hardware",
                "interface_type": "boot",
                "interface_name": "fake",
                "default": True,
            }
        ],
    )


def fill_lists(objects: Any, admin: Any) -> None:
    """Chassis, deploy templates, runbooks and inspection rules."""
    for number in range(3):
        values = {"uuid": name_of("chassis", number), "description": f"Chassis {number}", "extra": {"row": number}}
        objects.Chassis(admin, **values).create()
        step = {"interface": "deploy", "step": "write", "args": {"password": "of a step"}, "priority": 10 + number}
        objects.DeployTemplate(
            admin, uuid=name_of("template", number), name=f"CUSTOM_T{number}", steps=[step], extra={"n": number}
        ).create()
        step = {"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}
        fields = {"uuid": name_of("runbook", number), "name": f"CUSTOM_RUN{number}", "steps": [step], "extra": {"n": 1}}
        fields |= {"public": False, "owner": f"project-{number}", "disable_ramdisk": False}
        if "description" in objects.Runbook.fields:
            fields["description"] = "A runbook"
        runbook = objects.Runbook(admin, **fields)
        runbook.create()
        if hasattr(objects, "RunbookTrait"):
            objects.RunbookTrait(admin, runbook_id=runbook.id, trait=f"CUSTOM_RUN{number}").create()
        action = {"op": "set-attribute", "args": {"path": "/extra/x", "value": number}}
        fields = {"uuid": name_of("rule", number), "description": "A rule", "phase": "main", "priority": number}
        fields |= {
            "sensitive": number == 1,
            "conditions": [{"op": "is-true", "args": {"value": "{node.automated_clean}"}}],
        }
        objects.InspectionRule(admin, **fields, actions=[action], **({"scope": "any"} if number else {})).create()


def fill_node(objects: Any, admin: Any, number: int, host: int) -> None:
    """A node, and what belongs to it."""
    values = node_values(number)
    if number % 8 == 0:
        values["chassis_id"] = 1 + number % 3
    if number % 30 == 29:
        values["parent_node"] = name_of("node", number - 1)
        values["owner"] = node_values(number - 1)["owner"]
    step = BUSY.get(values["provision_state"], "")
    if step != "":
        values["reservation"] = "old-1"
    if step:
        values[step] = {"interface": "deploy", "step": "x", "args": {"password": "of a step"}, "priority": 1}
    if values["provision_state"] in (states.ACTIVE, states.RESCUE):
        values["conductor_affinity"] = host
    if number == 33:
        values |= {"target_power_state": states.POWER_OFF, "reservation": "old-1"}
    node = objects.Node(admin, **values)
    node.create()
    objects.TraitList.create(admin, node.id, traits_of(number))
    fill_network(objects, admin, number, node.id)
    fill_findings(objects, admin, number, node.id)
    node.extra = {**node.extra, "changed": True}
    node.save()


def fill_network(objects: Any, admin: Any, number: int, node_id: int) -> None:
    """Ports, portgroups and volumes."""
    group = None
    if number % 4 == 0:
        group = objects.Portgroup(
            admin,
            uuid=name_of("portgroup", number),
            node_id=node_id,
            name=f"group-{number}",
            address=f"52:54:01:00:00:{number:02x}",
            mode="802.3ad",
            properties={"miimon": 100},
            extra={"n": number},
            internal_info={"x": 1},
            physical_network="physnet0",
            category="storage",
            dynamic_portgroup=number % 8 == 0,
        )
        group.create()
    for place in range(2):
        objects.Port(
            admin,
            uuid=name_of("port", 2 * number + place),
            node_id=node_id,
            address=f"52:54:00:00:{place:02x}:{number:02x}",
            name=f"port-{number}-{place}",
            portgroup_id=group.id if group and place else None,
            local_link_connection={"switch_id": "0a:1b:2c:3d:4e:5f", "port_id": "Eth1", "switch_info": "s"},
            extra={"vif": place},
            internal_info={"tenant_vif_port_id": name_of("vif", number)} if instance_of(number) else {},
            pxe_enabled=place == 0,
            physical_network="physnet0",
            is_smartnic=False,
            description="A port",
            vendor="acme",
            category="storage",
            available_for_dynamic_portgroup=place == 1,
        ).create()
    if number % 6 == 0:
        connector = f"iqn.2026-05.org.example:{number}"
        objects.VolumeConnector(
            admin,
            uuid=name_of("connector", number),
            node_id=node_id,
            type="iqn",
            connector_id=connector,
            extra={"a": 1},
        ).create()
        objects.VolumeTarget(
            admin,
            uuid=name_of("target", number),
            node_id=node_id,
            volume_type="iscsi",
            properties={"auth_password": "of a volume"},
            boot_index=0,
            volume_id=name_of("volume", number),
            extra={"b": 2},
        ).create()


def fill_findings(objects: Any, admin: Any, number: int, node_id: int) -> None:
    """BIOS settings, firmware, inventories and history."""
    if number % 5 == 0:
        settings = [
            {"name": "boot_order", "value": "a,b", "attribute_type": "Enumeration", "allowable_values": ["a", "b"]},
            {"name": "admin_password", "value": "of the bios", "attribute_type": "Password"},
            {"name": "n", "value": "3", "lower_bound": 0, "upper_bound": 10, "min_length": 1, "max_length": 9},
        ]
        more = {"read_only": False, "reset_required": True, "unique": False}
        objects.BIOSSettingList.create(admin, node_id, [setting | more for setting in settings])
        fields = {"component": "bmc", "initial_version": "1.0", "current_version": "1.1", "last_version_flashed": "1.1"}
        if "vendor" in objects.FirmwareComponent.fields:
            fields |= {"vendor": "acme", "model": "m1", "serial_number": "s1"}
        objects.FirmwareComponent(admin, node_id=node_id, **fields).create()
        data = {"memory": {"physical_mb": 1024}, "bmc_address": "10.0.0.1"}
        objects.NodeInventory(admin, node_id=node_id, inventory_data=data, plugin_data={"x": [1]}).create()
    for place in range(number % 3):
        fields = {"event": f"Event {place}", "event_type": "provision", "severity": "INFO", "conductor": "old-1"}
        fields |= {"user": "someone", "uuid": name_of("event", 3 * number + place)}
        more = {"project": "project-1", "state": "active", "target_provision_state": "active", "duration_seconds": 7}
        fields |= {name: value for name, value in more.items() if name in objects.NodeHistory.fields}
        objects.NodeHistory(admin, node_id=node_id, **fields).create()


def fill_allocations(objects: Any, admin: Any, host: int) -> None:
    """Allocations: active ones of nodes that Nova does not use, one that failed, and one that waits."""
    free = [n for n in range(NODES) if state_of(n) == states.AVAILABLE and n >= 2 * len(STATES)][:3]
    for place, number in enumerate(free):
        own = name_of("allocation", place)
        allocation = objects.Allocation(
            admin,
            uuid=own,
            name=f"allocation-{place}",
            state="allocating",
            resource_class=class_of(number),
            traits=traits_of(number)[:1],
            candidate_nodes=[name_of("node", number)],
            owner="project-1",
            extra={"a": place},
            conductor_affinity=host,
        )
        allocation.create()
        allocation.node_id = objects.Node.get_by_uuid(admin, name_of("node", number)).id
        allocation.state = "active"
        allocation.save()
    for place, state in ((10, "error"), (11, "allocating")):
        objects.Allocation(
            admin, uuid=name_of("allocation", place), state=state, resource_class="gold", last_error="Too late"
        ).create()


def main() -> None:
    service.prepare_service("ironic", ["ironic", "--config-file", sys.argv[1]])
    if "answer" in sys.argv:
        from ironic.api import app

        in_process.answer_all(app.VersionSelectorApplication())
        return
    fill()


if __name__ == "__main__":
    main()
