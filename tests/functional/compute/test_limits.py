"""/limits and /os-quota-sets: there are none."""

import pytest

from tests.functional.compute import world
from tests.service import Service

NETWORKS = {"floating_ips", "fixed_ips", "security_groups", "security_group_rules"}
FILES = {"injected_files", "injected_file_content_bytes", "injected_file_path_bytes"}
ALWAYS = {"instances", "cores", "ram", "metadata_items", "key_pairs", "server_groups", "server_group_members"}


def test_limits(service: Service, subtests: pytest.Subtests) -> None:
    for version, gone in [
        ("2.1", set()),
        ("2.35", set()),
        ("2.36", {"maxTotalFloatingIps", "maxSecurityGroups", "maxSecurityGroupRules"}),
        ("2.39", {"maxTotalFloatingIps", "maxSecurityGroups", "maxSecurityGroupRules", "maxImageMeta"}),
        (
            "2.57",
            {
                *("maxTotalFloatingIps", "maxSecurityGroups", "maxSecurityGroupRules"),
                *("maxImageMeta", "maxPersonality", "maxPersonalitySize"),
            },
        ),
    ]:
        with subtests.test(version=version):
            first = service.compute("GET", "/limits", version="2.1").json["limits"]["absolute"]
            limits = service.compute("GET", "/limits", version=version).json["limits"]
            assert limits["rate"] == []
            used = {name for name in first if name.endswith("Used")}
            dropped = {"totalFloatingIpsUsed", "totalSecurityGroupsUsed"} if version >= "2.36" else set()
            assert set(limits["absolute"]) == set(first) - gone - dropped
            assert {value for name, value in limits["absolute"].items() if name not in used} == {-1}
            assert {value for name, value in limits["absolute"].items() if name in used} == {0}


def test_limits_of_a_project(database_url: str) -> None:
    admin, user = {"X-Auth-Token": "admin"}, {"X-Auth-Token": "u1:p1"}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.compute("GET", "/limits?tenant_id=p1", headers=admin)
        service.compute("GET", "/limits?tenant_id=p1&reserved=1", headers=user)
        error = service.compute("GET", "/limits?tenant_id=p2", headers=user, status=403).json["forbidden"]
        assert "os_compute_api:limits:other_project" in error["message"]
        service.compute("GET", "/limits?other=1", headers=user, status=400)


def test_quotas(service: Service, subtests: pytest.Subtests) -> None:
    for version, known in [
        ("2.1", ALWAYS | NETWORKS | FILES),
        ("2.36", ALWAYS | FILES),
        ("2.57", ALWAYS),
        ("2.100", ALWAYS),
    ]:
        with subtests.test(version=version):
            for path in ("", "/defaults"):
                quotas = service.compute("GET", f"/os-quota-sets/p1{path}", version=version).json["quota_set"]
                assert quotas == {"id": "p1", **dict.fromkeys(known, -1)}
            details = service.compute("GET", "/os-quota-sets/p1/detail?user_id=u1", version=version).json["quota_set"]
            assert details == {"id": "p1", **{key: {"in_use": 0, "limit": -1, "reserved": 0} for key in known}}


def test_quotas_of_server_groups_are_shown(database_url: str) -> None:
    with Service(database_url, quota={"server_groups": 3, "server_group_members": 0}) as service:
        limited = {"server_groups": 3, "server_group_members": 0}
        for path in ("", "/defaults"):
            quotas = service.compute("GET", f"/os-quota-sets/p1{path}").json["quota_set"]
            assert quotas == {"id": "p1", **dict.fromkeys(ALWAYS, -1), **limited}
        details = service.compute("GET", "/os-quota-sets/p1/detail").json["quota_set"]
        assert {name: details[name]["limit"] for name in ALWAYS} == dict.fromkeys(ALWAYS, -1) | limited
        limits = service.compute("GET", "/limits").json["limits"]["absolute"]
        assert (limits["maxServerGroups"], limits["maxServerGroupMembers"], limits["maxTotalInstances"]) == (3, 0, -1)


def test_quotas_cannot_be_set(service: Service) -> None:
    error = service.compute("PUT", "/os-quota-sets/p1", {"quota_set": {"cores": 1}}, status=501).json["notImplemented"]
    said = "There are no quotas for single projects: [quota] server_groups and server_group_members are for all."
    assert error == {"code": 501, "message": said}
    service.compute("DELETE", "/os-quota-sets/p1", status=202)
    service.compute("GET", "/os-quota-sets/p1?other=1", status=400)


def test_what_servers_use_is_counted(service: Service) -> None:
    for _ in range(2):
        world.create(service)
    flavor, project = world.flavor(), world.REQUESTER.project_id
    used = service.compute("GET", f"/limits?tenant_id={project}").json["limits"]["absolute"]
    assert used["totalInstancesUsed"] == 2
    assert used["totalCoresUsed"] == 2 * flavor["vcpus"]
    assert used["totalRAMUsed"] == 2 * flavor["ram"]
    details = service.compute("GET", f"/os-quota-sets/{project}/detail").json["quota_set"]
    assert details["cores"] == {"in_use": 2 * flavor["vcpus"], "limit": -1, "reserved": 0}
    assert service.compute("GET", "/os-quota-sets/other/detail").json["quota_set"]["instances"]["in_use"] == 0
