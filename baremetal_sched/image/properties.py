"""Properties of images: which are accepted, and which values Nova accepts for its typed ones.

Of the properties that say which nodes an image fits, Nova reads ``trait:NAME=required`` and ignores the rest; here the
rest is refused, for every image. Typed properties are about virtual machines and mean nothing here. Images may have any
values of them, but a server that Nova refuses to build is not built here either.
"""

import re
from collections.abc import Mapping

from baremetal_sched.baremetal.schemas.traits import complaint, is_trait
from baremetal_sched.errors.image import InvalidImageProperty

#: Properties that Nova turns into conditions which no bare metal node meets.
REFUSED = (
    "hw_cpu_policy",
    "hw_cpu_thread_policy",
    "hw_ephemeral_encryption",
    "hw_ephemeral_encryption_format",
    "hw_firmware_stateless",
    "hw_maxphysaddr_bits",
    "hw_maxphysaddr_mode",
    "hw_mem_encryption",
    "hw_mem_encryption_model",
    "hw_pci_numa_affinity_policy",
    "hw_sound_model",
    "hw_tpm_model",
    "hw_tpm_version",
    "hw_virtio_packed_ring",
    "os_secure_boot",
)

_TRAIT = "trait:"
_REQUEST = re.compile(r"\s*(resource|trait)[^:]*:", re.IGNORECASE)
_FORM = "Write trait:NAME=required; resources and forbidden traits belong to the flavor."


def check(properties: Mapping[str, str]) -> None:
    """Check all properties of an image. Raises InvalidImageProperty for the first that is refused."""
    for key, value in properties.items():
        check_one(key, value)


def check_one(key: str, value: str) -> None:
    """Check a property by itself. Raises InvalidImageProperty."""
    if key in REFUSED:
        raise InvalidImageProperty(
            key=key, reason="it describes a virtual machine. Require a trait of the node instead (trait:NAME=required)."
        )
    if key.startswith(_TRAIT):
        name = key.removeprefix(_TRAIT)
        if not is_trait(name):
            raise InvalidImageProperty(key=key, reason=complaint(name))
        if value != "required":
            raise InvalidImageProperty(key=key, reason=f"its value must be required, not '{value}'. {_FORM}")
    elif key == "traits_required" or _REQUEST.match(key):
        raise InvalidImageProperty(key=key, reason=f"it is not understood. {_FORM}")


# -- values that Nova gives a type -------------------------------------------------------------------------------------

