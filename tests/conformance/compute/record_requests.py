"""Records what Nova asks placement for, of random flavors and images: ``vectors/recorded_requests_vectors.json``.

Run it with the Python of an environment that has nova 34 (``pip install nova==34.0.0 'SQLAlchemy<2.1'``)::

    python tests/conformance/compute/record_requests.py

Flavors and images that Nova refuses are left out. pytest does not collect it.
"""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nova import conf, objects
from nova.scheduler.utils import ResourceRequest

FILE = Path(__file__).parent / "vectors" / "recorded_requests_vectors.json"
COUNT = 300

SUFFIXES = ("", "", "", "1", "2", "_a", "s", ".1", "x" * 64, "x" * 65)
CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "CUSTOM_B", "GOLD", "", "CUSTOM_")
TRAITS = ("CUSTOM_T", "CUSTOM_U", "HW_CPU_X86_VMX", "", "nonsense", "HW_CPU_HYPERTHREADING")
AMOUNTS = ("0", "1", "2", " 2 ", "+3", "1_0", "-1", "x", "", "007")
TRAIT_VALUES = ("required", "required", "forbidden", "Required", "")
HARDWARE: Mapping[str, Sequence[str]] = {
    "hw:cpu_policy": ("dedicated", "shared"),
    "hw:cpu_thread_policy": ("isolate", "require", "prefer"),
    "hw:emulator_threads_policy": ("isolate", "share"),
    "hw:pci_numa_affinity_policy": ("socket", "legacy", "required"),
    "hw:pmem": ("6GB", "6GB,16-GB", " 6gb, 6GB ,,a"),
    "hw:tpm_model": ("tpm-tis", "tpm-crb"),
    "hw:tpm_version": ("1.2", "2.0"),
    "os:secure_boot": ("required", "optional", "disabled"),
}
OF_IMAGE: Mapping[str, Sequence[str]] = {
    "hw_cpu_policy": ("dedicated", "shared"),
    "hw_cpu_thread_policy": ("isolate", "require", "prefer"),
    "hw_pci_numa_affinity_policy": ("socket", "legacy"),
    "hw_tpm_model": ("tpm-tis", "tpm-crb"),
    "hw_tpm_version": ("1.2", "2.0"),
    "os_secure_boot": ("required", "optional", "disabled"),
}


def one(dice: random.Random) -> dict[str, Any] | None:
    """A random flavor and image with the query that Nova makes of them; None if it refuses them."""
    extra_specs = {}
    for _ in range(dice.randint(0, 5)):
        if dice.random() < 0.5:
            extra_specs[f"resources{dice.choice(SUFFIXES)}:{dice.choice(CLASSES)}"] = dice.choice(AMOUNTS)
        else:
            extra_specs[f"trait{dice.choice(SUFFIXES)}:{dice.choice(TRAITS)}"] = dice.choice(TRAIT_VALUES)
    if dice.random() < 0.2:
        extra_specs["group_policy"] = dice.choice(["none", "isolate", "x"])
    extra_specs |= {key: dice.choice(values) for key, values in HARDWARE.items() if dice.random() < 0.15}
    properties = {key: dice.choice(values) for key, values in OF_IMAGE.items() if dice.random() < 0.1}
    for _ in range(dice.randint(0, 2)):
        properties[f"trait{dice.choice(['', '', '1'])}:{dice.choice(TRAITS)}"] = dice.choice(TRAIT_VALUES)
    amounts = {
        "vcpus": dice.randint(0, 4),
        "memory_mb": dice.choice([0, 1024]),
        "root_gb": dice.randint(0, 3),
        "ephemeral_gb": dice.randint(0, 2),
        "swap": dice.choice([0, 1, 1024, 1025]),
    }
    volume = dice.random() < 0.2
    spec = objects.RequestSpec(
        flavor=objects.Flavor(name="f", flavorid="f", extra_specs=dict(extra_specs), **amounts),
        image=objects.ImageMeta.from_dict({"properties": dict(properties)}),
        is_bfv=volume,
        requested_resources=[],
        requested_destination=None,
        request_level_params=objects.RequestLevelParams(),
    )
    try:
        query = ResourceRequest.from_request_spec(spec).to_querystring()
    except Exception:  # whatever it is that Nova does not like
        return None
    flavor = {**amounts, "extra_specs": extra_specs}
    return {"flavor": flavor, "image_properties": properties, "boot_from_volume": volume, "query": query}


def main() -> None:
    """Write the file."""
    logging.disable(logging.CRITICAL)
    objects.register_all()
    conf.CONF([], project="nova", default_config_files=[])
    dice = random.Random(34)
    rows: list[dict[str, Any]] = []
    while len(rows) < COUNT:
        row = one(dice)
        if row is not None:
            rows.append(row)
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    FILE.write_text(f'{{\n "produced_by": "nova 34.0.0, record_requests.py",\n "rows": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
