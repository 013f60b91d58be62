# tier: first
"""Which extra specs are accepted, against Nova's validators: all vectors, and where we differ on purpose."""

from baremetal_sched.compute.flavors.extra_specs import check_one
from baremetal_sched.errors.compute import InvalidExtraSpec
from tests.conformance.compute.vectors import load

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


def test_extra_specs() -> None:
    """Every difference is one of the vectors, and a refusal names the extra spec."""
    novas = {(row["name"], row["value"]): row["verdict"] for row in load("extra_spec_validation")["rows"]} | {
        (name, vector["flavor"]["extra_specs"][name]): verdict
        for vector in load("resource_request")["vectors"]
        for name, verdict in vector["expected"]["extra_spec_api_validation"].items()
    }
    assert {novas[row] for row in REFUSED} == {"accepted"}
    assert {novas[row] for row in ACCEPTED} == {"rejected"}
    expected = novas | dict.fromkeys(REFUSED, "rejected") | dict.fromkeys(ACCEPTED, "accepted")
    assert {row: _verdict(*row) for row in novas} == expected


def _verdict(name: str, value: str) -> str:
    try:
        check_one(name, value)
    except InvalidExtraSpec as error:
        return "rejected" if f"'{name}'" in str(error) else f"rejected without its name: {error}"
    return "accepted"
