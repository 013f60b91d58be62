"""The agent on an emulated machine: ironic-python-agent, with one hardware manager, which knows one disk of the test.

``agent.py SETTINGS CONFIG``; SETTINGS is a JSON file with what ``machines.py`` says of the machine. It runs in an
environment of its own that has ironic-python-agent, and does nothing unless the sandbox holds.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.agents import isolation

SETTINGS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
_FLAWS = isolation.flaws(SETTINGS["outside"], SETTINGS["disks"], Path(os.environ["PATH"]))
if _FLAWS:
    raise SystemExit(f"No agent is started here: {'; '.join(_FLAWS)}")

from ironic_python_agent import agent, hardware, partition_utils, tls_utils, utils  # noqa: E402 - only if it is safe
from ironic_python_agent.extensions import standby  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_log import log  # noqa: E402

DISK: str = SETTINGS["disk"]
RUN = Path(SETTINGS["folder"])


class OneDisk(hardware.GenericHardwareManager):
    """All that is known of the machine is what the test says. Steps are those of the generic manager, and two more."""

    HARDWARE_MANAGER_NAME = "one_disk"
    HARDWARE_MANAGER_VERSION = "1"

    def evaluate_hardware_support(self) -> int:
        return hardware.HardwareSupport.SERVICE_PROVIDER

    def initialize(self) -> None:
        """Load no module, assemble no array, and wait for no disk."""

    def get_clean_steps(self, node: Any, ports: Any) -> list[dict[str, Any]]:
        common = {"interface": "deploy", "priority": 0, "abortable": True}
        return [
            *super().get_clean_steps(node, ports),
            {**common, "step": "pause", "reboot_requested": False},
            {**common, "step": "flash", "reboot_requested": True},
        ]

    def pause(self, node: Any, ports: Any, seconds: float) -> None:
        """Take a while."""
        time.sleep(seconds)

    def flash(self, node: Any, ports: Any) -> str:
        """Do something that needs a reboot."""
        return "flashed"

    def list_network_interfaces(self) -> list[Any]:
        return [hardware.NetworkInterface("eth0", SETTINGS["mac"], ipv4_address=SETTINGS["address"])]

    def list_block_devices(self, include_partitions: bool = False, **_: Any) -> list[Any]:
        names = [DISK]
        if include_partitions:
            names += sorted(str(path) for path in Path(DISK).parent.glob(f"{Path(DISK).name}p*"))
        return [hardware.BlockDevice(name, "emulated", _size(name), False, serial=Path(name).name) for name in names]

    def get_os_install_device(self, permit_refresh: bool = False) -> str:
        found: str = super().get_os_install_device(permit_refresh)
        if found != DISK:
            raise AssertionError(f"{found} is not the disk of the test")
        return found

    def get_boot_info(self) -> Any:
        return hardware.BootInfo(SETTINGS["boot_mode"])

    def list_hardware_info(self) -> dict[str, Any]:
        return {
            "interfaces": self.list_network_interfaces(),
            "disks": self.list_block_devices(),
            "cpu": self.get_cpus(),
            "memory": self.get_memory(),
            "boot": self.get_boot_info(),
            "system_vendor": self.get_system_vendor_info(),
            "bmc_address": None,
            "bmc_v6address": None,
            "hostname": SETTINGS["name"],
        }

    def get_cpus(self) -> Any:
        return hardware.CPU("emulated", 1000, 1, "x86_64")

    def get_memory(self) -> Any:
        return hardware.Memory(2**30, 1024)

    def get_system_vendor_info(self) -> Any:
        return hardware.SystemVendorInfo("emulated", "1", "tests", None)

    def get_usb_devices(self) -> list[Any]:
        return []

    def get_bmc_address(self) -> None:
        return None

    get_bmc_v6address = get_bmc_mac = get_bmc_address

    def any_ipmi_device_exists(self) -> bool:
        return False

    def collect_system_logs(self, io_dict: Any, file_list: Any) -> None:
        """Collect nothing: it would be of this machine."""

    def generate_tls_certificate(self, ip_address: str) -> Any:
        """In a folder of this agent."""
        paths = [str(RUN / name) for name in ("agent.crt", "agent.key")]
        text = tls_utils._generate_tls_certificate(*paths, SETTINGS["name"], ip_address)
        return tls_utils.TlsCertificate(text, *paths)


def _size(name: str) -> int:
    return int(subprocess.run(["blockdev", "--getsize64", name], check=True, capture_output=True).stdout)


def _switch_off(extension: Any, command: str) -> None:
    """What ends the machine is the emulated controller; there is no other way to do it here."""
    if command != "poweroff":
        raise AssertionError(f"{command} is not for this machine")
    hardware.dispatch_to_all_managers("full_sync")
    utils.execute("poweroff")


def _is_iso(partition: str) -> bool:
    """The kernel may not know ISO 9660, and nothing is mounted here."""
    return bool(utils.execute("blkid", "-p", "-o", "value", "-s", "TYPE", partition)[0].strip() == "iso9660")


def main() -> None:
    """Run the agent, which ends with the machine."""
    standby.StandbyExtension._run_shutdown_command = _switch_off
    standby.StandbyExtension._sync_clock = lambda *_, **__: None
    utils.sync_clock = lambda *_, **__: None
    agent.IronicPythonAgent._lockdown_system = lambda self: None
    partition_utils._does_config_drive_work = _is_iso
    manager = OneDisk()
    support = manager.evaluate_hardware_support()
    hardware._global_managers = [{"name": "OneDisk", "manager": manager, "support": support}]
    log.register_options(cfg.CONF)
    cfg.CONF(["--config-file", sys.argv[2]])
    log.setup(cfg.CONF, "ironic-python-agent")
    agent.IronicPythonAgent.from_config(cfg.CONF).run()


if __name__ == "__main__":
    main()
