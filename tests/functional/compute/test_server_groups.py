"""/os-server-groups: the groups themselves; and where their servers are."""

from typing import Any

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.conductor import settings_warnings
from baremetal_sched.db.models import SchemaState
from tests.functional.compute.grouped import Cloud, fleet, get, make, put, racks
from tests.functional.compute.test_servers import UNKNOWN, add_image, boot, message, show
from tests.service import Service
from tests.unchanged import unchanged

ALICE = {"X-Auth-Token": "alice:a", "X-Roles": "member,reader"}
READER = {"X-Auth-Token": "rita:a", "X-Roles": "reader"}
BOB = {"X-Auth-Token": "bob:b", "X-Roles": "member,reader"}
ADMIN = {"X-Auth-Token": "root:ops", "X-Roles": "admin,member,reader"}


# -- the groups themselves ---------------------------------------------------------------------------------------------


def test_documents_of_each_microversion(service: Service, subtests: pytest.Subtests) -> None:
    owner = {"project_id": service.app.settings.compute.project_id, "user_id": service.app.settings.compute.user_id}
    listed = {"policies": ["affinity"], "metadata": {}}
    for version, asked, shown in (
        ("2.1", {"policies": ["affinity"]}, listed),
        ("2.13", {"policies": ["affinity"]}, listed | owner),
        ("2.15", {"policies": ["soft-affinity"]}, {"policies": ["soft-affinity"], "metadata": {}} | owner),
        ("2.64", {"policy": "soft-anti-affinity"}, {"policy": "soft-anti-affinity", "rules": {}} | owner),
        ("2.102", {"policy": "anti-affinity", "rules": {"max_server_per_host": "3"}},
         {"policy": "anti-affinity", "rules": {"max_server_per_host": 3}} | owner),
        ("2.102", {"policy": "anti-affinity", "rules": {"max_server_per_host": 2**31}},
         {"policy": "anti-affinity", "rules": {"max_server_per_host": 2**31 - 1}} | owner),
        ("2.102", {"policy": "anti-affinity", "rules": {"max_server_per_host": "9" * 30}},
         {"policy": "anti-affinity", "rules": {"max_server_per_host": 2**31 - 1}} | owner),
    ):  # fmt: skip
        with subtests.test(version):
            body = {"server_group": {"name": "g", **asked}}
            made = service.compute("POST", "/os-server-groups", body, version=version, status=200).json["server_group"]
            assert made == {"id": made["id"], "name": "g", "members": [], **shown}
            assert get(service, made["id"], version=version) == made
            assert service.compute("GET", "/os-server-groups", version=version).json["server_groups"][-1] == made


def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    for version, asked, said in (
        ("2.14", {"policies": ["soft-affinity"]}, "soft-affinity"),
        ("2.15", {"policies": ["affinity", "anti-affinity"]}, "policies"),
        ("2.15", {"policies": []}, "policies"),
        ("2.63", {"policy": "affinity"}, "policies"),
        ("2.64", {"policies": ["affinity"]}, "polic"),
        ("2.64", {"policy": "affinity", "rules": {"max_server_per_host": 2}}, "Only anti-affinity policy supports"),
        ("2.64", {"policy": "anti-affinity", "rules": {"max_server_per_host": 0}}, "max_server_per_host"),
        ("2.64", {"policy": "anti-affinity", "rules": {"max_server_per_host": "0"}}, "max_server_per_host"),
        ("2.64", {"policy": "anti-affinity", "rules": {"max_server_per_host": "9" * 5000}}, "max_server_per_host"),
        ("2.64", {"policy": "anti-affinity", "rules": {"most": 1}}, "most"),
        ("2.64", {"policy": "legacy"}, "legacy"),
        ("2.64", {"policy": "affinity", "name": " g"}, "name"),
    ):
        with subtests.test(said, version=version):
            body = {"server_group": {"name": "g", **asked}}
            assert said in message(service.compute("POST", "/os-server-groups", body, version=version, status=400))
    for path, status in ((f"/{UNKNOWN}", 404), ("/g", 404), ("?limit=-1", 400), ("?offset=x", 400), ("?name=g", 400)):
        with subtests.test(path):
            service.compute("GET", f"/os-server-groups{path}", status=status)
    assert service.compute("GET", "/os-server-groups").json == {"server_groups": []}


