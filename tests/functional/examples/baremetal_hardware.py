"""Bare metal: what is on a machine, and the agent that runs there."""

from typing import Any

from baremetal_sched.drivers.fake.hardware import FakeManagement
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from tests.functional.examples.baremetal_nodes import NODE, provision
from tests.functional.examples.storyteller import Storyteller

MAC = "52:54:00:12:34:56"
AGENT = "rack2-01"
MEDIUM = {"media_types": ["CD", "DVD"], "inserted": True, "image": "https://images.example.org/rescue.iso"}


class Controller(FakeManagement):
    """A management controller that can do what the fake one cannot."""

    def set_boot_mode(self, machine: Machine, mode: str) -> Effect:
        return Effect(fields={"boot_mode": mode})

    def set_secure_boot(self, machine: Machine, enabled: bool) -> Effect:
        return Effect(fields={"secure_boot": enabled})

    def inject_nmi(self, machine: Machine) -> None:
        pass

    def set_indicator_state(self, machine: Machine, component: str, indicator: str, state: str) -> Effect:
        return NOTHING

    def get_virtual_media(self, machine: Machine) -> list[dict[str, Any]]:
        return [MEDIUM]


def tell(teller: Storyteller) -> None:
    """Look at the hardware of the node of the story before, and let an agent inspect and deploy another one."""
    _manage(teller)
    _attach(teller)
    _configure(teller)
    _inspect_and_deploy(teller)


def _manage(teller: Storyteller) -> None:
    management = "/v1/nodes/{ident}/management"
    teller.ask("GET", f"{management}/boot_device", ident=NODE)
    teller.ask("PUT", f"{management}/boot_device", {"boot_device": "pxe", "persistent": True}, ident=NODE)
    teller.work()
    teller.ask("GET", f"{management}/boot_device/supported", ident=NODE)
    teller.ask("GET", f"{management}/indicators", ident=NODE)
    teller.ask("GET", f"{management}/indicators/{{indicator}}", ident=NODE, indicator="led@system")
    switched = {"ident": NODE, "indicator": "led@system"}
    teller.ask("PUT", f"{management}/indicators/{{indicator}}", {"state": "blinking"}, **switched)
    teller.ask("PUT", f"{management}/inject_nmi", {}, ident=NODE)
    passthru = "/v1/nodes/{ident}/vendor_passthru"
    teller.ask("GET", f"{passthru}/methods", ident=NODE)
    teller.ask("POST", f"{passthru}/{{method}}", {"bar": "meow"}, ident=NODE, method="third_method_sync")


def _attach(teller: Storyteller) -> None:
    interface = "5a3a1e2c-9a4e-4d0f-9d3e-0d2f7a9b6c11"
    teller.ask("POST", "/v1/nodes/{ident}/vifs", {"id": interface}, ident=NODE)
    teller.ask("GET", "/v1/nodes/{ident}/vifs", ident=NODE)
    teller.ask("DELETE", "/v1/nodes/{ident}/vifs/{vif}", ident=NODE, vif=interface)
    body = {"device_type": "cdrom", "image_url": "https://images.example.org/rescue.iso"}
    teller.ask("POST", "/v1/nodes/{ident}/vmedia", body, ident=NODE)
    teller.work()
    teller.ask("GET", "/v1/nodes/{ident}/vmedia", ident=NODE)
    teller.ask("DELETE", "/v1/nodes/{ident}/vmedia", query="device_types=cdrom", ident=NODE)
    teller.work()


def _configure(teller: Storyteller) -> None:
    settings = [{"name": "ProcVirtualization", "value": "Enabled"}, {"name": "BootMode", "value": "Uefi"}]
    firmware = [{"component": "bmc", "url": "https://firmware.example.org/bmc-2.1.bin"}]
    provision(teller, NODE, "manage")
    steps = [
        {"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}},
        {"interface": "firmware", "step": "update", "args": {"settings": firmware}},
    ]
    provision(teller, NODE, "clean", clean_steps=steps)
    teller.ask("GET", "/v1/nodes/{ident}/bios", ident=NODE)
    teller.ask("GET", "/v1/nodes/{ident}/bios/{setting}", ident=NODE, setting="BootMode")
    teller.ask("GET", "/v1/nodes/{ident}/firmware", ident=NODE)


def _inspect_and_deploy(teller: Storyteller) -> None:
    interfaces = {"deploy_interface": "direct", "inspect_interface": "agent"}
    body = {"name": AGENT, "driver": "fake-hardware", "resource_class": "silver", **interfaces}
    node = teller.prepare("POST", "/v1/nodes", body)["uuid"]
    teller.prepare("POST", "/v1/ports", {"node_uuid": node, "address": MAC})
    provision(teller, AGENT, "manage")
    provision(teller, AGENT, "inspect")
    found = {
        "inventory": {
            "interfaces": [{"name": "eno1", "mac_address": MAC, "has_carrier": True}],
            "cpu": {"architecture": "x86_64", "count": 64},
            "memory": {"physical_mb": 262144},
            "disks": [{"name": "/dev/nvme0n1", "size": 960197124096}],
        }
    }
    teller.ask("POST", "/v1/continue_inspection", found, status=202)
    teller.work()
    teller.ask("GET", "/v1/nodes/{ident}/inventory", sort_keys=True, ident=AGENT)
    image = {"image_source": "https://images.example.org/debian.raw", "image_checksum": "0" * 64}
    teller.prepare("PATCH", f"/v1/nodes/{AGENT}", [{"op": "add", "path": "/instance_info", "value": image}])
    teller.service.set_columns(node, provision_state="available")
    provision(teller, AGENT, "active")
    config = teller.ask("GET", "/v1/lookup", query=f"addresses={MAC}")["config"]
    beat = {"callback_url": "http://192.0.2.31:9999", "agent_token": config["agent_token"], "agent_version": "11.0"}
    teller.ask("POST", "/v1/heartbeat/{ident}", beat, status=202, ident=AGENT)
    teller.work()
