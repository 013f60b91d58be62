"""/extensions: what clients of old look for to know which parts of the API there are"""

from typing import Any

from flask import Response

from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.errors import NotFoundError
from baremetal_sched.web.responses import json_response

#: Aliases of the extensions that are served, with the name of each.
EXTENSIONS = {
    "extensions": "Extensions",
    "flavors": "Flavors",
    "limits": "Limits",
    "os-availability-zone": "AvailabilityZone",
    "os-flavor-access": "FlavorAccess",
    "os-flavor-extra-specs": "FlavorExtraSpecs",
    "os-flavor-manage": "FlavorManage",
    "os-instance-actions": "InstanceActions",
    "os-keypairs": "Keypairs",
    "os-lock-server": "LockServer",
    "os-quota-sets": "Quotas",
    "os-rescue": "Rescue",
    "os-server-tags": "ServerTags",
    "server-metadata": "ServerMetadata",
    "servers": "Servers",
    "versions": "Versions",
}


class ExtensionNotFound(NotFoundError):
    template = "There is no extension {alias}."


def list_extensions(call: ComputeCall, session: None) -> Response:
    """GET /extensions"""
    call.refuse_query()
    return json_response({"extensions": [_extension(alias) for alias in EXTENSIONS]})


def show_extension(call: ComputeCall, session: None, alias: str) -> Response:
    """GET /extensions/{alias}"""
    call.refuse_query()
    if alias not in EXTENSIONS:
        raise ExtensionNotFound(alias=alias)
    return json_response({"extension": _extension(alias)})


def _extension(alias: str) -> dict[str, Any]:
    return {
        "alias": alias,
        "name": EXTENSIONS[alias],
        "description": f"{EXTENSIONS[alias]} support.",
        "namespace": "http://docs.openstack.org/compute/ext/fake_namespace",
        "updated": "2014-12-03T00:00:00Z",
        "links": [],
    }
