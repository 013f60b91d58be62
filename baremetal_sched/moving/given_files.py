"""Options and access rules of Ironic's files that this service does not have."""

import difflib
import json
from collections.abc import Collection, Iterator
from pathlib import Path

import yaml

from baremetal_sched import config_names
from baremetal_sched.errors import InvalidValue
from baremetal_sched.moving.findings import FindingKind, ImportFinding
from baremetal_sched.settings import NAMES


def options(path: Path) -> Iterator[ImportFinding]:
    """Yield a finding for each option of an ``ironic.conf`` that does not exist here. Raises InvalidValue."""
    _require_file(path)
    for entry in config_names.from_files([str(path)]):
        near = NAMES.lacking(entry)
        if (entry.group, entry.option, entry.value) == ("inventory", "data_backend", "swift"):
            yield _swift()
        elif near is not None:
            remedy = f"The nearest one is {near}." if near else ""
            name = f"[{entry.group}] {entry.option}"
            yield ImportFinding(FindingKind.NO_PLACE, name, "there is no such option here", remedy)


def _swift() -> ImportFinding:
    return ImportFinding(
        FindingKind.NO_PLACE,
        "[inventory] data_backend",
        "inventories in Swift are not taken; only those in Ironic's database are",
        "Inspect the nodes again after the move.",
    )


def policies(path: Path, known: Collection[str]) -> Iterator[ImportFinding]:
    """Yield a finding for each access rule of a policy file whose name is not one of ``known``. Raises InvalidValue."""
    _require_file(path)
    try:
        rules = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise InvalidValue(message=f"{path} is not a policy file: {json.dumps(str(error))}") from None
    if not isinstance(rules, dict):
        raise InvalidValue(message=f"{path} is not a policy file: it must be an object of rules.")
    for name in rules:
        if name not in known and ":" in str(name):
            near = difflib.get_close_matches(str(name), sorted(known), 1)
            remedy = f"The nearest one is {near[0]}." if near else ""
            yield ImportFinding(FindingKind.NO_PLACE, str(name), "there is no such access rule here", remedy)


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidValue(message=f"There is no file {path}.")
