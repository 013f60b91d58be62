"""Answers of the compute API fit Nova's own schemas of each microversion, and have the members of Nova's samples.

Nova is installed once, and kept in pytest's cache; NOVA_PYTHON names a Python that has it instead.
"""

import pytest

from tests.conformance.compute.answers import Answers, says
from tests.service import Service

pytestmark = pytest.mark.slow

#: Microversions that clients send, and microversions at which these answers change.
VERSIONS = (1, 2, 6, 7, 10, 13, 15, 35, 36, 39, 54, 55, 57, 61, 64, 75, 84, 92, 100, 104)

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9"


def ask_for_flavors(answers: Answers) -> None:
    body = {"name": "gold", "ram": 512, "vcpus": 1, "disk": 1, "id": "gold"}
    answers.ask(
        "flavors.create_response", "POST", "/flavors", {"flavor": body}, "flavor-manage/flavor-create-post-resp"
    )
    specs = {"extra_specs": {"resources:CUSTOM_GOLD": "1", "plain": "x"}}
    path = "/flavors/gold/os-extra_specs"
    answers.ask("flavors_extraspecs.create_response", "POST", path, specs)
    answers.ask("flavors_extraspecs.index_response", "GET", path)
    answers.ask("flavors_extraspecs.update_response", "PUT", f"{path}/plain", {"plain": "y"})
    answers.ask("flavors_extraspecs.show_response", "GET", f"{path}/plain")
    if answers.version >= 55:
        body = {"flavor": {"description": "new"}}
        answers.ask("flavors.update_response", "PUT", "/flavors/gold", body, "flavor-manage/flavor-update-resp")
    answers.ask("flavors.show_response", "GET", "/flavors/gold", None, "flavors/flavor-get-resp")
    answers.ask("flavors.index_response", "GET", "/flavors", None, "flavors/flavors-list-resp")
    answers.ask("flavors.detail_response", "GET", "/flavors/detail", None, "flavors/flavors-detail-resp")
    answers.ask("flavors.detail_response", "GET", "/flavors/detail?limit=1")


def ask_for_access(answers: Answers) -> None:
    body = {"name": "mine", "ram": 512, "vcpus": 1, "disk": 1, "id": "mine", "os-flavor-access:is_public": False}
    answers.ask("flavors.create_response", "POST", "/flavors", {"flavor": body})
    path, action = "/flavors/mine/os-flavor-access", "/flavors/mine/action"
    kind = "flavor_access.add_tenant_access_response"
    answers.ask(
        kind, "POST", action, {"addTenantAccess": {"tenant": "p1"}}, "flavor-access/flavor-access-add-tenant-resp"
    )
    answers.ask("flavor_access.index_response", "GET", path, None, "flavor-access/flavor-access-list-resp")
    body = {"removeTenantAccess": {"tenant": "p1"}}
    answers.ask("flavor_access.remove_tenant_access_response", "POST", action, body)


def ask_for_keypairs(answers: Answers) -> None:
    sample = "os-keypairs/keypairs-import-post-resp"
    body = {"keypair": {"name": "mine", "public_key": PUBLIC_KEY}}
    answers.ask("keypairs.create_response", "POST", "/os-keypairs", body, sample)
    if answers.version < 92:
        sample = "os-keypairs/keypairs-post-resp"
        answers.ask("keypairs.create_response", "POST", "/os-keypairs", {"keypair": {"name": "made"}}, sample)
    answers.ask("keypairs.show_response", "GET", "/os-keypairs/mine", None, "os-keypairs/keypairs-get-resp")
    # Nova's sample is a page as soon as there are pages.
    path = "/os-keypairs?limit=1" if answers.version >= 35 else "/os-keypairs"
    answers.ask("keypairs.index_response", "GET", path, None, "os-keypairs/keypairs-list-resp")
    answers.ask("keypairs.index_response", "GET", "/os-keypairs")


def ask_for_server_groups(answers: Answers) -> None:
    policy = {"policy": "anti-affinity", "rules": {"max_server_per_host": 3}}
    asked = policy if answers.version >= 64 else {"policies": ["anti-affinity"]}
    path, kind, sample = "/os-server-groups", "server_groups", "os-server-groups/server-groups"
    made = answers.ask(
        f"{kind}.create_response", "POST", path, {"server_group": {"name": "g", **asked}}, f"{sample}-post-resp"
    )
    one = f"{path}/{made['server_group']['id']}"
    answers.ask(f"{kind}.show_response", "GET", one, None, f"{sample}-get-resp")
    answers.ask(f"{kind}.index_response", "GET", path, None, f"{sample}-list-resp")
    answers.add(f"{kind}.delete_response", answers.delete(one))


def ask_for_the_rest(answers: Answers) -> None:
    zones = "os-availability-zone/availability-zone"
    answers.ask("availability_zone.index_response", "GET", "/os-availability-zone", None, f"{zones}-list-resp")
    answers.ask(
        "availability_zone.detail_response", "GET", "/os-availability-zone/detail", None, f"{zones}-detail-resp"
    )
    answers.ask("limits.index_response", "GET", "/limits", None, "limits/limit-get-resp")
    quotas = "os-quota-sets/quotas-show"
    for path, kind, sample in (
        ("", "show_response", f"{quotas}-get-resp"),
        ("/defaults", "defaults_response", f"{quotas}-defaults-get-resp"),
        ("/detail", "detail_response", f"{quotas}-detail-get-resp"),
    ):
        answers.ask(f"quota_sets.{kind}", "GET", f"/os-quota-sets/p1{path}", None, sample)
    answers.ask("extension_info.index_response", "GET", "/extensions", None, None)
    answers.ask("extension_info.show_response", "GET", "/extensions/os-keypairs", None, None)
    answers.ask("versions.show_response", "GET", "/", None, "versions/v21-version-get-resp")


def test_answers_are_nova_s(service: Service, nova: str) -> None:
    answers = Answers(service)
    for version in VERSIONS:
        answers.version = version
        for ask in (ask_for_flavors, ask_for_access, ask_for_keypairs, ask_for_server_groups, ask_for_the_rest):
            ask(answers)
        for path in ("/flavors/gold", "/flavors/mine", "/os-keypairs/mine", "/os-keypairs/made"):
            service.compute("DELETE", path, status="*")
    # The list of versions knows nothing of microversions.
    answers.add("versions.index_response", service.http.get("/compute").json)
    assert len(answers.answers) > 300
    answers.check(nova)


def test_a_wrong_answer_is_noticed(nova: str) -> None:
    document = {"extra_specs": {"a": 1}}
    answer = {"module": "flavors_extraspecs", "kind": "index_response", "version": 1, "document": document}
    (said,) = says(nova, [answer])
    assert "is not of type 'string'" in said["complaint"]
