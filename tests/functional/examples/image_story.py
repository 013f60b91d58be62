"""Images: their properties, their data, their members and tags."""

from tests.functional.examples.storyteller import Storyteller

PATCH = "application/openstack-images-v2.1-json-patch"
DATA = "application/octet-stream"
PROJECT = "3f5c9a1c2d5b4f6a8e7d6c5b4a392817"
ONE = "/v2/images/{image}"


def tell(teller: Storyteller) -> None:
    """Register an image that another service hosts, share it and withdraw it."""
    _look_around(teller)
    image = _register(teller)
    _share(teller, image)
    _withdraw(teller, image)


def _look_around(teller: Storyteller) -> None:
    teller.ask("GET", "/", status=300)
    teller.ask("GET", "/versions")
    for name in ("image", "images", "member", "members"):
        teller.ask("GET", f"/v2/schemas/{name}", longest=5)
    teller.ask("GET", "/v2/info/import")
    teller.ask("GET", "/v2/info/stores", status=404)
    teller.ask("GET", "/v2/tasks")


def _register(teller: Storyteller) -> str:
    image = {
        "name": "debian-13-nvme",
        "disk_format": "raw",
        "container_format": "bare",
        "tags": ["stable"],
        "trait:CUSTOM_NVME": "required",
    }
    uuid = str(teller.ask("POST", "/v2/images", image, status=201)["id"])
    body = {"method": {"name": "web-download", "uri": "https://images.example.org/debian-13.raw"}}
    teller.ask("POST", f"{ONE}/import", body, status=202, image=uuid)
    teller.ask("GET", "/v2/images")
    teller.ask("GET", ONE, image=uuid)
    change = [{"op": "replace", "path": "/min_disk", "value": 20}]
    teller.ask("PATCH", ONE, change, kind=PATCH, image=uuid)
    teller.ask("GET", f"{ONE}/tasks", image=uuid)
    teller.ask("GET", f"{ONE}/file", status=204, image=uuid)
    empty = teller.prepare("POST", "/v2/images", {"disk_format": "raw", "container_format": "bare"})["id"]
    teller.ask("PUT", f"{ONE}/stage", "", kind=DATA, status=404, image=empty)
    teller.ask("PUT", f"{ONE}/file", "", kind=DATA, status=204, image=empty)
    return uuid


def _share(teller: Storyteller, image: str) -> None:
    members, member = f"{ONE}/members", f"{ONE}/members/{{member}}"
    teller.ask("POST", members, {"member": PROJECT}, image=image)
    teller.ask("GET", members, image=image)
    teller.ask("PUT", member, {"status": "accepted"}, image=image, member=PROJECT)
    teller.ask("GET", member, image=image, member=PROJECT)
    teller.ask("DELETE", member, image=image, member=PROJECT)
    teller.ask("PUT", f"{ONE}/tags/{{tag}}", image=image, tag="reviewed")
    teller.ask("DELETE", f"{ONE}/tags/{{tag}}", image=image, tag="reviewed")


def _withdraw(teller: Storyteller, image: str) -> None:
    teller.ask("POST", f"{ONE}/actions/deactivate", image=image)
    teller.ask("POST", f"{ONE}/actions/reactivate", image=image)
    teller.ask("DELETE", ONE, image=image)
