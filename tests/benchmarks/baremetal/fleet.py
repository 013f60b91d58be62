"""The fleet that is measured: what each node is and has. The same at every run."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.benchmarks.stores import random_uuid


@dataclass
class Machine:
    """One node. ``instance_uuid`` is that of its instance."""

    row_id: int
    uuid: str
    resource_class: str
    traits: list[str]
    instance_uuid: str | None

    @property
    def name(self) -> str:
        return f"node-{self.row_id}"

    @property
    def taken(self) -> bool:
        return self.instance_uuid is not None

    @property
    def driver_info(self) -> dict[str, Any]:
        return {
            "ipmi_address": f"10.{self.row_id >> 16}.{self.row_id >> 8 & 255}.{self.row_id & 255}",
            "ipmi_username": "operator",
            "ipmi_password": "correct horse",
            "deploy_kernel": "http://images.example/ipa.kernel",
            "deploy_ramdisk": "http://images.example/ipa.initramfs",
        }

    @property
    def properties(self) -> dict[str, Any]:
        return {
            "cpus": 64,
            "cpu_arch": "x86_64",
            "memory_mb": 262144,
            "local_gb": 960,
            "capabilities": "boot_mode:uefi,secure_boot:true",
            "root_device": {"wwn": f"0x{self.row_id:016x}"},
        }

    @property
    def instance_info(self) -> dict[str, Any]:
        if not self.taken:
            return {}
        return {
            "image_source": "http://images.example/debian-12.qcow2",
            "image_checksum": "http://images.example/SHA256SUMS",
            "configdrive": "H4sIAAAAAAAA" + 40 * "c2VjcmV0",
            "display_name": f"worker-{self.row_id}",
            "root_gb": "100",
            "vcpus": "64",
            "memory_mb": "262144",
            "capabilities": {"boot_option": "local"},
            "traits": self.traits[:2],
        }

    @property
    def extra(self) -> dict[str, Any]:
        return {"rack": f"r{self.row_id // 40}", "unit": self.row_id % 40, "asset": f"A{self.row_id:08}"}


class Fleet:
    """Nodes of one resource class out of eight, with ten traits each out of sixty; 80 % of them have an instance."""

    classes = [f"metal-{number}" for number in range(8)]
    traits = [f"CUSTOM_QUALITY_{number:02}" for number in range(60)]
    each = 10
    taken = 0.8

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def machines(self) -> Iterator[Machine]:
        random = Random("machines")
        for row_id in range(1, self.nodes + 1):
            yield Machine(
                row_id,
                random_uuid(random),
                self.classes[row_id % len(self.classes)],
                sorted(random.sample(self.traits, self.each)),
                random_uuid(random) if random.random() < self.taken else None,
            )