_DISK_BUSES = ("fdc", "ide", "sata", "scsi", "usb", "virtio", "xen", "lxc", "uml")
#: Properties that have one of these values, as they are written here.
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "hw_cdrom_bus": _DISK_BUSES,
    "hw_disk_bus": _DISK_BUSES,
    "hw_firmware_type": ("uefi", "bios"),
    "hw_floppy_bus": _DISK_BUSES,
    "hw_input_bus": ("usb", "virtio"),
    "hw_pointer_model": ("usbtablet",),
    "hw_rescue_bus": _DISK_BUSES,
    "hw_rescue_device": ("cdrom", "disk", "floppy", "fs", "lun"),
    "hw_rng_model": ("virtio",),
    "hw_usb_model": ("none", "nec-xhci", "qemu-xhci"),
    "hw_video_model": ("cirrus", "qxl", "vga", "vmvga", "xen", "virtio", "gop", "none", "bochs"),
    "hw_viommu_model": ("intel", "smmuv3", "virtio", "auto"),
    "hw_watchdog_action": ("none", "pause", "poweroff", "reset", "disabled"),
    "img_config_drive": ("optional", "mandatory"),
    "img_signature_hash_method": ("SHA-224", "SHA-256", "SHA-384", "SHA-512"),
    "img_signature_key_type": (
        *("DSA", "ECC_SECP384R1", "ECC_SECP521R1", "ECC_SECT409K1", "ECC_SECT409R1", "ECC_SECT571K1"),
        *("ECC_SECT571R1", "RSA-PSS"),
    ),
}
_ARCHITECTURES = (
    *("alpha", "armv6", "armv7l", "armv7b", "aarch64", "cris", "i686", "ia64", "lm32", "m68k", "microblaze"),
    *("microblazeel", "mips", "mipsel", "mips64", "mips64el", "openrisc", "parisc", "parisc64", "ppc", "ppcle"),
    *("ppc64", "ppc64le", "ppcemb", "s390", "s390x", "sh4", "sh4eb", "sparc", "sparc64", "unicore32", "x86_64"),
    *("xtensa", "xtensaeb", "i386", "i486", "i586", "x86_32", "x86_32p", "amd64"),
)
#: The same, in any letter case.
_ONE_OF_FOLDED: Mapping[str, tuple[str, ...]] = {
    "hw_architecture": _ARCHITECTURES,
    "hw_emulation_architecture": _ARCHITECTURES,
    "hw_scsi_model": (
        *("buslogic", "ibmvscsi", "lsilogic", "lsisas1068", "lsisas1078", "virtio-scsi", "vmpvscsi", "lsilogicsas"),
        "paravirtual",
    ),
    "hw_vif_model": (
        *("virtio", "ne2k_pci", "pcnet", "rtl8139", "e1000", "e1000e", "netfront", "spapr-vlan", "lan9118", "sriov"),
        *("vmxnet", "vmxnet3", "igb", "virtuale1000", "virtuale1000e", "virtualpcnet32", "virtualsriovethernetcard"),
        *("virtualvmxnet", "virtualvmxnet3"),
    ),
    "hw_vm_mode": ("hvm", "xen", "uml", "exe", "pv", "hv", "baremetal"),
    "img_hv_type": (
        *("baremetal", "bhyve", "docker", "fake", "hyperv", "ironic", "kqemu", "kvm", "lxc", "lxd", "openvz"),
        *("parallels", "vz", "phyp", "qemu", "test", "uml", "vbox", "vmware", "xen", "zvm", "prsm", "xapi"),
    ),
    "os_type": ("linux", "windows"),
}
_INTEGERS = frozenset(
    {
        *("hw_cpu_cores", "hw_cpu_sockets", "hw_cpu_threads", "hw_cpu_max_cores", "hw_cpu_max_sockets"),
        *("hw_cpu_max_threads", "hw_device_id", "hw_numa_nodes", "hw_redirected_usb_ports", "hw_serial_port_count"),
        *("hw_video_ram", "img_compression_level", "img_version"),
    }
)
#: What the names of early releases are called now.
_FORMER = {
    "architecture": "hw_architecture",
    "hypervisor_type": "img_hv_type",
    "hypervisor_version_requires": "img_hv_requested_version",
    "vm_mode": "hw_vm_mode",
    "vmware_image_version": "img_version",
    "xenapi_device_id": "hw_device_id",
    "xenapi_image_compression_level": "img_compression_level",
}
_VERSIONS = re.compile(r"\s*(<=|>=|<|>|!=|==)\s*\d[\w.+!-]*\s*(,\s*(<=|>=|<|>|!=|==)\s*\d[\w.+!-]*\s*)*")


def check_bootable(properties: Mapping[str, str]) -> None:
    """Check all properties of an image that a server is to have. Raises InvalidImageProperty for the first that is
    refused here, or whose value Nova refuses when a server is created."""
    check(properties)
    for key, value in properties.items():
        reason = _complaint(_FORMER.get(key, key), value)
        if reason:
            raise InvalidImageProperty(key=key, reason=f"{reason} Nova builds no server of such an image.")


def _complaint(key: str, value: str) -> str | None:
    if key in _ONE_OF and value not in _ONE_OF[key]:
        return f"its value must be one of {', '.join(_ONE_OF[key])}, not '{value}'."
    if key in _ONE_OF_FOLDED and value.lower() not in _ONE_OF_FOLDED[key]:
        return f"its value must be one of {', '.join(_ONE_OF_FOLDED[key])}, not '{value}'."
    if key in _INTEGERS and not _is_integer(value):
        return f"its value must be an integer, not '{value}'."
    if key == "img_hv_requested_version" and not _VERSIONS.fullmatch(value):
        return f"its value must be conditions such as '>=2.6', not '{value}'."
    return None


def _is_integer(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True
