"""A world that is built once is the same in every database."""

from pathlib import Path

from tests.built_once import built_once
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
