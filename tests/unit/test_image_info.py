"""The arguments of an agent about the image, and refusals before it is booted."""

from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.drivers.agent import images
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import load
from tests.redfish import machine

MACHINE = machine()
SECRET = "Tr0ub4dor-and-3"
URL = f"https://images.example.com/os/disk.qcow2?sig={SECRET}"
TARGET = "https://cdn.example.com/1234"
MD5, SHA256, SHA512 = "a1" * 16, "b2" * 32, "c3" * 64
WHOLE = {"image_source": URL, "image_checksum": SHA256}
PARTITION = WHOLE | {"image_type": "partition", "root_gb": "10"}


def with_image(info: dict[str, Any], *, driver_info: dict[str, Any] | None = None, **fields: Any) -> Machine:
    changed: dict[str, Any] = {
        "instance_info": info,
        "driver_info": MACHINE.driver_info | (driver_info or {}),
        **fields,
    }
    return replace(MACHINE, **changed)


def told(info: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = with_image(info, **more)
    images.validate(given)
    return images.image_info(given, TARGET)


def refusal(info: dict[str, Any], **more: Any) -> str:
    with pytest.raises(InvalidValue) as refused:
        images.validate(with_image(info, **more))
    said = str(refused.value)
    assert said.startswith(f"No image can be written for node {MACHINE.uuid}: ")
    assert SECRET not in said
    return said


def test_an_image_of_a_whole_disk() -> None:
    found = told(WHOLE | {"image_disk_format": "qcow2", "image_container_format": "bare", "swap_mb": "0"})
    assert found.pop("id").endswith("-disk.qcow2")
    assert found == {
        "urls": [TARGET],
        "disk_format": "qcow2",
        "container_format": "bare",
        "stream_raw_images": True,
        "checksum": SHA256,
        "node_uuid": MACHINE.uuid,
    }


def test_images_that_differ_have_different_ids() -> None:
    ids = {
        told(info)["id"]
        for info in (
            WHOLE,
            WHOLE | {"image_source": URL.replace("/os/", "/new/")},
            WHOLE | {"image_checksum": SHA512},
            WHOLE | {"image_source": f"{URL}1"},
        )
    }
    assert len(ids) == 4
    assert told(WHOLE)["id"] in ids
    assert not any("/" in ident or SECRET in ident for ident in ids)


def test_an_id_is_the_name_of_a_file(subtests: pytest.Subtests) -> None:
    for path in ["", "/", "/a/", "/..", "/" + "a" * 4000, "/%2F..%2F", "/é" * 500]:
        with subtests.test(path=path):
            found = told(WHOLE | {"image_source": f"https://example.com{path}"})["id"]
            assert 9 <= len(found) < 60
            assert "/" not in found


def test_an_image_of_a_partition() -> None:
    found = told(PARTITION | {"kernel": "k", "ramdisk": "r", "swap_mb": 512, "ephemeral_gb": "3"})
    assert {name: found[name] for name in found if name not in told(WHOLE)} == {
        "kernel": "k",
        "ramdisk": "r",
        "root_gb": 10,
        "root_mb": 10240,
        "swap_mb": 512,
        "ephemeral_mb": 3072,
        "ephemeral_format": "ext4",
        "preserve_ephemeral": False,
        "image_type": "partition",
        "deploy_boot_mode": "uefi",
        "boot_option": "local",
        "disk_label": "gpt",
    }


def test_without_an_ephemeral_partition() -> None:
    found = told(PARTITION | {"preserve_ephemeral": "False", "ephemeral_gb": None, "swap_mb": ""})
    assert (found["swap_mb"], found["ephemeral_mb"], found["ephemeral_format"]) == (0, 0, None)
    assert told(PARTITION | {"ephemeral_gb": 1, "ephemeral_format": "xfs"})["ephemeral_format"] == "xfs"


def test_boot_mode_and_disk_label(subtests: pytest.Subtests) -> None:
    for info, machine_mode, mode, label in [
        ({}, "bios", "bios", None),
        ({}, "uefi", "uefi", "gpt"),
        ({"capabilities": "boot_mode:bios"}, "uefi", "bios", None),
        ({"capabilities": {"boot_mode": "uefi", "disk_label": "msdos"}}, None, "uefi", "msdos"),
        ({"capabilities": "disk_label:gpt"}, "bios", "bios", "gpt"),
    ]:
        with subtests.test(info=info, machine_mode=machine_mode):
            found = told(PARTITION | info, boot_mode=machine_mode)
            assert (found["deploy_boot_mode"], found.get("disk_label")) == (mode, label)


def test_the_type_of_the_image(subtests: pytest.Subtests) -> None:
    for info, expected in [
        ({}, False),
        ({"kernel": "k", "ramdisk": "r"}, True),
        ({"kernel": "k"}, True),
        ({"kernel": "k", "ramdisk": "r", "image_type": "whole-disk-image"}, False),
        ({"image_type": "partition"}, True),
    ]:
        with subtests.test(info=info):
            assert images.is_partition(with_image(info)) is expected


def test_checksums(subtests: pytest.Subtests) -> None:
    for info, expected in [
        ({"image_checksum": f" {SHA256.upper()}\n"}, {"checksum": SHA256}),
        ({"image_checksum": SHA512}, {"checksum": SHA512}),
        ({"image_checksum": MD5}, {"checksum": MD5}),
        ({"image_checksum": "https://example.com/SHA256SUMS"}, {"checksum": "https://example.com/SHA256SUMS"}),
        (
            {"image_checksum": MD5, "image_os_hash_algo": "SHA512", "image_os_hash_value": SHA512.upper()},
            {"os_hash_algo": "sha512", "os_hash_value": SHA512},
        ),
        (
            {"image_os_hash_algo": "sha3_256", "image_os_hash_value": "http://example.com/sums"},
            {"os_hash_algo": "sha3_256", "os_hash_value": "http://example.com/sums"},
        ),
        (
            {"image_os_hash_algo": "md5", "image_os_hash_value": MD5},
            {"os_hash_algo": "md5", "os_hash_value": MD5},
        ),
    ]:
        with subtests.test(info=info):
            found = told({"image_source": URL, **info})
            names = found.keys() & {"checksum", "os_hash_algo", "os_hash_value"}
            assert {name: found[name] for name in names} == expected


def test_wrong_checksums(subtests: pytest.Subtests) -> None:
    for info, said in [
        ({}, "has neither image_os_hash_algo and image_os_hash_value nor image_checksum"),
        ({"image_checksum": ""}, "has neither"),
        ({"image_checksum": SECRET}, "image_checksum must be a URL of http or https, or 32 or 64 or 128 hexadecimal"),
        ({"image_checksum": 7}, "image_checksum must be a URL"),
        ({"image_checksum": f"sha256:{SHA256}"}, "image_checksum must be a URL"),
        ({"image_checksum": f"http:// {SECRET}"}, "image_checksum must be a URL"),
        ({"image_checksum": "g" * 64}, "image_checksum must be a URL"),
        ({"image_os_hash_algo": "sha256"}, "image_os_hash_value only one is given"),
        ({"image_os_hash_value": SHA256, "image_checksum": SHA256}, "image_os_hash_value only one is given"),
        ({"image_os_hash_algo": "sha-256", "image_os_hash_value": SHA256}, "image_os_hash_algo must be one of md5,"),
        ({"image_os_hash_algo": ["a"], "image_os_hash_value": SHA256}, "image_os_hash_algo must be one of md5,"),
        (
            {"image_os_hash_algo": "sha512", "image_os_hash_value": SHA256},
            "image_os_hash_value must be a URL of http or https, or 128 hexadecimal digits (sha512)",
        ),
    ]:
        with subtests.test(info=info):
            assert said in refusal({"image_source": URL, **info})


def test_md5_may_be_forbidden(subtests: pytest.Subtests) -> None:
    for info, name in [
        ({"image_checksum": MD5}, "image_checksum"),
        ({"image_os_hash_algo": "md5", "image_os_hash_value": MD5}, "image_os_hash_algo"),
        ({"image_os_hash_algo": "MD5", "image_os_hash_value": "https://example.com/sums"}, "image_os_hash_algo"),
    ]:
        with subtests.test(info=info):
            settings = load(overrides={"agent": {"allow_md5_checksum": False}})
            said = refusal({"image_source": URL, **info}, settings=settings)
            assert f"instance_info/{name} is of MD5, which [agent] allow_md5_checksum forbids" in said
            told({"image_source": URL, "image_checksum": "https://example.com/sums"}, settings=settings)


def test_raw_images_need_not_be_streamed() -> None:
    settings = load(overrides={"agent": {"stream_raw_images": False}})
    assert told(WHOLE, settings=settings)["stream_raw_images"] is False


def test_wrong_sources(subtests: pytest.Subtests) -> None:
    for source, said in [
        (None, "instance_info/image_source is missing"),
        ("", "instance_info/image_source is missing"),
        (f"file:///{SECRET}", "is a file, which agents cannot get"),
        ("FILE:/a", "is a file, which agents cannot get"),
        ("5a2f8f52-5d5d-4b5d-9f0a-3c1f5a2f8f52", "is the id of an image, but images carry no data"),
        ("glance://5a2f8f52-5d5d-4b5d-9f0a-3c1f5a2f8f52", "is the id of an image, but images carry no data"),
        (f"oci://{SECRET}/a", "image_source must be a URL that the agent can fetch by itself, with one of these"),
        (SECRET, "image_source must be a URL that the agent can fetch by itself"),
        (f"https:///{SECRET}", "image_source must be a URL"),
        (f"https://[{SECRET}/", "image_source is not a URL"),
        (f"https://example.com/{SECRET * 600}", "image_source must be a URL of up to 8192 characters"),
        (7, "image_source must be a URL of up to"),
        ([SECRET], "image_source must be a URL of up to"),
    ]:
        with subtests.test(source=source):
            assert said in refusal(WHOLE | {"image_source": source})


def test_other_things_that_are_wrong(subtests: pytest.Subtests) -> None:
    for info, said in [
        ({"image_type": "disk"}, "instance_info/image_type must be partition or whole-disk-image"),
        ({"image_type": ["a"]}, "instance_info/image_type must be"),
        ({"root_gb": None}, "instance_info/root_gb is missing"),
        ({"root_gb": ""}, "root_gb must be a whole number of at least 1, not ''"),
        ({"root_gb": 0}, "root_gb must be a whole number of at least 1, not 0"),
        ({"root_gb": "9" * 5000}, "root_gb must be a whole number"),
        ({"root_gb": 10**15}, "root_gb must be a whole number"),
        ({"root_gb": 1.5}, "root_gb must be a whole number of at least 1, not 1.5"),
        ({"swap_mb": -1}, "swap_mb must be a whole number of at least 0, not -1"),
        ({"swap_mb": True}, "swap_mb must be a whole number"),
        ({"ephemeral_gb": "³"}, "ephemeral_gb must be a whole number"),
        ({"ephemeral_gb": {"a": SECRET}}, "ephemeral_gb must be a whole number of at least 0, not {...}"),
        ({"ephemeral_gb": 1, "ephemeral_format": 4}, "ephemeral_format must be a string, not 4"),
        ({"preserve_ephemeral": "True"}, "preserve_ephemeral cannot be done"),
        ({"preserve_ephemeral": "maybe"}, "preserve_ephemeral"),
        ({"capabilities": "disk_label:x"}, "disk_label must be gpt or msdos"),
        ({"capabilities": "boot_mode:x"}, "boot_mode must be one of"),
        ({"image_disk_format": {"a": SECRET}}, "image_disk_format must be a string, not {...}"),
        ({"image_container_format": 3}, "image_container_format must be a string, not 3"),
        ({"image_download_source": "local"}, "instance_info/image_download_source must be http, not 'local'"),
    ]:
        with subtests.test(info=info):
            assert said in refusal(PARTITION | info)


def test_all_that_is_wrong_is_named() -> None:
    said = refusal({"image_type": "a", "root_device": {"a": 1}}, driver_info={"image_download_source": "swift"})
    for name in ("image_source is missing", "image_checksum", "image_type", "instance_info/root_device", "not 'swift'"):
        assert name in said


def test_the_download_source_of_the_instance_wins() -> None:
    told(WHOLE | {"image_download_source": "http"}, driver_info={"image_download_source": "swift"})


def test_proxies(subtests: pytest.Subtests) -> None:
    for driver_info, expected in [
        ({}, {}),
        ({"image_no_proxy": "a.example.com"}, {}),
        (
            {
                "image_http_proxy": f"http://u:{SECRET}@p.example.com:3128",
                "image_no_proxy": ".example.org, 10.0.0.1:80,",
            },
            {
                "proxies": {"http": f"http://u:{SECRET}@p.example.com:3128"},
                "no_proxy": ".example.org, 10.0.0.1:80,",
            },
        ),
        ({"image_https_proxy": "proxy:3128"}, {"proxies": {"https": "proxy:3128"}}),
    ]:
        with subtests.test(driver_info=driver_info):
            found = told(WHOLE, driver_info=driver_info)
            assert {name: found[name] for name in found if name in ("proxies", "no_proxy")} == expected


def test_wrong_proxies(subtests: pytest.Subtests) -> None:
    bad_hosts = ("*.example.com", "-a", "a..b", "10.0.0.0/8", 7, ["a"], "a" * 64, "a." * 200 + "a", "a:b", "a\nb")
    for driver_info, name in [
        ({"image_http_proxy": f"socks5://u:{SECRET}@example.com"}, "driver_info/image_http_proxy"),
        ({"image_https_proxy": f"http://{SECRET}:port"}, "driver_info/image_https_proxy"),
        ({"image_https_proxy": [SECRET]}, "driver_info/image_https_proxy"),
        *(({"image_no_proxy": hosts}, "driver_info/image_no_proxy") for hosts in bad_hosts),
    ]:
        with subtests.test(driver_info=driver_info):
            assert name in refusal(WHOLE, driver_info=driver_info)


def test_hints_of_the_root_device(subtests: pytest.Subtests) -> None:
    for info, properties, said in [
        ({"root_device": {"size": ">= 100"}}, {"root_device": {"a": 1}}, None),
        ({}, {"root_device": {"rotational": "no", "wwn": "<or> a <or> b"}}, None),
        ({}, {"root_device": {}}, None),
        ({"root_device": {"colour": "red"}}, {}, "instance_info/root_device: Unknown hint 'colour'"),
        ({}, {"root_device": {"size": "big"}}, "properties/root_device: Hint size must be a positive number"),
        ({}, {"root_device": "sda"}, "properties/root_device: Hints must be an object"),
        ({}, {"root_device": {"model": "> 3"}}, "properties/root_device: Hint model is text, which > does not compare"),
        ({}, {"root_device": {"size": " <Range-in> [ 1 2 ]"}}, "properties/root_device: agents do not know <range-in>"),
    ]:
        with subtests.test(info=info, properties=properties):
            if said is None:
                told(WHOLE | info, properties=properties)
            else:
                assert said in refusal(WHOLE | info, properties=properties)


def test_what_is_said_is_short(subtests: pytest.Subtests) -> None:
    for hint in [{"model": "> " + "a" * 10**6}, {"rotational": "a" * 10**6}, {"size": "9" * 10**6}]:
        with subtests.test(hint=hint):
            assert len(refusal(WHOLE | {"root_device": hint})) < 1000
