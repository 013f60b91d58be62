# tier: first
"""A world that is built once is the same in every database."""

from pathlib import Path

import pytest

from baremetal_sched.baremetal.provider.audit import audit
from tests.built_once import built_once
from tests.databases import TestDatabase
from tests.restored import Rows, restored
from tests.service import Service


def test_the_second_database_is_like_the_first(sqlite_template: Path, tmp_path: Path) -> None:
    built: list[str] = []

    def build(service: Service) -> dict[str, str]:
        built.append(service.database_url)
        return {"n1": service.add_node("n1", traits=("CUSTOM_A",))}

    found = []
    for number in range(3):
        path = tmp_path / f"{number}.sqlite"
        path.touch(mode=0o600)
        path.write_bytes(sqlite_template.read_bytes())
        with Service(f"sqlite:///{path}") as service:
            service.add_conductor("c1")
            nodes = built_once(service, build)
            found.append((dict(nodes), service.node("n1"), service.candidates("resources=CUSTOM_GOLD:1")))
            service.add_node("n2")
            nodes["n2"] = "changed afterwards"
    assert len(built) == 1
    assert found[0] == found[1] == found[2]
    assert found[0][2] == {found[0][0]["n1"]}


def test_rows_begin_with_the_same_database(service: Service) -> None:
    """A tree, whose rows refer to each other, is put back; the next row may use the same names."""
    node = service.add_node("n1")
    child = {"name": "child", "parent_provider_uuid": node}
    for _ in range(2):
        with restored(service):
            service.placement("POST", "/resource_providers", child)
            other = service.add_node("n2", traits=("CUSTOM_NEW",))
            service.claim(other, other, status=204)
            service.baremetal("DELETE", f"/nodes/{service.add_node('n3')}")
        with restored(service):
            service.baremetal("DELETE", f"/nodes/{node}")
        providers = service.placement("GET", "/resource_providers").json["resource_providers"]
        assert [provider["uuid"] for provider in providers] == [node]
        assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
        assert service.database.snapshot(audit) == []


def test_a_row_does_not_see_what_the_row_before_changed(
    service: Service, test_database: TestDatabase, subtests: pytest.Subtests
) -> None:
    node, row = service.add_node("n1", traits=("CUSTOM_A",)), Rows(subtests, test_database)
    before = service.node("n1")
    for name in ("n2", "n3"):
        with row(name):
            assert service.node("n1") == before
            assert [each["name"] for each in service.baremetal("GET", "/nodes").json["nodes"]] == ["n1"]
            service.add_node(name, traits=("CUSTOM_B",))
            service.claim(node, node)
            service.patch("n1", ("add", "/extra/a", 1))
