"""Extra specs ``hw:*`` and ``os:*`` as conditions of placement, for the ones in Nova's test vectors.

The API refuses these extra specs, because no bare metal node satisfies them. They are here so that requests can be
compared with Nova's.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import os_resource_classes as orc
import os_traits


@dataclass
class Conditions:
    """What is asked for: amounts by class, traits required and traits forbidden."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


def pinning(vcpus: int, extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> Conditions:
    """Return what CPU and thread policies ask for: PCPU instead of VCPU, and hyperthreading or its absence."""
    conditions = Conditions()
    if _setting("cpu_policy", extra_specs, image_properties) == "dedicated":
        emulator = extra_specs.get("hw:emulator_threads_policy") == "isolate"
        conditions.resources[orc.PCPU] = vcpus + emulator
    match _setting("cpu_thread_policy", extra_specs, image_properties):
        case "require":
            conditions.required.add(os_traits.HW_CPU_HYPERTHREADING)
        case "isolate":
            conditions.forbidden.add(os_traits.HW_CPU_HYPERTHREADING)
    return conditions


def devices(extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> Conditions:
    """Return what persistent memory, TPM, PCI affinity and secure boot ask for."""
    conditions = Conditions()
    labels = filter(None, (label.strip() for label in extra_specs.get("hw:pmem", "").split(",")))
    conditions.resources = dict(Counter(orc.normalize_name(f"PMEM_NAMESPACE_{label}") for label in labels))
    if version := _setting("tpm_version", extra_specs, image_properties):
        conditions.required.add(
            os_traits.COMPUTE_SECURITY_TPM_1_2 if version == "1.2" else os_traits.COMPUTE_SECURITY_TPM_2_0
        )
        model = _setting("tpm_model", extra_specs, image_properties)
        conditions.required.add(
            os_traits.COMPUTE_SECURITY_TPM_CRB if model == "tpm-crb" else os_traits.COMPUTE_SECURITY_TPM_TIS
        )
    if _setting("pci_numa_affinity_policy", extra_specs, image_properties) == "socket":
        conditions.required.add(os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY)
    if (extra_specs.get("os:secure_boot") or image_properties.get("os_secure_boot")) == "required":
        conditions.required.add(os_traits.COMPUTE_SECURITY_UEFI_SECURE_BOOT)
    return conditions


def _setting(name: str, extra_specs: Mapping[str, str], image_properties: Mapping[str, str]) -> str | None:
    """The flavor's value, or else that of the image."""
    return extra_specs.get(f"hw:{name}") or image_properties.get(f"hw_{name}")
