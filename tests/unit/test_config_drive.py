"""The config drive that an agent gets."""

import base64
import gzip
import json
import time
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from pycdlib import PyCdlib

from baremetal_sched.drivers.agent import config_drive
from baremetal_sched.errors import InvalidValue
from tests.redfish import machine

MACHINE = machine()
SECRET = "Tr0ub4dor-and-3"


def built(drive: Any, name: str | None = "web-1") -> Any:
    return config_drive.config_drive(replace(MACHINE, instance_info={"configdrive": drive}), name)


def image_of(drive: Any, **more: Any) -> bytes:
    return gzip.decompress(base64.b64decode(built(drive, **more)))


def read(image: bytes, extension: str = "rr_path") -> dict[str, bytes]:
    """The files of an image, as a reader of this extension finds them."""
    disc, found = PyCdlib(), {}
    disc.open_fp(BytesIO(image))
    for folder, _, names in disc.walk(**{extension: "/"}):
        for name in names:
            content = BytesIO()
            disc.get_file_from_iso_fp(content, **{extension: f"{folder}/{name}"})
            found[f"{folder}/{name}"] = content.getvalue()
    disc.close()
    return found


def packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def test_none(subtests: pytest.Subtests) -> None:
    for drive in [None, ""]:
        with subtests.test(drive=drive):
            assert built(drive) is None
            assert config_drive.config_drive(MACHINE, "web-1") is None


def test_base64_may_have_line_breaks() -> None:
    assert image_of(base64.encodebytes(gzip.compress(b"drive" * 99)).decode()) == b"drive" * 99


def test_what_an_object_becomes() -> None:
    drive = {
        "meta_data": {"hostname": "wéb"},
        "user_data": "#cloud-config\nè",
        "network_data": {"links": []},
        "vendor_data": {"a": {"b": 1}},
    }
    found = read(image_of(drive))
    assert sorted(found) == [
        f"/openstack/{version}/{name}"
        for version in ("2012-08-10", "latest")
        for name in ("meta_data.json", "network_data.json", "user_data", "vendor_data2.json")
    ]
    latest = {path.rpartition("/")[2]: content for path, content in found.items() if "latest" in path}
    assert json.loads(latest["meta_data.json"]) == {"uuid": MACHINE.uuid, "name": "web-1", "hostname": "wéb"}
    assert latest["user_data"].decode() == drive["user_data"]
    assert json.loads(latest["network_data.json"]) == {"links": []}
    assert json.loads(latest["vendor_data2.json"]) == {"a": {"b": 1}}
    assert all(found[f"/openstack/2012-08-10/{name}"] == content for name, content in latest.items())


def test_each_extension_has_the_same_files() -> None:
    image = image_of({"user_data": "x" * 5000})
    assert read(image, "joliet_path") == read(image)
    plain = read(image, "iso_path")
    assert plain["/OPENSTACK/LATEST/USER_DATA.;1"] == b"x" * 5000
    assert sorted(plain.values()) == sorted(read(image).values())


def test_the_label_and_who_may_read() -> None:
    disc = PyCdlib()
    disc.open_fp(BytesIO(image_of({})))
    assert disc.pvd.volume_identifier.decode().rstrip() == "config-2"
    record = disc.get_record(rr_path="/openstack/latest/meta_data.json")
    assert record.rock_ridge is not None
    assert record.rock_ridge.get_file_mode() == 0o100444
    disc.close()


def test_meta_data_of_the_user_win() -> None:
    found = read(image_of({"meta_data": {"uuid": "u", "name": "n"}}))
    assert json.loads(found["/openstack/latest/meta_data.json"]) == {"uuid": "u", "name": "n"}


def test_a_node_without_a_name() -> None:
    found = read(image_of({}, name=None))
    assert json.loads(found["/openstack/latest/meta_data.json"]) == {"uuid": MACHINE.uuid}
    assert sorted(found) == ["/openstack/2012-08-10/meta_data.json", "/openstack/latest/meta_data.json"]


