"""The page that finds machines, and says why there are none."""

import pytest

from baremetal_sched.baremetal.matching import explanation
from tests.functional.compute.test_booting import add_child
from tests.functional.compute.world import ZEROS
from tests.functional.scheduling.test_several import fill
from tests.functional.ui.pages import Document, look
from tests.functional.ui.test_fleet import ADMIN
from tests.restored import Rows
from tests.service import Service

FITTING = "Machines that fit"
RULED_OUT = "Machines ruled out, condition by condition"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def leads(document: Document, *words: str) -> str:
    """The only link to a changed form whose address has these words."""
    (link,) = [
        each for each in document.links() if each.startswith("/ui/find?") and all(word in each for word in words)
    ]
    return link.removeprefix("/ui")


def ruled_out(document: Document, caption: str = RULED_OUT) -> dict[str, tuple[str, str]]:
    return {row[0]: (row[1], row[3]) for row in document.rows(caption)}


def test_an_empty_form(service: Service) -> None:
    document = look(service, "/find")
    assert [each.get("name") for each in document.all("input")] == [
        *("class", "amount", "required", "forbidden", "any", "query", "wanted")
    ]
    assert document.all("form") == [{"method": "get", "action": "/ui/find", "aria-label": "Find machines"}]
    assert "h2" not in [where for where, _ in document.texts]
    # As browsers submit it.
    empty = look(service, "/find?class=&amount=&required=&forbidden=&any=&query=&wanted=")
    assert empty.text == document.text


def test_from_nothing_to_the_machine(service: Service) -> None:
    """A request that finds nothing says why, and the link to a smaller one finds the machine."""
    service.add_node("plain")
    old = service.add_node("old", traits=("CUSTOM_NVME", "CUSTOM_OLD"))
    taken = service.add_node("taken", traits=("CUSTOM_NVME",))
    service.claim(CONSUMER, taken)
    document = look(service, "/find?class=gold&required=CUSTOM_NVME&forbidden=CUSTOM_OLD")
    assert ("h2", "No machine fits") in document.texts
    assert "Some would if they were free." in document.text
    assert ruled_out(document)["has CUSTOM_NVME"] == ("1", "1")
    assert ruled_out(document)["does not have CUSTOM_OLD"] == ("1", "1")
    assert document.rows("Why they are not free") == [["allocated", "1"]]
    assert len(document.all("svg")) == len(document.rows(RULED_OUT))
    assert "Leave out “ does not have CUSTOM_OLD ” : 1 machine would fit" in document.text
    found = look(service, leads(document, "required=CUSTOM_NVME"))
    assert ("h2", "1 machine fits") in found.texts
    assert found.rows(FITTING) == [["old", "gold", "(default)"]]
    assert f"/ui/nodes/{old}" in found.links()
    # The form has what was asked for, and a query can ask for the same.
    assert {each["name"]: each["value"] for each in found.all("input") if each.get("value")} == {
        "class": "CUSTOM_GOLD",
        "required": "CUSTOM_NVME",
    }
    raw = look(service, "/find?query=resources%3DCUSTOM_GOLD:1%26required%3DCUSTOM_NVME,!CUSTOM_OLD")
    assert ruled_out(raw) == ruled_out(document)
    assert look(service, leads(raw, "CUSTOM_NVME")).rows(FITTING) == found.rows(FITTING)


