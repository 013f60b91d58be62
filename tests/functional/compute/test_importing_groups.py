"""``compute import``: server groups of a Nova, with their members."""

from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.compute.migration import nova_documents
from baremetal_sched.errors import InvalidValue
from tests.functional.compute.nova_lists import Compute, import_lists, server_of, uuid_of
from tests.service import Service


def group_of(name: str, *members: str, **changes: Any) -> dict[str, Any]:
    """A server group as it is in Nova's list at 2.64."""
    return {
        "id": uuid_of(name),
        "name": name,
        "policy": "anti-affinity",
        "rules": {"max_server_per_host": 2},
        "members": [uuid_of(member) for member in members],
        "project_id": "p1",
        "user_id": "u1",
        **changes,
    }


def shown(service: Service, name: str) -> dict[str, Any]:
    """A group as an administrator sees it."""
    found: dict[str, Any] = service.compute("GET", f"/os-server-groups/{uuid_of(name)}").json["server_group"]
    return found


def test_a_group_comes_with_its_members(service: Service, compute: Compute, tmp_path: Path) -> None:
    """UUIDs in any spelling; servers that are elsewhere are named."""
    servers = [server_of(name, service.add_node(f"n-{name}")) for name in ("s1", "s2")]
    group = group_of("control", "s1", "s2", "s3")
    group |= {"id": group["id"].upper(), "members": [each.upper().replace("-", "") for each in group["members"]]}
    printed = import_lists(compute, tmp_path, servers=servers, server_groups=[group])
    assert "server_groups: 1 imported, 0 already present, 0 skipped" in printed
    assert f"server group {uuid_of('control')}: these members are no servers here: {uuid_of('s3')}." in printed
    found = shown(service, "control")
    assert (found["policy"], found["rules"]) == ("anti-affinity", {"max_server_per_host": 2})
    assert (found["project_id"], found["user_id"]) == ("p1", "u1")
    assert found["members"] == [uuid_of("s1"), uuid_of("s2")]
    server = service.compute("GET", f"/servers/{uuid_of('s1')}").json["server"]
    assert server["server_groups"] == [uuid_of("control")]


def test_members_that_are_added_later_are_taken_when_it_is_repeated(
    service: Service, compute: Compute, tmp_path: Path
) -> None:
    lists: dict[str, Any] = {"servers": [server_of("s1", service.add_node("n1"))]}
    import_lists(compute, tmp_path, **lists, server_groups=[group_of("control", "s1")])
    lists["servers"].append(server_of("s2", service.add_node("n2")))
    printed = import_lists(compute, tmp_path, **lists, server_groups=[group_of("control", "s1", "s2")])
    assert "server_groups: 0 imported, 1 already present, 0 skipped" in printed
    assert shown(service, "control")["members"] == [uuid_of("s1"), uuid_of("s2")]
    printed = import_lists(compute, tmp_path, **lists, server_groups=[group_of("control", policy="affinity")])
    assert f"skipped server group control ({uuid_of('control')}): it is here already, with policy anti-" in printed
    printed = import_lists(compute, tmp_path, **lists, server_groups=[group_of("workers", "s2")])
    assert f"server group {uuid_of('workers')}: these members are in another one: {uuid_of('s2')}." in printed
    assert shown(service, "workers")["members"] == []


@pytest.mark.parametrize("named", [{"server_groups": [uuid_of("g")]}, {"scheduler_hints": {"group": uuid_of("g")}}])
def test_a_server_whose_group_is_not_in_the_file_is_named(
    service: Service, compute: Compute, tmp_path: Path, named: dict[str, Any]
) -> None:
    servers = [server_of("s1", service.add_node("n1"), **named)]
    printed = import_lists(compute, tmp_path, servers=servers)
    assert f"server {uuid_of('s1')} (s1) is in server group {uuid_of('g')}, which is not in the file" in printed
    assert "is in server group" not in import_lists(
        compute, tmp_path, servers=servers, server_groups=[group_of("g", "s1")]
    )


def test_groups_of_old_microversions_are_refused() -> None:
    group = group_of("g")
    del group["policy"]
    with pytest.raises(InvalidValue, match=r"'policy' is a required property\. Ask .* 2\.64 or later"):
        nova_documents.parse(repr({"server_groups": [group]}).replace("'", '"').encode())
