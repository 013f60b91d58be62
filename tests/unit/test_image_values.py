"""Values of image properties of which Nova builds no server."""

import pytest

from baremetal_sched.errors.image import InvalidImageProperty
from baremetal_sched.image.properties import check_bootable as check


def test_values(subtests: pytest.Subtests) -> None:
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
            check({"os_distro": "debian", key: good})
            if bad is None:
                continue
            with pytest.raises(InvalidImageProperty) as error:
                check({"os_distro": "debian", key: bad})
            assert str(error.value).startswith(f"Image property '{key}' is not valid: its value has to be ")
            assert f"not '{bad}'. Nova builds no server of such an image." in str(error.value)
