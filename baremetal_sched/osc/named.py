"""Flavors and images by name."""

from typing import Any
from urllib.parse import quote

from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client, RequestFailed


def server(client: Client, flavor: str, image: str | None, boot_from_volume: bool) -> dict[str, Any]:
    """Return the request of the scheduling API for a server. Raises CommandError if the flavor or image does
    not exist."""
    body: dict[str, Any] = {"flavor": flavor_id(client, flavor)}
    if image is not None:
        body["image"] = image_id(client, image)
    if boot_from_volume:
        body["boot_from_volume"] = True
    return body


def flavor_id(client: Client, named: str) -> str:
    """Return the id of the flavor with this id or name. Raises CommandError if it does not exist."""
    if _exists(client, "compute", f"/flavors/{quote(named, safe='')}"):
        return named
    parameters = [("is_public", "None"), ("limit", "1000")]
    marker: list[tuple[str, str]] = []
    while page := client.get("compute", "/flavors", [*parameters, *marker])["flavors"]:
        for flavor in page:
            if flavor["name"] == named:
                return str(flavor["id"])
        marker = [("marker", page[-1]["id"])]
    raise CommandError(f"There is no flavor {named!r}. 'openstack flavor list --all' shows all flavors.")


def image_id(client: Client, named: str) -> str:
    """Return the id of the image with this id or name. Raises CommandError unless exactly one exists."""
    if _exists(client, "image", f"/images/{quote(named, safe='')}"):
        return named
    found = client.get("image", "/images", [("name", named)])["images"]
    if len(found) > 1:
        raise CommandError(f"There are several images called {named!r}: give the id of one.")
    if not found:
        raise CommandError(f"There is no image {named!r}. 'openstack image list' shows all images.")
    return str(found[0]["id"])


def _exists(client: Client, service: str, path: str) -> bool:
    try:
        client.get(service, path)
    except RequestFailed as error:
        if error.status in (400, 404):
            return False
        raise
    return True
