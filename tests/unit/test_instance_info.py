"""Members of ``instance_info`` that Nova does not write: facts about images without Glance."""

from baremetal_sched.compute.flavors.resource_request import FlavorSpec
from baremetal_sched.compute.hosts.instance_info import ImageSpec, Owner, build, required_traits

IMAGE = "11111111-1111-4111-8111-111111111111"


def info(image: ImageSpec, *, boot_from_volume: bool = False) -> dict[str, object]:
    return build(
        FlavorSpec(1, 1),
        image,
        Owner("P", "pn", "U", "un"),
        display_name="web-1",
        flavor_name="gold",
        host="c1",
        node_properties={},
        boot_from_volume=boot_from_volume,
    )


def test_an_image_without_location_is_named_by_its_id() -> None:
    found = info(ImageSpec(IMAGE))
    assert found["image_source"] == IMAGE
    assert "image_checksum" not in found
    assert (found["local_gb"], found["fixed_ips"]) == ("0", "[]")


def test_properties_of_the_image_have_ironics_names() -> None:
    properties = {
        "image_source": "http://images/property",
        "image_checksum": "abc",
        "image_os_hash_algo": "sha512",
        "image_os_hash_value": "def",
        "kernel_id": "k",
        "ramdisk_id": "r",
        "os_type": "linux",
    }
    assert info(ImageSpec(IMAGE, {}, location="http://images/imported"))["image_source"] == "http://images/imported"
    found = info(ImageSpec(IMAGE, properties, location="http://images/imported", disk_format="qcow2"))
    assert found["image_source"] == "http://images/property"
    assert list(found.items())[-6:] == [
        ("image_checksum", "abc"),
        ("image_os_hash_algo", "sha512"),
        ("image_os_hash_value", "def"),
        ("kernel", "k"),
        ("ramdisk", "r"),
        ("image_disk_format", "qcow2"),
    ]
    assert "os_type" not in found


def test_an_image_that_is_booted_is_not_written() -> None:
    found = info(ImageSpec(IMAGE, {"boot_iso": "http://images/a.iso"}, location="http://images/imported"))
    assert found["boot_iso"] == "http://images/a.iso"
    assert "image_source" not in found


def test_a_volume_is_no_image() -> None:
    found = info(ImageSpec(IMAGE, {"kernel_id": "k", "trait:CUSTOM_A": "required"}), boot_from_volume=True)
    assert found["traits"] == ["CUSTOM_A"]
    assert not {"image_source", "kernel"} & found.keys()


def test_a_key_without_colon_requires_nothing() -> None:
    assert required_traits({"traits": "required", "trait1:CUSTOM_A": "required"}, {"trait1:X": "required"}) == [
        "CUSTOM_A"
    ]
