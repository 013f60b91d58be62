"""The released ``openstack`` command and openstacksdk with the image API."""

import os
import pty
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openstack as sdk
import pytest
from openstack.connection import Connection

from tests.clients.openstack import OpenStack, variables_in
from tests.processes import serve

# What openstacksdk deprecates is of no interest here.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

URI = "https://images.example.org/ubuntu.raw"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The output of ``serve``, and its address."""
    with serve(tmp_path_factory.mktemp("service")) as (program, url):
        yield program.output, url


@pytest.fixture(scope="module")
def openstack(url: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> OpenStack:
    """The command. Its standard input is no terminal."""
    return OpenStack(tmp_path_factory.mktemp("home"), variables_in(url[0]))


@pytest.fixture(scope="module")
def connection(url: tuple[str, str]) -> Iterator[Connection]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the library's own dependencies deprecate
        connected = sdk.connect(auth_type="none", endpoint=url[1], image_endpoint_override=f"{url[1]}/image")
    with connected:
        yield connected


@contextmanager
def terminal() -> Iterator[int]:
    """A pseudo-terminal, for a command's standard input: it is not read, so the client sends no data."""
    outer, inner = pty.openpty()
    try:
        yield inner
    finally:
        os.close(inner)
        os.close(outer)


def show(openstack: OpenStack, name: str) -> dict[str, Any]:
    image: dict[str, Any] = openstack(f"image show {name} -f json")
    return image


def names(openstack: OpenStack, *options: str) -> list[str]:
    return [image["Name"] for image in openstack(" ".join(("image list -f json", *options)))]


def test_create_set_unset_save_and_delete(openstack: OpenStack, tmp_path: Path) -> None:
    created = openstack(
        "image create -f json --property trait:CUSTOM_NVME=required --property image_source=" + URI + " --property "
        "os_type=linux --tag lts --min-disk 10 --min-ram 512 --disk-format raw --container-format bare --protected u24"
    )
    fields = ("status", "min_disk", "min_ram", "protected", "tags")
    assert [created[name] for name in fields] == ["active", 10, 512, True, ["lts"]]
    assert not created.keys() & {"checksum", "size", "os_hash_value"}
    assert created["properties"]["trait:CUSTOM_NVME"] == "required"
    openstack.batch(
        "image set --name ubuntu --tag server --property trait:CUSTOM_GPU=required --property os_type=other "
        "--unprotected --hidden --min-ram 1024 u24",
        "image set --deactivate ubuntu",
    )
    changed = show(openstack, "ubuntu")
    fields = ("status", "min_ram", "protected", "id")
    assert [changed[name] for name in fields] == ["deactivated", 1024, False, created["id"]]
    assert sorted(changed["tags"]) == ["lts", "server"]
    assert changed["properties"]["trait:CUSTOM_GPU"] == "required"
    assert names(openstack) == []
    assert names(openstack, "--hidden") == ["ubuntu"]
    openstack.batch(
        "image set --activate --unhidden --community ubuntu",
        "image unset --tag lts --property trait:CUSTOM_GPU --property os_type ubuntu",
    )
    unset = show(openstack, "ubuntu")
    assert (unset["status"], unset["visibility"], unset["tags"]) == ("active", "community", ["server"])
    assert "trait:CUSTOM_GPU" not in unset["properties"]
    assert "os_type" not in str(unset)
    saved = tmp_path / "saved"
    openstack(f"image save --file {saved} ubuntu")
    assert saved.read_bytes() == b""
    openstack(f"image delete {unset['id']}")
    assert "No Image found" in openstack.run(["image", "show", "ubuntu"]).stderr


def test_lists(openstack: OpenStack) -> None:
    openstack.batch(
        "image create --tag one --private list-a",
        "image create --tag one --tag two --shared list-b",
        "image create --property colour=red --public list-c",
    )
    assert names(openstack) == ["list-a", "list-b", "list-c"]
    assert names(openstack, "--sort name:desc") == ["list-c", "list-b", "list-a"]
    assert names(openstack, "--tag one --tag two") == ["list-b"]
    assert names(openstack, "--private") == ["list-a"]
    assert names(openstack, "--name list-c") == names(openstack, "--property colour=red") == ["list-c"]
    assert len(names(openstack, "--limit 2")) == 2
    assert names(openstack, "--status queued") == []
    long = openstack("image list --long -f json --name list-a")
    assert (long[0]["Checksum"], long[0]["Size"], long[0]["Visibility"]) == (None, None, "private")
    openstack("image delete list-a list-b list-c")
    assert names(openstack) == []


def test_data_and_wrong_conditions_are_refused_with_a_hint(openstack: OpenStack, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"bytes" * 100_000)
    refused = openstack.run(["image", "create", "--file", str(data), "with-data"])
    assert refused.returncode
    assert "This service stores no image data" in refused.stderr
    wrong = openstack.run(["image", "create", "--property", "trait:CUSTOM_A=forbidden", "wrong"])
    assert "Image property 'trait:CUSTOM_A' is not valid" in wrong.stderr
    assert "wrong" not in names(openstack)


def test_import_at_a_terminal(openstack: OpenStack) -> None:
    with terminal() as inner:
        created = openstack.run(["image", "create", "--disk-format", "raw", "imported"], stdin=inner)
        assert created.returncode == 0, created.stderr
        assert show(openstack, "imported")["status"] == "queued"
        done = openstack.run(["image", "import", "--method", "web-download", "--uri", URI, "imported"], stdin=inner)
        assert done.returncode == 0, done.stderr
    image = show(openstack, "imported")
    assert image["status"] == "active"
    assert URI in str(image)
    again = openstack.run(["image", "import", "--method", "web-download", "--uri", URI, "imported"])
    assert again.returncode
    openstack("image delete imported")


def test_import_with_the_library(connection: Connection) -> None:
    created = connection.image.create_image(
        "sdk", import_method="web-download", use_import=True, uri=URI, disk_format="raw", wait=True, timeout=20
    )
    image = connection.image.get_image(created.id)
    assert (image.status, image.direct_url) == ("active", URI)
    assert connection.get_image("sdk").id == image.id
    connection.image.delete_image(image, ignore_missing=False)
    assert connection.image.find_image("sdk") is None


def test_members_tags_and_pages_with_the_library(connection: Connection) -> None:
    image = connection.image.create_image("shared", visibility="shared", tags=["a"])
    assert image.status == "queued"
    connection.image.add_member(image, member="other")
    assert [member.status for member in connection.image.members(image)] == ["pending"]
    connection.image.update_member("other", image, status="accepted")
    assert connection.image.get_member("other", image).status == "accepted"
    connection.image.remove_member("other", image)
    connection.image.add_tag(image, "b")
    connection.image.remove_tag(image, "a")
    assert connection.image.get_image(image).tags == ["b"]
    others = [connection.image.create_image(f"page {number}", allow_duplicates=True) for number in range(5)]
    found = [each.id for each in connection.image.images(limit=2)]
    assert sorted(found) == sorted([image.id, *(other.id for other in others)])
    for each in found:
        connection.image.delete_image(each)
    assert list(connection.image.get_import_info().import_methods["value"]) == ["web-download"]
