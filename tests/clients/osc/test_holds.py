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
    for name in ("gold-1", "gold-2"):
        site.json(f"baremetal node hold add {name} --type operator_hold --reason switch")
    done = site.run(add)
    assert (done.returncode, "by you for the same reason" in done.stderr) == (1, True)
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
    assert sorted({*held(site)}) == GOLD
    there = site.json(f"{add} --or-existing")
    assert ({each["Result"] for each in there}, len(there)) == ({"held already"}, 4)
    done = site.run(f"{add} --skip-refused")
    assert (done.returncode, "No node was held" in done.stderr) == (1, True)
    assert site.run("scheduling hold add --type window").returncode == 2
    assert "--type" in site.run("scheduling hold add --class gold").stderr


def test_the_same_again_is_there_already(site: Site) -> None:
    add = "baremetal node hold add gold-1 --type operator_hold --reason move"
    made = site.json(add)
    again = site.run(add)
    assert again.returncode == 1
    assert f"has hold {made['uuid']} of type operator_hold by you for the same reason" in again.stderr
    assert site.json(f"{add} --or-existing --extra ticket=T-1") == made
    assert site.json(add, "carl")["asserted_by"] == "carl"


def test_ones_own_holds_on_many_nodes(site: Site) -> None:
    """Those of others are counted, unless they are asked for."""
    recall = "scheduling hold add --type operator_hold --reason 'PSU recall' --extra ticket=T-1"
    site.json(f"{recall} --class gold")
    site.json(f"{recall} --node annas", "carl")
    site.json("scheduling hold add --node annas --type operator_hold", "ben")
    site.json("scheduling hold add --node gold-1 --type operator_hold --reason move")
    selected = "--class gold --type operator_hold"
    tried = site.run(f"scheduling hold remove {selected} --dry-run -f json", "carl")
    assert results(json.loads(tried.stdout)) == {"annas": "would be released"}
    assert "6 holds of others are left: --asserted-by all" in tried.stderr
    changed = site.json(f"scheduling hold set {selected} --with-reason 'PSU recall' --ends-at {END}")
    assert [each["Result"] for each in changed] == ["changed"] * 4
    assert held(site, "--asserted-by me --reason 'PSU recall'") == sorted(each["Node"] for each in changed)
    assert (
        held(site, "--asserted-by carl") == held(site, "--extra ticket=T-1 --asserted-by me", user="carl") == ["annas"]
    )
    done = site.run("scheduling hold remove --reason 'PSU recall' -f json")
    assert [each["Result"] for each in json.loads(done.stdout)] == ["released"] * 4
    assert "1 hold of others is left: --asserted-by all" in done.stderr
    assert site.json("scheduling hold remove --extra ticket=T-1 --asserted-by carl")[0]["Asserted By"] == "carl"
    done = site.run(f"scheduling hold remove {selected} --asserted-by all -f json", "ben")
    assert {each["Node"]: each["Result"][:8] for each in json.loads(done.stdout)} == {"annas": "released"}
    assert held(site) == ["gold-1"]
    shown = site.run("scheduling hold list").stdout
    assert all(word in shown for word in ("Asserted By", "admin", "Reason", "move"))


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
    of_person = f"{by_admin['Hold']} --asserted-by me"
    for options in ("", "--class gold", "--asserted-by all", f"{by_admin['Hold']} --type window", of_person):
        done = site.run(f"scheduling hold remove {options}")
        assert (done.returncode, "choose them by --type, --reason or --extra" in done.stderr) == (2, True)
    assert "--with-reason" in site.run("scheduling hold set --class gold --reason x").stderr
    assert site.run("scheduling hold remove --extra ticket").returncode == 2
    assert site.run(f"scheduling hold set {by_admin['Hold']}").returncode == 2
    assert site.json(f"scheduling hold set {by_admin['Hold'].upper()} --reason fan")[0]["Result"] == "changed"
