"""A flavor as clients of each microversion see it."""

from typing import Any

import orjson

from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.schemas.flavors import DESCRIPTION_SINCE, EXTRA_SPECS_SINCE, SWAP_IS_NUMBER_SINCE


def summary(call: ComputeCall, row: Any) -> dict[str, Any]:
    """Return what a list without details shows of a row of ``flavors.COLUMNS``."""
    document = {"id": row.flavorid, "name": row.name, "links": call.links("flavors", row.flavorid)}
    if call.version >= DESCRIPTION_SINCE:
        document["description"] = row.description
    return document


def detail(call: ComputeCall, row: Any) -> dict[str, Any]:
    """Return all that the microversion shows of a row of ``flavors.COLUMNS``."""
    document = {
        "id": row.flavorid,
        "name": row.name,
        "ram": row.memory_mb,
        "disk": row.root_gb,
        "swap": row.swap_mb if row.swap_mb or call.version >= SWAP_IS_NUMBER_SINCE else "",
        "OS-FLV-EXT-DATA:ephemeral": row.ephemeral_gb,
        "OS-FLV-DISABLED:disabled": False,
        "vcpus": row.vcpus,
        "os-flavor-access:is_public": bool(row.is_public),
        "rxtx_factor": row.rxtx_factor,
        "links": call.links("flavors", row.flavorid),
    }
    if call.version >= DESCRIPTION_SINCE:
        document["description"] = row.description
    if call.version >= EXTRA_SPECS_SINCE and call.shows_extra_specs:
        document["extra_specs"] = orjson.Fragment(row.extra_specs)
    return document
