"""Descriptions of the logical disks that a machine is to have."""

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from baremetal_sched.errors import InvalidValue


def check(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless ``config`` is what ``schema``, a RAID interface's, describes."""
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is not None:
        raise InvalidValue(message=f"RAID config validation error: {error.message}")
    roots = [disk for disk in config.get("logical_disks", ()) if disk.get("is_root_volume")]
    if len(roots) > 1:
        raise InvalidValue(
            message="RAID config validation error: Raid config cannot have more than one root volume. "
            f"{len(roots)} root volumes were specified"
        )