def test_pages(service: Service) -> None:
    made = [make(service) for _ in range(4)]

    def page(query: str) -> list[str]:
        return [each["id"] for each in service.compute("GET", f"/os-server-groups{query}").json["server_groups"]]

    assert (page(""), page("?limit=0"), page("?limit=2&offset=1")) == (made, made, made[1:3])
    service.compute("DELETE", f"/os-server-groups/{made[0]}", status=204)
    service.compute("DELETE", f"/os-server-groups/{made[0]}", status=404)
    assert page("?offset=2") == made[3:]


def test_each_project_has_its_own(database_url: str, subtests: pytest.Subtests) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        own = make(service, headers=ALICE)
        foreign = make(service, headers=BOB)
        for by, query, seen in (
            (ALICE, "", [own]), (ALICE, "?all_projects=1", [own]), (READER, "", [own]), (ADMIN, "", []),
            (ADMIN, "?all_projects", [own, foreign]),
        ):  # fmt: skip
            with subtests.test(query, by=by):
                listed = service.compute("GET", f"/os-server-groups{query}", headers=by).json["server_groups"]
                assert [each["id"] for each in listed] == seen
        unknown = service.compute("GET", f"/os-server-groups/{UNKNOWN}", headers=ALICE, status=404).text
        for method, by, status in (("GET", ALICE, 404), ("DELETE", ALICE, 404), ("GET", ADMIN, 200)):
            with subtests.test(method, by=by):
                answer = service.compute(method, f"/os-server-groups/{foreign}", headers=by, status=status)
                assert status == 200 or answer.text.replace(foreign, UNKNOWN) == unknown
        body = {"server_group": {"name": "g", "policy": "affinity"}}
        service.compute("POST", "/os-server-groups", body, headers=READER, status=403)
        service.compute("DELETE", f"/os-server-groups/{own}", headers=READER, status=403)
        # A group of another project is as unknown as one that does not exist.
        flavor, image = add_flavor_by(service), add_image(service)
        server = {"name": "s", "flavorRef": flavor, "imageRef": image, "networks": "auto"}
        said = [
            message(
                service.compute(
                    "POST", "/servers", {"server": server, "os:scheduler_hints": {"group": group}}, headers=ALICE,
                    status=400,
                )
            )
            for group in (foreign, UNKNOWN)
        ]  # fmt: skip
        assert said == [f"Instance group {each} could not be found." for each in (foreign, UNKNOWN)]
        service.compute("DELETE", f"/os-server-groups/{foreign}", headers=ADMIN, status=204)


def add_flavor_by(service: Service) -> str:
    body = {"flavor": {"name": "bm", "ram": 2048, "vcpus": 4, "disk": 20, "id": "bm"}}
    service.compute("POST", "/flavors", body, headers=ADMIN)
    return "bm"


def test_usage_is_counted(service: Service) -> None:
    make(service)
    project = service.app.settings.compute.project_id
    absolute = service.compute("GET", "/limits").json["limits"]["absolute"]
    assert (absolute["totalServerGroupsUsed"], absolute["maxServerGroups"]) == (1, -1)
    quotas = service.compute("GET", f"/os-quota-sets/{project}/detail").json["quota_set"]
    assert quotas["server_groups"] == {"in_use": 1, "limit": -1, "reserved": 0}


def test_a_project_has_as_many_as_it_may(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}, quota={"server_groups": 2}) as service:
        first, _ = make(service, headers=ALICE), make(service, headers=ALICE)
        body = {"server_group": {"name": "g", "policy": "affinity"}}
        with unchanged(service):
            refused = service.compute("POST", "/os-server-groups", body, headers=ALICE, status=403).json["forbidden"]
        assert refused["message"] == "Quota exceeded, too many server groups."
        make(service, headers=BOB)
        service.compute("DELETE", f"/os-server-groups/{first}", headers=ALICE, status=204)
        make(service, headers=ALICE)


