# tier: ci
"""Claims of each kind of caller, with users of the file: in every form of the command."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.in_process import People, password_of, people
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.ui.test_ends import end
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.filterwarnings("ignore")]

ROLES = {
    "member": "{roles: [member], project_id: blue}",
    "reader": "{roles: [reader], project_id: blue}",
    "manager": "{roles: [admin], project_id: blue}",
    "system": "{roles: [admin], system_scope: all}",
    "observer": "{roles: [reader], system_scope: all}",
}
#: Owners of machines of class gold; those of green are not for blue.
OWNERS = {"n1": None, "n2": None, "n3": "blue", "n4": "green", "n5": "green"}
A, B = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"

#: Commands that a member may give, with the number of machines.
FORMS = {
    "--class gold": 1,
    "--class gold --trait CUSTOM_NVME": 1,
    "--resource CUSTOM_GOLD=1 --required CUSTOM_NVME": 1,
    "--query resources=CUSTOM_GOLD:1": 1,
    "--class gold --wait 1m": 1,
    "--class gold --count 3": 3,
    "--class gold --count 3 --wait 1m": 3,
    "--class gold --count 2 --machine-group db": 2,
    "--class gold --project-id blue": 1,
    "--class gold --for 8h": 1,
    "--class gold --until 2050-01-01 --wait 1m": 1,
    "--class gold --count 2 --for 8h": 2,
    "--class gold --no-end": 1,
    f"--class gold --consumer {A}": 1,
    f"--class gold --count 2 --consumer {A}": 2,
}


@pytest.fixture
def both(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, People]]:
    with people(database_url, ROLES, tmp_path, monkeypatch) as (service, openstack):
        service.add_conductor("c1")
        for name, owner in OWNERS.items():
            service.add_node(name, traits=("CUSTOM_NVME",), owner=owner)
        yield service, openstack


def claims(openstack: People, user: str = "system") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(openstack.run(user, "scheduling claim list --long -f json").stdout)
    return found


def test_a_member_claims_in_every_form(both: tuple[Service, People], subtests: pytest.Subtests) -> None:
    _, openstack = both
    for options, number in FORMS.items():
        with subtests.test(options=options):
            done = openstack.run("member", f"scheduling claim {options} -f json")
            assert (done.returncode, len(json.loads(done.stdout or "[]"))) == (0, number), done.stderr
            (claim,) = claims(openstack)
            assert (claim["State"], claim["Project"]) == ("claimed", "blue")
            assert openstack.run("member", f"scheduling claim cancel {claim['Claim']}").returncode == 0


def test_an_explanation_and_a_claim_agree(both: tuple[Service, People], subtests: pytest.Subtests) -> None:
    """About the number of machines that the project may use: its own, and those of nobody."""
    _, openstack = both
    for options in ("--class gold", "--class gold --trait CUSTOM_NVME", "--resource CUSTOM_GOLD=1"):
        for user, number in {"member": 3, "system": 5}.items():
            with subtests.test(options=options, user=user):
                explained = openstack.run(user, f"scheduling explain {options} --wanted {number} -f json")
                assert (explained.returncode, json.loads(explained.stdout)["fitting"]) == (0, number)
                assert openstack.run(user, f"scheduling claim {options} --count {number + 1}").returncode == 3
                assert openstack.run(user, f"scheduling claim {options} --count {number}").returncode == 0
                (claim,) = claims(openstack)
                assert openstack.run(user, f"scheduling claim cancel {claim['Claim']}").returncode == 0
    own = openstack.run("member", "scheduling explain --class gold --owner blue -f json")
    assert json.loads(own.stdout)["fitting"] == 1


#: By user and options: exit status and a part of the message.
REFUSED = [
    ("member", "--class gold --project-id green", 1, "scheduling:claims:create"),
    ("member", "--class gold --count 101", 1, "--count at most 100"),
    ("member", f"--class gold --consumer {A} --consumer {B}", 1, "--count at most 100"),
    ("member", "--resource VCPU=1", 1, "--count at most 100"),
    ("member", "--class gold --count 101 --for 8h", 2, "--machine-group, --booking and an end"),
    ("member", "--resource VCPU=1 --for 8h", 2, "one unit of a node's custom class"),
    ("member", "--class gold --until 2020-01-01", 2, "The end must be later than now: 20"),
    ("member", "--class gold --for 0", 2, "for"),
    ("member", "--resource VCPU=1 --wait 1m", 2, "one unit of a node's custom class"),
    ("member", "--class golden", 2, "Did you mean 'gold'?"),
    ("member", "--class golden --wait 1m", 2, "No machine has the resource class 'golden'."),
    ("member", "--class gold --trait CUSTOM_OLD", 3, "CUSTOM_OLD"),
    ("reader", "--class gold", 1, "scheduling:claims:create"),
    ("manager", "--class gold --count 101", 3, "101 are wanted, and there are 5"),
    ("manager", "--class gold --project-id green", 1, "scheduling:claims:create"),
    ("system", "--class golden", 2, "Did you mean 'gold'?"),
    ("system", "--class gold --count 6", 3, "Only 5"),
]  # fmt: skip


def test_refusals(both: tuple[Service, People], subtests: pytest.Subtests) -> None:
    _, openstack = both
    for user, options, status, words in REFUSED:
        with subtests.test(user=user, options=options):
            done = openstack.run(user, f"scheduling claim {options}")
            assert (done.returncode, words in done.stderr) == (status, True), done.stderr
    assert claims(openstack) == []


def test_only_placement_claims_for_named_consumers(both: tuple[Service, People]) -> None:
    _, openstack = both
    done = openstack.run("manager", f"scheduling claim --class gold --consumer {A} --consumer {B} -f json")
    assert sorted(each["Consumer"] for each in json.loads(done.stdout)) == [A, B]
    assert claims(openstack) == []
    again = openstack.run("manager", f"scheduling claim --class gold --consumer {A}")
    assert (again.returncode, "has allocations already" in again.stderr) == (1, True)


def test_a_class_whose_machines_are_all_in_use_is_known(both: tuple[Service, People]) -> None:
    """Although the project owns none of them."""
    service, openstack = both
    (own,) = json.loads(openstack.run("member", "baremetal node find -f json").stdout)
    service.set_columns(own["UUID"], owner=None)
    assert openstack.run("member", "scheduling claim --class gold --count 3").returncode == 0
    done = openstack.run("member", "scheduling claim --class gold")
    assert (done.returncode, "No node that matches is free" in done.stderr) == (3, True)
    assert json.loads(openstack.run("member", "scheduling explain --class gold -f json").stdout)["unknown"] == []
    done = openstack.run("member", "scheduling claim --class golden")
    assert (done.returncode, "Placement has similar classes: CUSTOM_GOLD" in done.stderr) == (2, True)


def test_a_server_is_explained_to_those_to_whom_no_images_are_shown(both: tuple[Service, People]) -> None:
    """By the id of its image; the image API is not for readers of the system."""
    service, openstack = both
    image = add_image(service, "debian")
    service.http.authorization = ("Basic", ("system", password_of("system")))
    add_flavor(service, "bm")
    assert openstack.run("observer", f"scheduling explain --flavor bm --image {image}").returncode == 0
    refused = openstack.run("observer", "scheduling explain --flavor bm --image debian")
    assert (refused.returncode, "get_image" in refused.stderr) == (1, True)


#: A mistake is one sentence, with one exit status, whichever the command: options, status, all of the message.
_UNKNOWN = "No machine has the resource class 'gld'. Did you mean 'gold'?"
MISTAKES = [
    *(
        (f"scheduling claim --class gld {options}", 2, _UNKNOWN)
        for options in ("", "--wait 9", "--count 2 --pack rack")
    ),
    ("scheduling claim list --class gld", 0, _UNKNOWN),
    ("scheduling hold list --class gld", 0, _UNKNOWN),
    ("scheduling hold remove --class gld --type window", 0, _UNKNOWN),
    (f"scheduling claim cancel {A}", 1, f"There is no claim {A}."),
    (f"scheduling claim show {A}", 1, f"There is no claim {A}."),
    *(
        (
            f"{command} --type window --ends-at 2020-01-01",
            2,
            "--ends-at must be later than now, and later than --starts-at.",
        )
        for command in ("scheduling hold add --node n1", "baremetal node hold add n1")
    ),
    ("baremetal node hold set n1 x --until-released", 1, "There is no hold x of node"),
    (
        "scheduling domain create r --level Rack",
        2,
        "Invalid input for field/attribute level. Value: Rack. It must be a word in lower case, such as rack: a "
        "letter, then letters, digits, _ and -.",
    ),
    (
        "scheduling claim --class gold --count 6",
        3,
        "Only 5 nodes can be had. Of 6 nodes, 1 has no gold.",
    ),
    (
        "scheduling claim --class gpu-h100 --wait 9 --count 2",
        3,
        "Only 1 node can be had. Of 6 nodes, 5 have no gpu-h100. Waiting is refused, because no machine would fit even "
        "if all were free; --even-if-impossible allows it.",
    ),
]


def test_a_mistake_is_one_sentence(both: tuple[Service, People], subtests: pytest.Subtests) -> None:
    service, openstack = both
    service.add_node("n6", resource_class="gpu-h100")
    assert openstack.run("system", "scheduling domain create rack-1 --level rack").returncode == 0
    for command, status, words in MISTAKES:
        with subtests.test(command=command):
            done = openstack.run("system", command)
            said = done.stderr.strip()
            assert (done.returncode, said if words.endswith((".", "?")) else said[: len(words)]) == (status, words)
            assert done.stdout == ""
    assert claims(openstack) == []


def test_the_list_shows_ends(both: tuple[Service, People]) -> None:
    """In the column in which it otherwise shows since when, and which are late; in lines of at most 100 characters."""
    service, openstack = both
    table = "scheduling claim list"
    openstack.run("member", f"scheduling claim --class gold --consumer {A} --until 2050-01-01T00:00Z")
    openstack.run("member", f"scheduling claim --class gold --consumer {B}")
    lines = openstack.run("system", table).stdout.splitlines()
    rows = {cells[1]: cells[2:-1] for line in lines if (cells := [cell.strip() for cell in line.split("|")])[1:]}
    assert [cell for cell in rows["Claim"] if cell == "Until"]
    assert rows[A][-1] == "2050-01-01T00:00:00Z"
    assert rows[B][-1] == ""
    assert max(map(len, lines)) <= 100
    end(service, A, "late", "The node is being cleaned.")
    assert f"| {A} | late " in openstack.run("system", f"{table} --late").stdout
    assert B not in openstack.run("system", f"{table} --late").stdout
    assert "The node is being cleaned." in openstack.run("member", f"scheduling claim show {A}").stdout


def test_an_end_is_moved_and_removed(both: tuple[Service, People]) -> None:
    _, openstack = both
    openstack.run("member", f"scheduling claim --class gold --consumer {A}")
    moved = openstack.run("member", f"scheduling claim set {A} --until 2050-01-01T00:00+01:00 -f json")
    assert json.loads(moved.stdout)["until"] == "2049-12-31T23:00:00.000000+00:00"
    assert json.loads(openstack.run("member", f"scheduling claim set {A} --no-end -f json").stdout)["until"] is None
    done = openstack.run("reader", f"scheduling claim set {A} --for 2h")
    assert (done.returncode, "scheduling:claims" in done.stderr) == (1, True)
    with pytest.raises(SystemExit):
        openstack.run("member", f"scheduling claim set {A}")
    done = openstack.run("member", f"scheduling claim set {B} --for 2h")
    assert (done.returncode, done.stderr.strip()) == (1, f"There is no claim {B}.")


def test_of_several_claims_those_that_are_there_are_canceled(both: tuple[Service, People]) -> None:
    _, openstack = both
    assert openstack.run("member", f"scheduling claim --class gold --consumer {B}").returncode == 0
    table = openstack.run("system", "scheduling claim list").stdout.split("\n")[3]
    assert [cell.strip() for cell in table.split("|")][1:4] == [B, "claimed", "gold"]
    assert table.split("|")[4].strip() in OWNERS
    done = openstack.run("member", f"scheduling claim cancel {A} {B}")
    assert (done.returncode, done.stderr.strip()) == (1, f"There is no claim {A}.")
    assert claims(openstack) == []
