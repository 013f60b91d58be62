"""Commands for holds: of one node, and of all that options select."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.osc.conftest import Site

#: All machines of the site with this class; ``annas`` is owned by the project of ben.
GOLD = ["annas", "gold-1", "gold-2", "gold-3"]
END = "2050-01-01T06:00:00+00:00"


@pytest.fixture(autouse=True)
def released(site: Site) -> Iterator[None]:
    """Nothing is held afterwards."""
    yield
    for name in GOLD:
        site.admin.scheduling("DELETE", f"/nodes/{name}/holds")
    assert site.json("scheduling hold list") == []


def held(site: Site, *options: str, user: str = "admin") -> list[str]:
    """The names of the nodes that are held."""
    return sorted(each["Node"] for each in site.json(" ".join(("scheduling hold list", *options)), user))


def results(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {each["Node"]: each["Result"] for each in rows}


def test_a_hold_of_a_node(site: Site) -> None:
    made = site.json("baremetal node hold add gold-1 --type window --reason fan --extra ticket=T-1")
    change = f"baremetal node hold set gold-1 {made['uuid']}"
    changed = site.json(f"{change} --ends-at {END} --reason disk --extra ticket=T-2")
    assert (changed["ends_at"][:19], changed["reason"], changed["extra"]) == (END[:19], "disk", {"ticket": "T-2"})
    changed = site.json(f"{change} --until-released")
    assert (changed["ends_at"], changed["reason"]) == (None, "disk")
    for options in ("", f"--ends-at {END} --until-released", "--ends-at soon"):
        assert site.run(f"{change} {options}").returncode == 2
    assert "later than now" in site.run(f"{change} --ends-at 2020-01-01").stderr
    assert site.run(f"baremetal node hold remove gold-1 {made['uuid']}").returncode == 0


def test_a_hold_of_many_nodes(site: Site) -> None:
    add = "scheduling hold add --class gold --type operator_hold --reason switch"
    assert results(site.json(f"{add} --dry-run")) == dict.fromkeys(GOLD, "would be held")
    assert held(site) == []
    site.json("scheduling hold add --node gold-1 --node gold-2 --type operator_hold")
    assert held(site) == ["gold-1", "gold-2"]
    done = site.run(add)
    assert (done.returncode, "has maintenance entry" in done.stderr) == (1, True)
    tried = site.run(f"{add} --dry-run -f json")
    assert "--skip-refused" in tried.stderr
    assert {node: text.split(":")[0] for node, text in results(json.loads(tried.stdout)).items()} == {
        "annas": "would be held",
        "gold-1": "refused",
        "gold-2": "refused",
        "gold-3": "would be held",
    }
    made = site.json(f"{add} --skip-refused")
    assert [each["Node"] for each in made if each["Hold"]] == ["gold-3", "annas"]
    assert held(site) == GOLD
    done = site.run(f"{add} --skip-refused")
    assert (done.returncode, "No node was held" in done.stderr) == (1, True)
    assert site.run("scheduling hold add --type window").returncode == 2
    assert "--type" in site.run("scheduling hold add --class gold").stderr


def test_holds_of_the_own_project_on_many_nodes(site: Site) -> None:
    site.json("scheduling hold add --class gold --type operator_hold")
    site.json("scheduling hold add --node annas --type operator_hold", "ben")
    site.json("scheduling hold add --node gold-1 --type window")
    selected = "--class gold --type operator_hold"
    of_others = "kept: not of your project"
    assert results(site.json(f"scheduling hold remove {selected} --dry-run", "ben")) == {"annas": of_others}
    assert len(held(site)) == 6
    changed = site.json(f"scheduling hold set {selected} --ends-at {END}")
    assert [each["Result"] for each in changed] == ["changed"] * 4 + [of_others]
    assert [each["Ends At"] for each in site.json("scheduling hold list --own --type operator_hold")] == [
        "2050-01-01T06:00:00.000000+00:00"
    ] * 4
    done = site.json(f"scheduling hold remove {selected}")
    assert [(each["Node"], each["Result"]) for each in done] == [
        *((name, "released") for name in ("gold-1", "gold-2", "gold-3", "annas")),
        ("annas", of_others),
    ]
    assert held(site) == ["annas", "gold-1"]
    assert results(site.json("scheduling hold remove --type operator_hold", "ben")) == {"annas": "released"}
    assert held(site) == ["gold-1"]


def test_holds_that_are_named(site: Site) -> None:
    (by_admin,) = site.json("scheduling hold add --node annas --type window")
    (by_ben,) = site.json("scheduling hold add --node annas --type lockout", "ben")
    named = f"{by_admin['Hold']} {by_ben['Hold']} {by_admin['Hold']}"
    tried = site.json(f"scheduling hold remove {named} --dry-run", "ben")
    assert [each["Result"] for each in tried] == ["would be released"] * 2
    done = site.run(f"scheduling hold remove {named} -f json", "ben")
    assert done.returncode == 1
    assert [each["Result"].split(":")[0] for each in json.loads(done.stdout)] == ["refused", "released"]
    done = site.run(f"scheduling hold set {named} --until-released")
    assert (done.returncode, f"There is no hold {by_ben['Hold']}" in done.stderr) == (1, True)
    assert held(site) == ["annas"]
    for options in ("", "--class gold", f"{by_admin['Hold']} --type window"):
        done = site.run(f"scheduling hold remove {options}")
        assert (done.returncode, "Name holds, or give --type" in done.stderr) == (2, True)
    assert site.run(f"scheduling hold set {by_admin['Hold']}").returncode == 2
    assert site.json(f"scheduling hold set {by_admin['Hold'].upper()} --reason fan")[0]["Result"] == "changed"
