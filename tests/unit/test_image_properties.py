"""Properties of images that choose nodes, and requests that are refused since no server can come of them."""

import pytest

from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.compute.flavors.extra_specs import check_together
from baremetal_sched.compute.flavors.resource_request import FlavorSpec
from baremetal_sched.errors.compute import InvalidExtraSpec, NothingRequested, TraitConflict
from baremetal_sched.errors.image import InvalidImageProperty
from baremetal_sched.image.properties import REFUSED, check, check_bootable

ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}


def test_accepted() -> None:
    check(
        {
            "trait:CUSTOM_NOT_ON_ANY_NODE": "required",
            "trait:HW_CPU_X86_VMX": "required",
            "os_type": "linux",
            "hw_disk_bus": "virtio",
            "resource_type": "x",
            "trait": "x",
        }
    )


def test_refused(subtests: pytest.Subtests) -> None:
    for key, value, said in [
        ("trait:CUSTOM_T", "forbidden", "its value must be required, not 'forbidden'"),
        ("trait:CUSTOM_T", "Required", "not 'Required'"),
        ("trait:NVME", "required", "Did you mean CUSTOM_NVME?"),
        ("trait:", "required", "'' is not a valid trait"),
        ("trait1:CUSTOM_T", "required", "Write trait:NAME=required"),
        ("traits:CUSTOM_T", "required", "Write trait:NAME=required"),
        ("Trait:CUSTOM_T", "required", "Write trait:NAME=required"),
        ("traits_required", "['CUSTOM_T']", "Write trait:NAME=required"),
        ("resources:CUSTOM_X", "1", "resources and forbidden traits belong to the flavor"),
        *((key, "x", "it describes a virtual machine") for key in REFUSED),
    ]:
        with subtests.test(key=key, value=value):
            with pytest.raises(InvalidImageProperty) as error:
                check({"os_type": "linux", key: value})
            assert str(error.value).startswith(f"Image property '{key}' is not valid: ")
            assert said in str(error.value)


def test_the_flavor_forbids_what_the_image_requires() -> None:
    image = {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "required"}
    check_together({"trait:CUSTOM_A": "required", "trait:CUSTOM_C": "forbidden"}, image)
    check_together({"trait1:CUSTOM_A": "forbidden"}, image)
    with pytest.raises(TraitConflict, match=r"^The image requires CUSTOM_A, CUSTOM_B, which the flavor forbids"):
        check_together({"trait:CUSTOM_B": "forbidden", "trait:CUSTOM_A": "forbidden"}, image)


def test_a_request_of_both() -> None:
    flavor = FlavorSpec(2, 1024, extra_specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
    request = extra_specs.build_checked(flavor, {"trait:CUSTOM_T": "required"}, limit=3)
    assert request.query() == "limit=3&required=CUSTOM_T&resources=CUSTOM_GOLD%3A1"


def test_requests_of_which_no_server_can_come(subtests: pytest.Subtests) -> None:
    for specs, image, error, said in [
        (ZEROS, {}, NothingRequested, "The flavor asks for nothing. Add resources:CUSTOM_NAME=1"),
        ({"traits:CUSTOM_A": "required"}, {}, InvalidExtraSpec, "traits:CUSTOM_A"),
        ({}, {"trait:CUSTOM_A": "forbidden"}, InvalidImageProperty, "trait:CUSTOM_A"),
        ({"trait:CUSTOM_A": "forbidden"}, {"trait:CUSTOM_A": "required"}, TraitConflict, "CUSTOM_A"),
        (
            {"resources1:CUSTOM_GOLD": "1", **ZEROS},
            {"trait:CUSTOM_A": "required"},
            NothingRequested,
            "CUSTOM_A: traits without a suffix, and those of an image, need resources without a suffix",
        ),
    ]:
        with subtests.test(specs=specs), pytest.raises(error, match=said):
            extra_specs.build_checked(FlavorSpec(2, 1024, extra_specs=specs), image)


def test_values_of_which_nova_builds_no_server(subtests: pytest.Subtests) -> None:
    for key, good, bad in [
        ("hw_disk_bus", "virtio", "Virtio"),
        ("hw_firmware_type", "uefi", "efi"),
        ("hw_architecture", "AMD64", "arm64"),
        ("architecture", "x86_64", "x64"),
        ("img_config_drive", "mandatory", "true"),
        ("img_hv_type", "XAPI", "metal"),
        ("hw_vm_mode", "HV", ""),
        ("os_type", "Linux", "debian"),
        ("hw_scsi_model", "paravirtual", "scsi"),
        ("hw_vif_model", "VirtualE1000", "e2000"),
        ("hw_cpu_cores", " 4 ", "four"),
        ("vmware_image_version", "1", "1.0"),
        ("img_hv_requested_version", ">=2.6, <3", "2.6"),
        ("img_signature_hash_method", "SHA-256", "MD5"),
        ("hw_boot_menu", "perhaps", None),
        ("hw_machine_type", "anything", None),
    ]:
        with subtests.test(key=key):
            check_bootable({"os_distro": "debian", key: good})
            if bad is None:
                continue
            with pytest.raises(InvalidImageProperty) as error:
                check_bootable({"os_distro": "debian", key: bad})
            assert str(error.value).startswith(f"Image property '{key}' is not valid: its value must be ")
            assert f"not '{bad}'. Nova builds no server of such an image." in str(error.value)
