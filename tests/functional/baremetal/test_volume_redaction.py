"""Properties of volume targets, which not everyone who sees a target may see."""

from typing import Any

from tests.functional.baremetal.fleet import MANAGERS, Fleet
from tests.restored import Rows

REDACTED = {
    "redacted_contents": "** Value redacted: Requires permission baremetal:volume:view_target_properties access. "
    "Permission denied. **"
}
SHOWN = {"iqn": "iqn.mine"}
#: Roles of callers of the node's project, and what they see.
SEEN: list[tuple[str, Any]] = [(MANAGERS, SHOWN), ("manager,member,reader", REDACTED), ("reader", REDACTED)]


def test_properties_are_for_those_who_may_see_them(fleet: Fleet, row: Rows) -> None:
    for roles, seen in SEEN:
        with row(roles, seen):
            mine, node = fleet.targets["mine"], fleet.uuids["mine"]
            one = f"/volume/targets/{mine}"
            for path in (one, f"{one}?fields=properties"):
                assert fleet.ask("GET", path, roles=roles).json["properties"] == seen
            for path in ("/volume/targets?detail=true", f"/nodes/{node}/volume/targets?detail=true"):
                found = {target["uuid"]: target for target in fleet.ask("GET", path, roles=roles).json["targets"]}
                assert found[mine]["properties"] == seen


def test_system_readers_see_properties(fleet: Fleet) -> None:
    headers = {"X-Auth-Token": "auditor", "X-Roles": "reader", "OpenStack-System-Scope": "all"}
    answer = fleet.service.baremetal("GET", f"/volume/targets/{fleet.targets['mine']}", headers=headers)
    assert answer.json["properties"] == SHOWN


def test_patch_answers_what_the_caller_sees_and_changes_the_rest(fleet: Fleet) -> None:
    fleet.service.set_columns(fleet.uuids["mine"], power_state="power off")
    path = f"/volume/targets/{fleet.targets['mine']}"
    patch = [{"op": "add", "path": "/extra/a", "value": 1}]
    answer = fleet.ask("PATCH", path, patch, roles="manager,member,reader").json
    assert answer["extra"] == {"a": 1}
    assert answer["properties"] == REDACTED
    assert fleet.ask("GET", path).json["properties"] == SHOWN
