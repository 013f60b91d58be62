"""The version documents, / and /v2.1, the microversions, and /extensions."""

from typing import Any

from flask import Response

from baremetal_sched.compute.api.call import PREFIX, ComputeCall
from baremetal_sched.errors import NotFoundError
from baremetal_sched.web.microversions import Microversions
from baremetal_sched.web.responses import json_response

MAJOR = 2
MINIMUM = 1
MAXIMUM = 104

VERSIONS = Microversions("compute", MAJOR, MINIMUM, MAXIMUM, legacy_header="X-OpenStack-Nova-API-Version")


def list_versions(call: ComputeCall, session: None) -> Response:
    """GET /"""
    return json_response({"versions": [_version(call)]})


def show_version(call: ComputeCall, session: None) -> Response:
    """GET /v2.1"""
    version = _version(call)
    version["links"].append({"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"})
    version["media-types"] = [
        {"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1"}
    ]
    return json_response({"version": version})


def _version(call: ComputeCall) -> dict[str, Any]:
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": VERSIONS.text(MAXIMUM),
        "min_version": VERSIONS.text(MINIMUM),
        # The date of Nova's 2.1, which does not change.
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": f"{call.base_url}{PREFIX}/"}],
    }


#: Aliases of the extensions that are served, with the name of each.
EXTENSIONS = {
    "extensions": "Extensions",
    "flavors": "Flavors",
    "images": "Images",
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
    "os-scheduler-hints": "SchedulerHints",
    "os-security-groups": "SecurityGroups",
    "os-server-groups": "ServerGroups",
    "os-server-tags": "ServerTags",
    "server-metadata": "ServerMetadata",
    "servers": "Servers",
    "versions": "Versions",
}


class ExtensionNotFound(NotFoundError):
    template = "There is no extension {alias}."


def list_extensions(call: ComputeCall, session: None) -> Response:
    """GET /extensions"""
    return json_response({"extensions": [_extension(alias) for alias in EXTENSIONS]})


def show_extension(call: ComputeCall, session: None, alias: str) -> Response:
    """GET /extensions/{alias}"""
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
