"""The hooks by name, the enabled ones, and how they are run.

Names, order and options are Ironic's (``[inspector]``).
"""

from collections.abc import Mapping, Sequence

import structlog

from baremetal_sched.baremetal.inspection.hooks import disks, hardware, hook, lldp, lldp_details, ports
from baremetal_sched.baremetal.inspection.hooks.hook import Hook, HookFailed
from baremetal_sched.baremetal.inspection.rules.limits import RuleFailed
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

_VALIDATE = "validate-interfaces"

HOOKS: Mapping[str, Hook] = {
    "accelerators": Hook(apply=hardware.list_accelerators),
    "architecture": Hook(apply=hardware.set_architecture),
    "boot-mode": Hook(apply=hardware.set_boot_mode),
    "cpu-capabilities": Hook(apply=hardware.set_cpu_capabilities),
    "cpus": Hook(apply=hardware.set_cpus),
    "extra-hardware": Hook(apply=hardware.arrange),
    "local-link-connection": Hook(apply=lldp.set_links, needs=(_VALIDATE,)),
    "memory": Hook(apply=hardware.set_memory),
    "parse-lldp": Hook(apply=lldp_details.parse),
    "pci-devices": Hook(apply=hardware.count_pci_devices),
    "physical-network": Hook(apply=ports.set_physical_networks, needs=(_VALIDATE,)),
    "ports": Hook(apply=ports.settle, needs=(_VALIDATE,)),
    "raid-device": Hook(apply=disks.remember_new_device),
    "ramdisk-error": Hook(prepare=hook.require_no_error),
    "root-device": Hook(apply=disks.find_root_device),
    _VALIDATE: Hook(prepare=ports.validate),
}


def enabled(settings: Settings) -> Sequence[str]:
    """Return the names in ``[inspector] hooks``. Raises InvalidValue for unknown names and missing predecessors."""
    return named(settings.inspector.hooks, "[inspector] hooks")


def named(text: str, option: str) -> Sequence[str]:
    """Return the names in the value of an option. Raises InvalidValue like ``enabled``."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for position, name in enumerate(names):
        if name not in HOOKS:
            raise InvalidValue(message=f"{option}: unknown hook {name!r}. Hooks are: {', '.join(sorted(HOOKS))}.")
        missing = [needed for needed in HOOKS[name].needs if needed not in names[:position]]
        if missing:
            raise InvalidValue(message=f"{option}: {name} needs {', '.join(missing)} before it.")
    return names


def check(settings: Settings) -> None:
    """Raise InvalidValue if hooks could not run with these settings."""
    enabled(settings)
    named(settings.redfish.inspection_hooks, "[redfish] inspection_hooks")
    hardware.known_accelerators(settings)
    hardware.pci_device_names(settings)
    ports.physical_networks(settings)


def run(names: Sequence[str], subject: Subject, settings: Settings) -> None:
    """Let the hooks with these names look at the subject, then let each change it, in order.

    Raises HookFailed, naming the hook, with all complaints if there are several about what was found. Then the subject
    is to be forgotten.
    """
    complaints = []
    for name in names:
        try:
            HOOKS[name].prepare(subject, settings)
        except HookFailed as error:
            complaints.append(f"{error} (inspection hook {name})")
    if complaints:
        raise HookFailed(message="; ".join(complaints))
    for name in names:
        log.debug("running an inspection hook", hook=name, node=subject.read_only.get("uuid"))
        try:
            HOOKS[name].apply(subject, settings)
        except (HookFailed, RuleFailed) as error:
            raise HookFailed(message=f"{error} (inspection hook {name})") from None