def test_a_group_has_as_many_servers_as_it_may(database_url: str) -> None:
    with Service(database_url, quota={"server_group_members": 3}) as service:
        service.add_conductor("c1")
        cloud = Cloud(service)
        fleet(service, no=4)
        group = make(service, "soft-affinity")
        assert cloud.boot(group, 2) == "BUILD"
        for asked in ({"min_count": 2}, {"min_count": 1, "max_count": 2}):
            with unchanged(service):
                answer = boot(service, cloud.flavor, cloud.image, hints={"group": group}, status=403, **asked)
            assert message(answer) == "Quota exceeded, too many servers in group"
        assert cloud.boot(group) == "BUILD"
        assert cloud.boot(None) == "BUILD"
        boot(service, cloud.flavor, cloud.image, hints={"group": group}, status=403)
        assert len(get(service, group)["members"]) == 3


def test_none_is_made_while_an_earlier_release_may_serve(service: Service) -> None:
    service.database.write(lambda session: session.execute(update(SchemaState).values(served_since="0027")) and None)
    body = {"server_group": {"name": "g", "policy": "affinity"}}
    assert "db upgrade --finish" in message(service.compute("POST", "/os-server-groups", body, status=503))
    service.compute("GET", "/os-server-groups", status=200)


# -- where their servers are -------------------------------------------------------------------------------------------


def test_a_server_shows_its_group(cloud: Cloud) -> None:
    service, group = cloud.service, make(cloud.service)
    fleet(service, r1=2)
    cloud.boot(group)
    cloud.boot(None)
    (member,) = get(service, group)["members"]
    assert show(service, member)["server_groups"] == [group]
    body: dict[str, Any] = {"server": {"name": "renamed"}}
    for version in ("2.71", "2.100"):
        changed = service.compute("PUT", f"/servers/{member}", body, version=version).json["server"]
        assert changed["server_groups"] == [group]
    assert "server_groups" not in show(service, member, "2.70")
    service.compute("DELETE", f"/os-server-groups/{group}", status=204)
    assert show(service, member)["server_groups"] == []
    assert show(service, member)["status"] == "BUILD"


def test_a_level_without_domains_is_warned_of(cloud: Cloud) -> None:
    for warned in (True, False):
        with capture_logs() as logs:
            settings_warnings.warn(cloud.service.database, cloud.service.app.settings)
        assert [line["server_group_level"] for line in logs] == ["rack"] * warned
        put(cloud.service, "r1")


def test_hints_that_name_no_group(cloud: Cloud, subtests: pytest.Subtests) -> None:
    for hint in ("g", ["g"], [], 5, None, {}, [UNKNOWN, UNKNOWN], UNKNOWN):
        with subtests.test(hint=hint):
            answer = boot(cloud.service, cloud.flavor, cloud.image, hints={"group": hint}, status=400)
            assert "group" in message(answer)
    fleet(cloud.service, r1=1)
    group = make(cloud.service)
    assert boot(cloud.service, cloud.flavor, cloud.image, hints={"group": [group.upper()]}).status_int == 202
    assert len(get(cloud.service, group)["members"]) == 1


def test_anti_affinity(cloud: Cloud) -> None:
    fleet(cloud.service, r1=3, r2=1, no=4)
    group = make(cloud.service)
    said = cloud.boots(group, 3)
    assert said == ["BUILD", "BUILD", (
        "No valid host was found. No node that matches is free. Of 4 nodes, 4 are in a rack that has 1 server of the "
        "server group."
    )]  # fmt: skip
    assert racks(cloud.service, group) == {"r1": 1, "r2": 1}
    two = make(cloud.service, most=2)
    assert [each == "BUILD" for each in cloud.boots(two, 3)] == [True, True, False]
    assert racks(cloud.service, two) == {"r1": 2}


def test_affinity(cloud: Cloud) -> None:
    fleet(cloud.service, r1=2, r2=2, no=1)
    group = make(cloud.service, "affinity")
    said = cloud.boots(group, 3)
    ((rack, number),) = racks(cloud.service, group).items()
    assert (said[:2], number) == (["BUILD", "BUILD"], 2)
    assert f"are not in rack {rack}, where the server group is" in said[2]


