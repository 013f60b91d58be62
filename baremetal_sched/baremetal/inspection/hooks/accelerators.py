"""``accelerators``: which of the PCI devices of a machine are accelerators."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml

from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.db.types import dump_json
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: What is said of accelerators, by the ids of vendor and device.
Known = Mapping[tuple[str, str], Mapping[str, Any]]

_PROPERTY = "accelerators"
_NVIDIA = "10de"
#: The accelerators that Ironic knows without a file.
_GPUS = {"1df6": "GV100GL", "1eb8": "Tesla T4", "2235": "A40", "2236": "A10", "26b9": "L40S", "26ba": "L20"}
_BUILT_IN: Known = {
    (_NVIDIA, device_id): {
        "vendor_id": _NVIDIA,
        "device_id": device_id,
        "type": "GPU",
        "device_info": f"NVIDIA Corporation {model}",
    }
    for device_id, model in _GPUS.items()
}


def list_accelerators(subject: Subject, settings: Settings) -> None:
    """``accelerators`` in the properties: what is known of each, and its ``pci_address``.

    Nothing is done if the agent has not looked for PCI devices.
    """
    devices = subject.plugin_data.get("pci_devices") or subject.inventory.get("pci_devices")
    if not isinstance(devices, list) or not devices:
        log.info("PCI devices are not known", node=subject.read_only.get("uuid"))
        return
    known = known_accelerators(settings)
    subject.node["properties"][_PROPERTY] = [
        {**accelerator, "pci_address": device.get("bus")}
        for device in devices
        if isinstance(device, dict) and (accelerator := known.get(_ids(device, "product_id")))
    ]


def known_accelerators(settings: Settings) -> Known:
    """What ``[inspector] known_accelerators`` says. Raises InvalidValue."""
    path = settings.inspector.known_accelerators
    return _BUILT_IN if path is None else _load(path)


@lru_cache(maxsize=8)
def _load(path: str) -> Known:
    """Read once: a change of the file counts from the next start on."""
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        devices = document["pci_devices"]
        if not all(device["vendor_id"] and device["device_id"] for device in devices):
            raise ValueError("a device lacks vendor_id or device_id")
        # What YAML can say and JSON cannot would be found too late.
        dump_json(devices)
        return {_ids(device, "device_id"): device for device in devices}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise InvalidValue(message=f"[inspector] known_accelerators: {path} cannot be read: {error!r}") from None


def _ids(device: Mapping[str, Any], name: str) -> tuple[str, str]:
    return str(device.get("vendor_id")).lower(), str(device.get(name)).lower()
