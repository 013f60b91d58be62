"""Which extra specs are accepted, against Nova's validators: all vectors, and where we differ on purpose."""

import pytest

from baremetal_sched.compute.flavors.extra_specs import check_one
from baremetal_sched.errors.compute import InvalidExtraSpec
from tests.conformance.compute.vectors import load

ROWS = {(row["name"], row["value"]): row["verdict"] for row in load("extra_spec_validation")["rows"]} | {
    (name, vector["flavor"]["extra_specs"][name]): verdict
    for vector in load("resource_request")["vectors"]
    for name, verdict in vector["expected"]["extra_spec_api_validation"].items()
}

#: Accepted by Nova, refused here. The reference says so too (compute/extra_specs.rst).
REFUSED = {
    ("resources:CUSTOM_A", "-1"): "Nova ignores a negative amount",
    ("resources:VCPU", "-1"): "Nova ignores a negative amount",
    ("resources:CUSTOM_A", " 2 "): "only decimal digits are an amount",
    ("resources.1:CUSTOM_A", "1"): "a slip, which Nova ignores",
    ("resources.1:CUSTOM_GOLD", "1"): "a slip, which Nova ignores",
    ("resource:CUSTOM_A", "1"): "a slip, which Nova ignores",
    ("Resources:CUSTOM_A", "1"): "a slip, which Nova ignores",
    ("accel:device_profile", "p"): "there are no device profiles",
    ("hw:boot_menu", "yes"): "describes a virtual machine",
    ("hw:cpu_policy", "dedicated"): "describes a virtual machine",
    ("hw:cpu_thread_policy", "isolate"): "describes a virtual machine",
    ("hw:pci_numa_affinity_policy", "socket"): "describes a virtual machine",
    ("hw:tpm_model", "tpm-crb"): "describes a virtual machine",
    ("hw:tpm_version", "2.0"): "describes a virtual machine",
    ("hw:watchdog_action", "reset"): "describes a virtual machine",
}

#: Refused by Nova, accepted here.
ACCEPTED = {("capabilities:boot_mode", "uefi"): "compared with the node's capabilities"}


def test_every_difference_is_one_of_the_vectors() -> None:
    assert ROWS.keys() >= REFUSED.keys() | ACCEPTED.keys()
    assert {ROWS[row] for row in REFUSED} == {"accepted"}
    assert {ROWS[row] for row in ACCEPTED} == {"rejected"}


@pytest.mark.parametrize(("name", "value"), ROWS, ids=[f"{name}={value}" for name, value in ROWS])
def test_extra_spec(name: str, value: str) -> None:
    row = name, value
    if row in REFUSED or (ROWS[row] == "rejected" and row not in ACCEPTED):
        with pytest.raises(InvalidExtraSpec) as error:
            check_one(name, value)
        assert f"'{name}'" in str(error.value)
    else:
        check_one(name, value)
