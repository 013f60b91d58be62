# tier: first
"""``instance_info`` against what Nova's Ironic driver writes: all vectors."""

import pytest

from baremetal_sched.compute.flavors.resource_request import FlavorSpec
from baremetal_sched.compute.hosts.instance_info import ImageSpec, Owner, build
from tests.conformance.compute.vectors import load

DOCUMENT = load("ironic_instance_info")
PREFIX = "/instance_info/"


def test_instance_info(subtests: pytest.Subtests) -> None:
    """The same keys in the same order, with the same values."""
    for vector in DOCUMENT["vectors"]:
        with subtests.test(vector["id"]):
            given, fixed = vector["input"], DOCUMENT["fixed"]
            info = build(
                FlavorSpec(4, 2048, 20, given["ephemeral_gb"], given["swap"], given["extra_specs"]),
                ImageSpec(fixed["image id"], given["image_properties"]),
                Owner("P", "pn", "U", "un"),
                display_name=fixed["display_name"],
                flavor_name="bm.gold",
                host=fixed["host"],
                node_properties=given["node_properties"],
                fixed_ips=["10.0.0.4"],
                boot_from_volume=given["boot_from_volume"],
                ephemeral_format=given["default_ephemeral_format"],
                preserve_ephemeral=given["preserve_ephemeral"],
            )
            assert info == vector["instance_info"]
            assert [PREFIX + name for name in info] == vector["paths_in_order"]


def test_all_are_run() -> None:
    assert len(DOCUMENT["vectors"]) == 10
