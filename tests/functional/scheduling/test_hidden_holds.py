"""Holds that a caller may not see are hidden from it at every door."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.scheduling.api import webhook_makers
from baremetal_sched.scheduling.events import reading
from baremetal_sched.settings import load
from baremetal_sched.web.caller import Caller
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, LATEST, Service

OLGA = {"X-Auth-Token": "olga:owners", "X-Roles": "manager,member,reader"}
LEA = {"X-Auth-Token": "lea:tenants", "X-Roles": "manager,member,reader"}
EVE = {"X-Auth-Token": "eve:strangers", "X-Roles": "admin,manager,member,reader"}
AUDITOR = {"X-Auth-Token": "rita", "X-Roles": "reader", "OpenStack-System-Scope": "all"}

#: What nobody may read who may not see the hold: its reason, and its type in the words of documents and of sentences.
SECRETS = ("zq-active", "zq-planned", "hardware_failure", "hardware failure")

S, B = "/scheduling/v1", "/baremetal/v1"
EXPLANATIONS = f"{S}/explanations"
DOORS = (
    *(f"{S}/{path}" for path in ("events?limit=1000", "nodes/n1/holds", "holds", "nodes/n1/availability")),
    *(f"{S}/{path}" for path in ("capacity", "capacity?group_by=resource_class")),
    *(f"{S}/{path}?resources=CUSTOM_GOLD:1" for path in ("explanations", "explanations/nodes/n1")),
    *(f"{B}/{path}" for path in ("nodes", "nodes/detail", "nodes/n1", "nodes?fields=uuid,maintenance_reason")),
    *(f"{B}/nodes/n1/{path}" for path in ("history", "history?detail=true")),
    *(f"/ui/{path}" for path in ("", "nodes/n1", "nodes?maintenance=true", "nodes?format=csv", "holds", "capacity")),
    *(f"/ui/{path}" for path in ("capacity?format=csv", "find?class=GOLD", "holds?format=json")),
)


def serve(database_url: str, folder: Path, rule: str | None) -> Iterator[Service]:
    rules = folder / "policy.yaml"
    rules.write_text("{}" if rule is None else f'"baremetal:node:maintenance:get": "{rule}"')
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(rules)}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners", lessee="tenants")
        service.add_node("n2", owner="strangers")
        for body in (
            {"type": "hardware_failure", "reason": "zq-active"},
            {"type": "window", "reason": "zq-planned", "starts_at": "2050-01-01T00:00:00Z"},
        ):
            service.http.post_json(f"{S}/nodes/n1/holds", body, headers=ADMINISTRATOR, status=201)
        number_all(service)
        yield service


@pytest.fixture
def secret(database_url: str, tmp_path: Path) -> Iterator[Service]:
    yield from serve(database_url, tmp_path, "role:admin and system_scope:all")


@pytest.fixture
def normal(database_url: str, tmp_path: Path) -> Iterator[Service]:
    yield from serve(database_url, tmp_path, None)


def texts(service: Service, by: Any) -> Iterator[tuple[str, str]]:
    """What each door answers, and the confirmation of a release."""
    version = {"X-OpenStack-Ironic-API-Version": LATEST, "Accept": "*/*"}
    holds = service.http.get(f"{S}/nodes/n1/holds", headers=ADMINISTRATOR).json["maintenance"]
    node = holds[0]["node_uuid"]
    items = "&".join(f"item={node}%2F{each['uuid']}" for each in holds)
    for path in (*DOORS, f"/ui/confirm?action=release&{items}"):
        answer = service.http.get(path, headers={**version, **by}, expect_errors=True)
        assert answer.status_int in (200, 403, 404), path
        yield path, answer.text
    explained = service.http.post_json(EXPLANATIONS, {"resource_class": "gold"}, headers={**version, **by})
    yield EXPLANATIONS, explained.text
    for entry in service.http.get(f"{B}/nodes/n1/history", headers={**version, **ADMINISTRATOR}).json["history"]:
        path = f"{B}/nodes/n1/history/{entry['uuid']}"
        yield path, service.http.get(path, headers={**version, **by}, expect_errors=True).text


def told(service: Service, by: Any) -> dict[str, set[str]]:
    """The doors that tell something, with what they tell."""
    found = {path: {each for each in SECRETS if each in text} for path, text in texts(service, by)}
    return {path: secrets for path, secrets in found.items() if secrets}


def test_a_policy_that_hides_them_is_asked_at_every_door(secret: Service, subtests: pytest.Subtests) -> None:
    for by in (OLGA, LEA, EVE, AUDITOR):
        with subtests.test(msg=str(by)):
            assert told(secret, by) == {}
    doors = told(secret, ADMINISTRATOR)
    quiet = {f"{B}/nodes", *(path for path in DOORS if "GOLD" in path), "/ui/capacity"}
    assert doors.keys() >= {*DOORS, EXPLANATIONS} - quiet | {f"{S}/explanations/nodes/n1?resources=CUSTOM_GOLD:1"}


def test_an_admin_of_a_project_sees_holds_of_nodes_that_it_sees(normal: Service) -> None:
    assert told(normal, EVE) == {}
    normal.http.get(f"{S}/nodes/n1/holds", headers=EVE, status=404)
    for by in (OLGA, LEA, AUDITOR):
        assert told(normal, by).keys() >= {f"{S}/nodes/n1/availability", f"{B}/nodes/n1", f"{S}/events?limit=1000"}
    # The rest of what happens it sees.
    events = normal.http.get(f"{S}/events?limit=1000", headers=EVE).json["events"]
    holds = [each["data"]["hold"] for each in events if "hold" in each["data"]]
    assert {each["scope"] for each in holds} == {"system"}
    assert [(each["type"], each["reason"], each["asserted_by"]) for each in holds] == [(None, None, None)] * len(holds)
    reasons = [
        each["data"]["changed"]["maintenance_reason"]
        for each in events
        if "maintenance_reason" in each["data"].get("changed", {})
    ]
    assert reasons == [{"before": None, "after": None}]
    (named,) = normal.http.get(f"{S}/capacity", headers=ADMINISTRATOR).json["capacity"]
    (counted,) = normal.http.get(f"{S}/capacity", headers=EVE).json["capacity"]
    assert ([each["type"] for each in named["held"]], counted["held"]) == (["hardware_failure"], [])
    assert counted["unavailable"] == named["unavailable"]


def test_webhooks_send_what_their_makers_may_read(normal: Service) -> None:
    settings = load(overrides={"api": {"auth_strategy": "noauth2"}})
    eve = Caller("eve", "strangers", ("admin", "manager", "member", "reader"))
    mask = webhook_makers.rights(settings)(webhook_makers.document_of(eve, settings))
    assert mask is not None
    events = normal.database.read(lambda session: reading.read_after(session, 0, 100))
    sent = str([mask.apply(event).data for event in events])
    assert not [each for each in SECRETS if each in sent]
    assert "zq-active" in str([event.data for event in events])


def test_rules_about_types_hide_these_types(database_url: str, tmp_path: Path) -> None:
    rule = "role:admin and system_scope:all or not 'hardware_failure':%(maintenance.type)s"
    for service in serve(database_url, tmp_path, rule):
        doors = told(service, LEA)
        assert set().union(*doors.values()) == {"zq-planned"}
        assert doors.keys() >= {f"{S}/nodes/n1/holds", "/ui/nodes/n1", f"{S}/nodes/n1/availability", "/ui/holds"}
        reason = service.http.get(f"{S}/nodes/n1/availability", headers=LEA).json["reasons"][0]["reason"]
        assert reason.startswith("It is held by the system from")


def test_refusals_do_not_tell_them(secret: Service) -> None:
    headers = {"X-OpenStack-Ironic-API-Version": LATEST, **OLGA}
    path = f"{B}/nodes/n1/maintenance"
    refused = secret.http.delete(path, headers=headers, status=403).text
    assert "scope system" in refused
    body = {"type": "lockout", "reason": "zq-locked"}
    secret.http.post_json(f"{S}/nodes/n1/holds", body, headers=ADMINISTRATOR, status=201)
    power = f"{B}/nodes/n1/states/power"
    refused += secret.http.put_json(power, {"target": "power on"}, headers=headers, status=400).text
    assert "locked out by hold" in refused
    assert not [each for each in (*SECRETS, "zq-locked") if each in refused]