def test_fewer_than_wanted(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_A",))
    service.add_node("n2", traits=("CUSTOM_B",))
    service.add_node("n3")
    document = look(service, "/find?class=gold&any=CUSTOM_A&any=CUSTOM_A,CUSTOM_B&wanted=2")
    assert "fewer than are wanted" in document.text
    assert [each.get("value") for each in document.all("input") if each.get("name") == "any"] == [
        "CUSTOM_A",
        "CUSTOM_A,CUSTOM_B",
    ]
    more = look(service, leads(document, "any=CUSTOM_A%2CCUSTOM_B", "wanted=2"))
    assert sorted(row[0] for row in more.rows(FITTING)) == ["n1", "n2"]


def test_several_spread_and_together(service: Service, row: Rows) -> None:
    """The page says where the machines run out, keeps that in its links, and prints the command that claims them."""
    service.add_conductor("c1")
    fill(service, a=2, b=1)
    service.add_node("x-0", traits=("CUSTOM_A",))
    options = [each.get("value") for each in look(service, "/find").all("option")]
    assert options == ["", "rack", "", "rack"]
    claim = "openstack scheduling claim --query resources=CUSTOM_GOLD%3A1 --wait 1h --count"
    for query, heading, said, command in [
        (
            "wanted=3&spread=rack",
            "Wait for 3",
            "at most 1 in the same rack (domains with room: 2)",
            "3 --spread rack:1",
        ),
        ("wanted=3&spread=rack&at_most=2", "Claim 3", "as many machines as are wanted", "3 --spread rack:2"),
        ("wanted=3&pack=rack", "Wait for 3", "into one rack (a).", "3 --pack rack"),
        ("wanted=2&pack=rack&spread=rack&at_most=2", "Claim 2", "", "2 --spread rack:2 --pack rack"),
        ("wanted=4", "Claim 4", "", "4"),
    ]:
        with row(query):
            document = look(service, f"/find?class=gold&{query}")
            assert ("h2", heading) in document.texts
            assert said in document.text
            assert ("code", f"{claim} {command}") in document.texts
    document = look(service, "/find?class=gold&required=CUSTOM_A&wanted=2&spread=rack&at_most=2")
    assert "In no rack: 1." in document.text
    fewer = look(service, leads(document, "wanted=2", "spread=rack", "at_most=2"))
    assert ("h2", "Claim 2") in fewer.texts
    assert "Choose the level" in look(service, "/find?class=gold&at_most=2", 400).text
    assert "from 1 to 100" in look(service, "/find?class=gold&pack=rack&wanted=101", 400).text
    assert ("h2", "Wait for 101") not in look(service, "/find?class=gold&wanted=101").texts


def test_what_never_fits_is_not_to_be_claimed(service: Service) -> None:
    """A claim of it is refused, also one that would wait."""
    service.add_node("n1")
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"})
    assert ("h2", "Wait for one") in look(service, "/find?class=gold").texts
    assert "scheduling claim" not in look(service, "/find?class=gld").text


def test_names_that_there_are_not(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_NVME",))
    document = look(service, "/find?class=gold&required=CUSTOM_NVEM,CUSTOM_UNHEARD_OF")
    assert "Nothing is called CUSTOM_UNHEARD_OF ." in document.text
    assert "Did you mean CUSTOM_NVME (1 machine has it)?" in document.text
    assert "CUSTOM_NVME%2CCUSTOM_UNHEARD_OF" in leads(document, "CUSTOM_NVME%2C")
    document = look(service, "/find?class=godl")
    assert look(service, leads(document, "class=CUSTOM_GOLD")).rows(FITTING)[0][0] == "n1"


def test_machines_that_nothing_serves(service: Service) -> None:
    uuid = service.add_node("n1")
    flavor = service.add_flavor("bm.gold", specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
    service.set_columns(uuid, conductor_group="rack9")
    document = look(service, f"/find?flavor={flavor}")
    assert "unserved" in document.text
    assert document.rows("Conductor groups with machines that would fit if they were served") == [["rack9", "0", "1"]]
    assert "/ui/groups/rack9" in document.links()


def test_flavors_and_images(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_A",))
    specs = {"resources:CUSTOM_GOLD": "1", "trait:CUSTOM_B": "required", "capabilities:boot_mode": "uefi", **ZEROS}
    flavor = service.add_flavor("<script>", specs=specs)
    document = look(service, f"/find?flavor={flavor}")
    assert ("option", "<script>") in document.texts
    assert [each.get("value") for each in document.all("option") if "selected" in each] == [flavor, ""]
    assert "The links ask by a query instead of the flavor" in document.text
    changed = look(service, leads(document, "query="))
    assert [row[0] for row in changed.rows(FITTING)] == ["n1"]
    simple = service.add_flavor("bm.gold", specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
    assert [row[0] for row in look(service, f"/find?flavor={simple}").rows(FITTING)] == ["n1"]
    body = {"name": "needs-b", "disk_format": "raw", "container_format": "bare", "trait:CUSTOM_B": "required"}
    image = service.http.post_json("/image/v2/images", body).json["id"]
    document = look(service, f"/find?flavor={simple}&image={image}")
    assert ruled_out(document)["has CUSTOM_B"] == ("1", "1")
    assert [row[0] for row in look(service, leads(document, "query=")).rows(FITTING)] == ["n1"]
    assert "could not be found" in look(service, "/find?flavor=nothing", 400).text
    assert "No image found" in look(service, f"/find?flavor={simple}&image={CONSUMER}", 400).text


def test_machines_that_are_trees(service: Service) -> None:
    root = service.add_node("n1")
    add_child(service, root, "fpga-of-n1", "CUSTOM_FPGA", total=2)
    asked = "resources%3DCUSTOM_GOLD:1%26resources1%3DCUSTOM_FPGA:{}"
    document = look(service, f"/find?query={asked.format(1)}")
    assert document.rows(FITTING) == [["n1", "gold", "(default)"]]
    assert [text for where, text in document.texts if where == "h3"]
    document = look(service, f"/find?query={asked.format(3)}")
    assert ("h2", "No machine fits") in document.texts
    assert "can give 3 of CUSTOM_FPGA" in document.text
    assert ("h2", "The closest machine") in document.texts
    assert f"/ui/nodes/{root}" in document.links()
    assert [row[0] for row in look(service, leads(document, "query=")).rows(FITTING)] == ["n1"]


def test_a_provider_that_is_no_node(service: Service) -> None:
    body = {"name": "<b>", "uuid": CONSUMER}
    service.placement("POST", "/resource_providers", body)
    stock = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    service.placement("PUT", f"/resource_providers/{CONSUMER}/inventories", stock)
    document = look(service, "/find?class=VCPU&amount=4")
    assert document.rows(FITTING) == [["<b> (not a node)", "none", "none"]]
    assert f"/ui/nodes/{CONSUMER}" not in document.links()


@pytest.mark.sqlite_only
def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    for query, said in [
        ("required=CUSTOM_A", "Fill in a resource class"),
        ("class=gold&query=resources%3DVCPU:1", "a resource class or a query"),
        ("query=resources", "Badly formed resources parameter"),
        ("query=%3Cscript%3E%3D1", "<script>"),
        ("query=resources%3DVCPU:1%26required%3DHW_%25FF", "UTF-8"),
        ("query=a%3D%2500", "NUL"),
        ("query=resources%3DVCPU:1%26required%3D" + ",".join(f"CUSTOM_{n}" for n in range(600)), "too many"),
        ("class=gold&required=%E2%80%AE", "Invalid required"),
        ("class=gold&amount=1e9", "from 1 to"),
        ("class=gold&colour=red", "Unexpected arguments: colour"),
    ]:
        with subtests.test(query=query):
            document = look(service, f"/find?{query}", 400)
            assert said in document.text


@pytest.mark.sqlite_only
def test_hostile_names_are_texts(service: Service) -> None:
    service.add_node("n1")
    document = look(service, "/find?class=%3Cscript%3E%22%26%E2%80%AE")
    assert "<script>" not in document.text  # as placement would call it
    assert "CUSTOM__SCRIPT_" in document.text
    assert {"name": "class", "value": '<script>"&\u202e'}.items() <= document.all("input")[0].items()
    document = look(service, "/find?query=resources%3D%3Cscript%3E:1")
    assert "Nothing is called <script> ." in document.text
    look(service, "/find?class=" + "x" * 5000)
    look(service, "/find?class=gold&required=" + ",".join(f"CUSTOM_{place}" for place in range(150)))


def test_the_number_of_statements_does_not_depend_on_the_fleet(service: Service, subtests: pytest.Subtests) -> None:
    for nodes in [0, 8]:
        with subtests.test(nodes=nodes):
            for place in range(nodes):
                service.add_node(f"n{place}", traits=(f"CUSTOM_{place}",))
            with service.statements() as statements:
                look(service, "/find?class=gold&required=CUSTOM_NVEM&forbidden=CUSTOM_1")
            assert len(statements) <= 14
            with service.statements() as statements:
                document = look(service, "/find?class=gold")
            assert len(statements) <= 17
            assert (FITTING in document.tables) == bool(nodes)


@pytest.mark.sqlite_only
def test_more_than_is_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.ui.find.view.MOST_MACHINES", 2)
    monkeypatch.setattr("baremetal_sched.ui.find.view.MOST_CHANGES", 1)
    monkeypatch.setattr("baremetal_sched.ui.find.view.MOST_CONDITIONS", 3)
    for place in range(3):
        service.add_node(f"n{place}", traits=(f"CUSTOM_{place}",))
    document = look(service, "/find?class=gold")
    assert len(document.rows(FITTING)) == 2
    assert "2 of 3 are listed." in document.text
    document = look(service, "/find?class=gold&required=CUSTOM_0,CUSTOM_1")
    assert "And 1 more change." in document.text
    assert len(document.rows(RULED_OUT)) == 3
    assert "more conditions." in document.text


@pytest.mark.sqlite_only
def test_two_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "_PATIENCE", 0)
    with explanation.one_of_few(), explanation.one_of_few():
        answer = service.http.get("/ui/find?class=gold", status=503)
        assert "Retry-After" in answer.headers
        assert "503 Service Unavailable" in answer.text
        look(service, "/find")
    look(service, "/find?class=gold")


def test_tenants_find_what_they_may_use(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        bert = service.add_node("secret-of-bert", owner="b", traits=("CUSTOM_SECRET",))
        service.add_node("leased", owner="b", lessee="a")
        service.add_node("common")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        document = look(service, "/find?class=gold", **anna)
        assert ("h2", "2 machines fit") in document.texts
        assert document.rows(FITTING) == [["leased", "gold", "(default)"]]
        assert "1 of 2 are listed." in document.text
        document = look(service, "/find?class=gold&required=CUSTOM_SECERT", **anna)
        assert "CUSTOM_SECRET" not in document.text
        document = look(service, "/find?class=gold&required=CUSTOM_SECRET", **anna)
        assert "secret-of-bert" not in document.text
        assert bert not in " ".join(document.links())
        assert len(look(service, "/find?class=gold", **ADMIN).rows(FITTING)) == 3
        # A level of which they see no domain is not offered.
        rack = {"name": "r1", "level": "rack"}
        uuid = service.http.post_json("/scheduling/v1/domains", rack, headers=ADMIN).json["uuid"]
        service.http.put(f"/scheduling/v1/domains/{uuid}/nodes/secret-of-bert", headers=ADMIN, status=204)
        offered = [
            {each.get("value") for each in look(service, "/find", **by).all("option")} >= {"rack"}
            for by in (anna, ADMIN)
        ]
        assert offered == [False, True]
        # Nor is it named elsewhere, also not by an administrator of their project.
        for by, named in ((anna, False), ({**anna, "X-Roles": "admin,manager,member,reader"}, False), (ADMIN, True)):
            assert ("rack" in look(service, "", **by).text) == named
        assert "level=rack" not in service.http.get("/ui/capacity", headers=anna).text
        look(service, "/find", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
