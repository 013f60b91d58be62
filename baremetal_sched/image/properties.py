"""Properties of images that say which nodes an image fits: which are accepted.

Of these Nova reads ``trait:NAME=required`` and ignores the rest; here the rest is refused. Properties that have nothing
to do with the choice of a node are not looked at.
"""

import re
from collections.abc import Mapping

from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.nodes import traits
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
            raise InvalidImageProperty(key=key, reason=traits.complaint(name))
        if value != "required":
            raise InvalidImageProperty(key=key, reason=f"its value has to be required, not '{value}'. {_FORM}")
    elif key == "traits_required" or _REQUEST.match(key):
        raise InvalidImageProperty(key=key, reason=f"it is not understood. {_FORM}")
