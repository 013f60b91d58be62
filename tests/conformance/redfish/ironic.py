"""A real Ironic with its own Redfish driver, in a process of a Python that has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.baremetal.original import SETTINGS
from tests.originals import served_ironic

_INTERFACES = {
    "bios": "redfish,no-bios,fake",
    "boot": "redfish-virtual-media,fake",
    "deploy": "ramdisk,direct,fake",
    "firmware": "redfish,no-firmware,fake",
    "inspect": "redfish,no-inspect,fake",
    "management": "redfish,fake",
    "power": "redfish,fake",
    "raid": "no-raid,fake",
    "rescue": "no-rescue,fake",
    "vendor": "redfish,no-vendor,fake",
}
#: Nothing is waited for longer than these tests can wait.
_REDFISH = """
[redfish]
connection_attempts = 1
connection_retry_interval = 1
firmware_update_status_interval = 1
firmware_update_fail_interval = 1
boot_mode_config_timeout = 5

[agent]
post_deploy_get_power_state_retry_interval = 1
require_tls = false
"""


@contextmanager
def ironic(python: str, folder: Path, images: str) -> Iterator[str]:
    """Run Ironic over a SQLite file, and yield its URL. It copies images to ``folder``, and tells controllers that they
    are at ``images``, where any path is answered."""
    for name in ("http", "images", "tftp"):
        (folder / name).mkdir(parents=True)
    settings = folder / "ironic.conf"
    settings.write_text(_settings(folder, images))
    with served_ironic(python, settings) as url:
        yield url


def _settings(folder: Path, images: str) -> str:
    text = SETTINGS.format(folder=folder, connection=f"sqlite:///{folder}/ironic.sqlite?timeout=60")
    text = text.replace("enabled_hardware_types = fake-hardware", "enabled_hardware_types = redfish,fake-hardware")
    for kind, names in _INTERFACES.items():
        text = text.replace(f"enabled_{kind}_interfaces = fake", f"enabled_{kind}_interfaces = {names}")
    text = text.replace("enabled_console_interfaces = fake", "enabled_console_interfaces = no-console,fake")
    conductor = "heartbeat_timeout = 600\npower_state_change_timeout = 20\nsoft_power_off_timeout = 10"
    text = text.replace("[conductor]", f"[conductor]\n{conductor}")
    text = text.replace("[deploy]", f"[deploy]\nhttp_url = {images}\nerase_devices_priority = 0")
    return text + _REDFISH