def test_user_data(subtests: pytest.Subtests) -> None:
    for user_data, content in [
        ({"a": 1}, b'{"a": 1}'),
        ([1], b"[1]"),
        ({}, b"{}"),
        ([], b"[]"),
        ("", None),
        (None, None),
    ]:
        with subtests.test(user_data=user_data):
            assert read(image_of({"user_data": user_data})).get("/openstack/latest/user_data") == content


def test_the_same_input_becomes_the_same_image_at_any_time_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    drive = {"meta_data": {"a": 1, "b": 2}, "user_data": "x"}
    first = built(drive)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        later = time.time() + 10**8
        monkeypatch.setattr(time, "time", lambda: later)
        assert built({"user_data": "x", "meta_data": {"b": 2, "a": 1}}) == first
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_image_of_the_user_is_handed_over() -> None:
    drive = packed(b"an image" * 1000)
    assert built(drive) == drive
    assert built(f"{drive[:76]}\n{drive[76:]}\n") == drive


def test_a_url_is_handed_over(subtests: pytest.Subtests) -> None:
    for url in ["http://a.example.com/drive", "https://[2001:db8::1]:8443/d?sig=" + "a" * 4000]:
        with subtests.test(url=url):
            assert built(url) == url


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


WHOLE = packed(SECRET.encode() * 100)


def test_what_is_refused(subtests: pytest.Subtests) -> None:
    for drive, said in [
        (7, "must be a URL, base64, or an object"),
        (["a"], "must be a URL, base64, or an object"),
        (f"not base64: {SECRET}", "nor base64"),
        ("ftp://example.com/a", "nor base64"),
        ("é", "nor base64"),
        (" \n", "not gzip|is an empty image"),
        (base64.b64encode(SECRET.encode()).decode(), "not gzip"),
        (base64.b64encode(base64.b64decode(WHOLE)[:-9]).decode(), "not all of it"),
        (base64.b64encode(b"\x1f\x8b\x08" + b"\xff" * 50).decode(), "not gzip"),
        (base64.b64encode(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\xff" * 50).decode(), "not gzip"),
        (packed(b""), "is an empty image"),
        (f"https://user:{SECRET}@/a", "must be a URL that the agent can fetch"),
        (f"https://example.com/a b?sig={SECRET}", "without blanks"),
        (f"http://example.com:99999/{SECRET}", "is not a URL"),
        ("http://example.com/" + "a" * 9000, "of up to 8192 characters"),
        ({"meta_data": SECRET}, "/meta_data must be an object"),
        ({"network_data": [SECRET]}, "/network_data must be an object"),
        ({"vendor_data": 1}, "/vendor_data must be an object"),
        ({"user_data": 1}, "/user_data must be a string, an object or an array"),
        ({SECRET: "a"}, "may have nothing but meta_data, user_data"),
        ({"user_data": f"{SECRET}\ud800"}, "/user_data is too deep, or its text is not valid"),
        ({"meta_data": nested(100_000)}, "/meta_data is too deep"),
        ({"meta_data": {SECRET: float("nan")}}, "/meta_data is too deep, or"),
    ]:
        with subtests.test(drive=drive):
            with pytest.raises(InvalidValue, match=f"^instance_info/configdrive.*({said})") as refused:
                built(drive)
            assert SECRET not in str(refused.value)
            assert len(str(refused.value)) < 200


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_drive, "_MOST", 2 * 2**20)
    allowed = packed(b"\0" * 2**21)
    assert built(allowed) == allowed
    assert built({"user_data": "x" * 500_000})
    for drive in (packed(b"\0" * (2**21 + 1)), "A" * (3 * 2**20 + 1), {"user_data": "x" * 530_000}):
        with pytest.raises(InvalidValue, match=r"^instance_info/configdrive is larger than the 2 MiB"):
            built(drive)


def test_the_limit_is_that_of_the_agent() -> None:
    with pytest.raises(InvalidValue, match=r"^instance_info/configdrive is larger than the 64 MiB"):
        built({"user_data": "x" * 2**25})