def test_the_next_member_is_found_without_a_search(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of the machines of its domains: no others are read, however many are free."""
    for rack, policy in (("r1", "affinity"), ("r2", "soft-affinity")):
        fleet(cloud.service, **{rack: 2})
        group = make(cloud.service, policy)
        assert cloud.boot(group) == "BUILD"
        with monkeypatch.context() as without:
            without.setattr(TreeRequest, "trees", None)
            assert cloud.boot(group) == "BUILD"
        assert racks(cloud.service, group) == {rack: 2}


def test_soft_policies_refuse_nothing(cloud: Cloud) -> None:
    fleet(cloud.service, no=1, r1=3, r2=1)
    group = make(cloud.service, "soft-anti-affinity")
    assert cloud.boots(group, 3) == ["BUILD"] * 3
    assert racks(cloud.service, group) == {"r1": 2, "r2": 1}
    assert cloud.boots(group, 2) == ["BUILD"] * 2
    assert racks(cloud.service, group) == {"r1": 3, "r2": 1, None: 1}
    with_two = fleet(cloud.service, r3=2, none=0)["r3"]
    near = make(cloud.service, "soft-affinity")
    extra = cloud.service.add_node("extra")
    put(cloud.service, "r4", extra)
    assert cloud.boots(near, 3) == ["BUILD"] * 3
    assert racks(cloud.service, near) == {"r3": len(with_two), "r4": 1}


def test_several_at_once_are_all_or_none(cloud: Cloud) -> None:
    fleet(cloud.service, r1=2, r2=4, r3=2, no=5)
    near, apart = make(cloud.service, "affinity"), make(cloud.service)
    assert "are in a rack with fewer than 5 machines that fit and are free" in cloud.boot(near, 5)
    assert racks(cloud.service, near) == {}
    assert cloud.boot(near, 4) == "BUILD"
    assert racks(cloud.service, near) == {"r2": 4}
    only = (
        "No valid host was found. Only 2 of the 3 servers can be placed. At most 1 server of the server group may be in"
    )
    assert cloud.boot(apart, 3).startswith(f"{only} one rack. None of the 3 servers was built")
    assert racks(cloud.service, apart) == {}
    assert cloud.boot(apart, 2) == "BUILD"
    assert racks(cloud.service, apart) == {"r1": 1, "r3": 1}
    soft = make(cloud.service, "soft-affinity")
    assert cloud.boot(soft, 7) == "BUILD"
    assert racks(cloud.service, soft).total() == 7


def test_without_a_level_the_host_is_the_machine(service: Service) -> None:
    cloud = Cloud(service)
    fleet(service, no=9)
    apart, near, soft = make(service), make(service, "affinity"), make(service, "soft-affinity")
    assert cloud.boots(apart, 2) == ["BUILD"] * 2
    assert cloud.boots(soft, 2) == ["BUILD"] * 2
    first, second = cloud.boots(near, 2)
    assert (first, "[compute] server_group_level is not set" in second) == ("BUILD", True)
    assert "[compute] server_group_level is not set" in cloud.boot(near, hints={"wait": "60"})
    said = cloud.boot(make(service, "affinity"), 2)
    assert "Only 1 of the 2 servers can be placed. A server group with affinity has one server, as [compute]" in said
    assert "other machine" not in said


def test_members_count_where_their_machines_are(cloud: Cloud) -> None:
    nodes = fleet(cloud.service, r1=2, r2=2)
    group = make(cloud.service)
    cloud.boot(group)
    (member,) = get(cloud.service, group)["members"]
    (node,) = (each for some in nodes.values() for each in some if cloud.service.node(each)["instance_uuid"] == member)
    put(cloud.service, "r3", node)  # a node that moves keeps its server
    assert cloud.boots(group, 2) == ["BUILD"] * 2
    assert racks(cloud.service, group) == {"r1": 1, "r2": 1, "r3": 1}
    # A server in error keeps its machine, and its place.
    cloud.service.set_columns(node, provision_state="error")
    put(cloud.service, "r3", cloud.service.add_node("late"))
    assert cloud.boot(group) != "BUILD"


def test_servers_that_are_requested_together_do_not_count_each_other(cloud: Cloud) -> None:
    """Why they are too many is said of the racks as they are without them."""
    fleet(cloud.service, r1=1, r2=2, r3=2)
    group = make(cloud.service)
    assert cloud.boot(group) == "BUILD"
    said = cloud.boot(group, 3)
    assert "Only 2 of the 3 servers can be placed." in said
    assert "are in a rack that has" not in said
