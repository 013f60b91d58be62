"""The guide for tenants, followed: its settings and its users, and the rights of each to resources of others."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from baremetal_sched.cli import cli
from baremetal_sched.settings import load
from baremetal_sched.web.authentication import password_file
from tests.functional.compute.world import ZEROS
from tests.functional.tenants.cloud import Cloud
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.shows_secrets]

GUIDE = (Path(__file__).parents[3] / "api-ref/guides/tenants.rst").read_text()
COMMANDS = re.findall(r"^    baremetal-sched (user add .*)$", GUIDE, re.MULTILINE)
LISTS = ("/baremetal/v1/nodes", "/scheduling/v1/capacity?by=owner", "/compute/v2.1/servers", "/image/v2/images")
CLAIM = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def cloud(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setattr(password_file, "COST", 4)
    (ini,) = re.findall(r"code-block:: ini\n\n((?:    ?.*\n|\n)+)", GUIDE)
    configuration = tmp_path / "baremetal-sched.conf"
    plain = "\n".join(line.strip() for line in ini.replace("/etc/baremetal-sched", str(tmp_path)).splitlines())
    configuration.write_text(f"{plain}\n[database]\nconnection = {database_url}\n")
    passwords = {}
    for command in COMMANDS:
        words = [*command.replace("/etc/baremetal-sched", str(tmp_path)).split(), "--generate"]
        result = CliRunner().invoke(cli, words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        passwords[words[2]] = re.findall("^Password: (.*)$", result.output, re.MULTILINE)[0]
    settings = load([str(configuration)])
    files = {name: settings[name] for name in ("http_basic_auth_user_file", "http_basic_auth_roles_file")}
    with Service(database_url, api={"auth_strategy": settings.api.auth_strategy}, DEFAULT=files) as service:
        service.add_conductor("c1")
        made = Cloud(service, passwords)
        _furnish(made)
        yield made


def _furnish(cloud: Cloud) -> None:
    """The resources that the operator makes for both tenants, and a server of each of them."""
    with cloud.by("operator") as service:
        service.add_flavor("f", specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
        service.http.post_json(
            "/image/v2/images", {"name": "i", "visibility": "public", "disk_format": "raw", "container_format": "bare"}
        )
        for project in ("blue", "green"):
            cloud.nodes[project] = service.add_node(f"of-{project}", owner=project)
        flavor = service.compute("GET", "/flavors").json["flavors"][0]["id"]
    for name, project in (("anna", "blue"), ("bert", "green")):
        answer = cloud.boot(name, flavor)
        assert answer.status_int == 202, answer.text
        cloud.servers[project] = answer.json["server"]["id"]


#: What belongs to a project, by user who is not of that project.
OTHERS = [("anna", "green"), ("bert", "blue")]


def test_a_tenant_sees_and_changes_nothing_of_the_other(cloud: Cloud, subtests: pytest.Subtests) -> None:
    for name, other in OTHERS:
        with subtests.test(name=name, other=other):
            server, node = cloud.servers[other], cloud.nodes[other]
            for method, path, body, expected in tries(server, node, other):
                answer = cloud.ask(name, method, path, body)
                assert answer.status_int in expected, f"{name}: {method} {path}: {answer.status_int} {answer.text}"
            with cloud.by("operator") as service:
                assert service.compute("GET", f"/servers/{server}").json["server"]["status"] == "ACTIVE"
                assert list(service.placement("GET", f"/allocations/{server}").json["allocations"]) == [node]
            for path in LISTS:
                text = cloud.ask(name, "GET", path).text
                assert node not in text
                assert server not in text
                assert f"of-{other}" not in text


def tries(server: str, node: str, other: str) -> Iterator[tuple[str, str, Any, set[int]]]:
    """Requests for resources of another project, and how each may be answered."""
    held = f"/placement/allocations/{server}"
    yield from (
        ("GET", f"/compute/v2.1/servers/{server}", None, {404}),
        ("DELETE", f"/compute/v2.1/servers/{server}", None, {404}),
        ("POST", f"/compute/v2.1/servers/{server}/action", {"os-stop": None}, {404}),
        ("GET", f"/baremetal/v1/nodes/{node}", None, {404}),
        ("DELETE", f"/baremetal/v1/nodes/{node}", None, {404}),
        ("PUT", f"/baremetal/v1/nodes/{node}/states/power", {"target": "power off"}, {404}),
        ("PUT", f"/baremetal/v1/nodes/{node}/maintenance", {"reason": "x"}, {404}),
        ("GET", held, None, {403}),
        ("DELETE", held, None, {403}),
        ("PUT", f"/placement/allocations/{CLAIM}", _claim(node), {403}),
        ("GET", f"/placement/resource_providers/{node}", None, {403}),
        ("DELETE", f"/placement/resource_providers/{node}", None, {403}),
        ("GET", f"/placement/usages?project_id={other}", None, {403}),
        ("GET", "/compute/v2.1/servers?all_tenants=1", None, {403}),
        ("POST", "/compute/v2.1/flavors", {"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 1}}, {403}),
        ("GET", f"/scheduling/v1/nodes/{node}/availability", None, {404}),
        ("GET", f"/scheduling/v1/explanations/nodes/{node}", None, {404, 405}),
    )


def _claim(node: str) -> dict[str, Any]:
    allocations = {node: {"resources": {"CUSTOM_GOLD": 1}}}
    return {
        "allocations": allocations, "consumer_generation": None, "project_id": "blue", "user_id": "u",
        "consumer_type": "INSTANCE",
    }  # fmt: skip


def test_a_tenant_has_what_is_its_own(cloud: Cloud, subtests: pytest.Subtests) -> None:
    for name, own in [("anna", "blue"), ("bert", "green")]:
        with subtests.test(name=name):
            server, node = cloud.servers[own], cloud.nodes[own]
            assert cloud.ask(name, "GET", f"/compute/v2.1/servers/{server}").json["server"]["status"] == "ACTIVE"
            assert [each["uuid"] for each in cloud.ask(name, "GET", "/baremetal/v1/nodes").json["nodes"]] == [node]
            assert cloud.status(name, "GET", f"/placement/usages?project_id={own}") == 200
            assert cloud.status(name, "GET", "/scheduling/v1/capacity") == 200
            assert cloud.status(name, "DELETE", f"/compute/v2.1/servers/{server}") == 204


def test_a_node_without_an_owner(cloud: Cloud) -> None:
    """No user of a project sees it, but servers of every project may get it, and their project leases it meanwhile."""
    with cloud.by("operator") as service:
        node = service.add_node("of-nobody")
        flavor = service.compute("GET", "/flavors").json["flavors"][0]["id"]
    path = f"/baremetal/v1/nodes/{node}"
    for name in ("anna", "bert"):
        assert cloud.status(name, "GET", path) == 404
        assert cloud.ask(name, "GET", "/scheduling/v1/capacity").json["capacity"][0]["total"] == 1
    allocation = {"name": "a", "resource_class": "gold"}
    assert cloud.status("anna", "POST", "/baremetal/v1/allocations", allocation) == 201
    with cloud.by("operator") as service:
        service.work()
    assert cloud.ask("anna", "GET", "/baremetal/v1/allocations/a").json["state"] == "error"
    server = cloud.boot("anna", flavor).json["server"]["id"]
    assert cloud.ask("anna", "GET", path).json["lessee"] == "blue"
    assert cloud.status("bert", "GET", path) == 404
    assert cloud.status("anna", "DELETE", f"/compute/v2.1/servers/{server}") == 204
    with cloud.by("operator") as service:
        service.work()
    assert cloud.status("anna", "GET", path) == 404


def test_the_operator_works_everywhere(cloud: Cloud) -> None:
    for method, path, body in (
        ("GET", "/baremetal/v1/nodes", None),
        ("POST", "/baremetal/v1/nodes", {"driver": "fake-hardware"}),
        ("GET", "/placement/resource_providers", None),
        ("PUT", "/placement/traits/CUSTOM_A", None),
        ("GET", "/placement/usages?project_id=blue", None),
        ("GET", "/compute/v2.1/servers/detail?all_tenants=1", None),
        ("POST", "/compute/v2.1/flavors", {"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 1}}),
        ("GET", f"/compute/v2.1/servers/{cloud.servers['blue']}", None),
        ("DELETE", f"/compute/v2.1/servers/{cloud.servers['blue']}", None),
        ("GET", "/image/v2/images", None),
        ("POST", "/image/v2/images", {"name": "of the operator", "visibility": "public"}),
        ("GET", "/scheduling/v1/capacity", None),
        ("GET", "/scheduling/v1/groups", None),
        ("GET", "/ui/nodes", None),
        ("GET", "/metrics", None),
    ):
        answer = cloud.ask("operator", method, path, body)
        assert answer.status_int < 300, f"{method} {path}: {answer.status_int} {answer.text}"


def test_the_guide_names_users_that_are_what_it_says() -> None:
    assert [command.split(" --config-file")[0] for command in COMMANDS] == [
        "user add operator --role admin --system",
        "user add anna --role manager --project blue",
        "user add bert --role member --project green",
    ]
