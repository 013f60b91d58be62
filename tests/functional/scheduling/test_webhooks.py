# tier: first
"""Webhooks as resources: made, listed, changed, deleted; who may; what is refused; what is kept secret."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from webtest import TestResponse

from baremetal_sched.db import resealing, schema_state
from baremetal_sched.db.keyring import generate_key
from baremetal_sched.db.models import Webhook
from tests.functional.scheduling.happening import begin_anew, forget, happen, last
from tests.service import ADMINISTRATOR, Service
from tests.unchanged import unchanged

ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "manager,member,reader"}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "manager,member,reader"}
URL = "https://hooks.example.com/in?token=t0ken"
TYPE = "scheduling.claim.failed"
NODE = "11111111-0000-4000-8000-000000000001"
NOWHERE = "dddddddd-0000-4000-8000-000000000001"


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """Managers of projects make webhooks, too; secrets are encrypted."""
    rules, keys = tmp_path / "policy.yaml", tmp_path / "keys"
    rules.write_text('"scheduling:webhooks:manage": "role:admin or role:service or role:manager"\n')
    keys.touch(0o600)
    keys.write_text(generate_key())
    options = {
        "api": {"auth_strategy": "noauth2"},
        "oslo_policy": {"policy_file": str(rules)},
        "database": {"secrets_key_file": str(keys)},
        "events": {"most_webhooks": 3},
    }
    with Service(database_url, **options) as running:
        yield running


def ask(
    service: Service, method: str, path: str = "", body: Any = None, *, by: Any = ANNA, status: int = 200
) -> TestResponse:
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    arguments = () if body is None else (body,)
    answer: TestResponse = call(f"/scheduling/v1/webhooks{path}", *arguments, headers=by, status=status)
    return answer


def make(service: Service, by: Any = ANNA, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = ask(service, "POST", body={"url": URL, **more}, by=by, status=201).json
    return made


def message(answer: TestResponse) -> str:
    text: str = answer.json["error"]["message"]
    return text


def test_a_webhook_is_made_shown_changed_and_deleted(service: Service) -> None:
    happen(service, "before")
    answer = ask(
        service,
        "POST",
        body={"url": URL, "name": "chat", "types": [TYPE], "nodes": [NODE]},
        status=201,
    )
    made = answer.json
    path = f"/{made['uuid']}"
    assert answer.headers["Location"] == made["links"][0]["href"]
    assert made.pop("secret").startswith("whsec_")
    shown = ask(service, "GET", path).json
    assert shown == made
    assert shown["cursor"] == last(service)
    assert {name: shown[name] for name in ("name", "url", "types", "nodes", "state", "behind", "user_id")} == {
        "name": "chat", "url": URL, "types": [TYPE], "nodes": [NODE], "state": "active", "behind": 0, "user_id": "anna",
    }  # fmt: skip
    assert ask(service, "GET").json["webhooks"] == [shown]
    changes = {"name": None, "url": "https://elsewhere.example.com/", "types": [], "nodes": []}
    changed = ask(service, "PATCH", path, changes).json
    assert changed == shown | changes
    ask(service, "DELETE", path, status=204)
    ask(service, "GET", path, status=404)


def test_pages_and_filters(service: Service) -> None:
    uuids = [make(service, name=name)["uuid"] for name in ("a", "b", "c")]
    first = ask(service, "GET", "?limit=2").json
    assert [each["uuid"] for each in first["webhooks"]] == uuids[:2]
    assert f"marker={uuids[1]}" in first["webhooks_links"][0]["href"]
    assert [each["uuid"] for each in ask(service, "GET", f"?marker={uuids[1]}").json["webhooks"]] == uuids[2:]
    assert [each["uuid"] for each in ask(service, "GET", "?name=b").json["webhooks"]] == [uuids[1]]
    assert ask(service, "GET", "?state=parked").json["webhooks"] == []
    for query in ("state=x", f"marker={NOWHERE}", "limit=-1", "colour=red"):
        ask(service, "GET", f"?{query}", status=400)


def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    uuid = make(service)["uuid"]
    rows: list[dict[str, Any]] = [
        {},
        {"url": "ftp://hooks.example.com/"},
        {"url": "http://hooks.example.com/"},
        {"url": "https://user:s3cret@hooks.example.com/"},
        {"url": "https://hooks.example.com/#fragment"},
        {"url": "https://hooks.example.com/a b"},
        {"url": "https://hooks.example.com/\x7f"},
        {"url": "https://hooks.example.com/\u00fc"},
        {"url": "https://hooks.example.com:99999/"},
        *({"url": f"https://{host}/"} for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0")),
        *({"url": f"https://{host}/"} for host in ("169.254.169.254", "[fe80::1]", "224.0.0.1", "[64:ff9b::7f00:1]")),
        {"url": f"https://hooks.example.com/{'x' * 3000}"},
        {"url": URL, "nodes": ["n1"]},
        {"url": URL, "types": "t1"},
        {"url": URL, "colour": "red"},
        {"url": URL, "name": ""},
        {"url": URL, "secret": "whsec_mine"},
    ]
    for body in rows:
        with subtests.test(str(body)[:60]), unchanged(service):
            said = message(ask(service, "POST", body=body, status=400))
            assert "s3cret" not in said
            ask(service, "PATCH", f"/{uuid}", body, status=400)
    with subtests.test("of the change only"), unchanged(service):
        ask(service, "PATCH", f"/{uuid}", {"new_secret": False}, status=400)
        for path in (f"/{NOWHERE}", "/x"):
            for method in ("GET", "DELETE"):
                ask(service, method, path, status=404)
            ask(service, "PATCH", path, {"name": "x"}, status=404)
            ask(service, "POST", f"{path}/resume", status=404)


def test_listed_hosts_may_be_called_without_encryption(database_url: str) -> None:
    events = {"allowed_hosts": "hooks.example.com,10.0.0.0/8"}
    with Service(database_url, events=events) as service:
        for url in ("http://hooks.example.com/", "http://10.1.2.3/"):
            service.http.post_json("/scheduling/v1/webhooks", {"url": url}, status=201)
        service.http.post_json("/scheduling/v1/webhooks", {"url": "http://127.0.0.1/"}, status=400)


def test_names_and_the_number_of_webhooks_are_those_of_a_project(service: Service) -> None:
    first = make(service, name="chat")
    second = make(service, name="pager")
    make(service, by=BERT, name="chat")
    assert "chat" in message(ask(service, "POST", body={"url": URL, "name": "chat"}, status=409))
    ask(service, "PATCH", f"/{second['uuid']}", {"name": "chat"}, status=409)
    ask(service, "PATCH", f"/{first['uuid']}", {"name": "chat"})
    make(service)
    assert "[events] most_webhooks" in message(ask(service, "POST", body={"url": URL}, status=409))
    ask(service, "DELETE", f"/{first['uuid']}", status=204)
    make(service)


def test_projects_do_not_hear_of_each_others_webhooks(service: Service, subtests: pytest.Subtests) -> None:
    foreign = make(service, by=BERT, name="chat")["uuid"]
    system = make(service, by=ADMINISTRATOR, name="chat")["uuid"]
    assert ask(service, "GET").json["webhooks"] == ask(service, "GET", "?name=chat").json["webhooks"] == []
    nobody = {"X-Auth-Token": "x", "X-Project-Id": "", "X-Roles": "manager,reader"}
    for uuid in (foreign, system):
        for by in (ANNA, nobody):
            with subtests.test(f"{uuid} {by}"), unchanged(service):
                heard = [
                    ask(service, method, f"/{each}{end}", body, by=by, status=404).text.replace(each, "")
                    for each in (uuid, NOWHERE)
                    for method, end, body in CHANGES
                ]
                assert heard[: len(CHANGES)] == heard[len(CHANGES) :]
                assert "which marker names" in message(ask(service, "GET", f"?marker={uuid}", by=by, status=400))
    seen = {each["uuid"] for each in ask(service, "GET", by=ADMINISTRATOR).json["webhooks"]}
    assert seen == {foreign, system}
    ask(service, "DELETE", f"/{foreign}", by=ADMINISTRATOR, status=204)
    with subtests.test("without a project"):
        ask(service, "POST", body={"url": URL}, by=nobody, status=403)
    with subtests.test("readers"):
        for method, path, body in [("GET", "", None), ("POST", "", {"url": URL}), ("DELETE", f"/{system}", None)]:
            ask(service, method, path, body, by={**ANNA, "X-Roles": "member,reader"}, status=403)


CHANGES: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PATCH", "", {"name": "x"}),
    ("DELETE", "", None),
    ("POST", "/resume", None),
]


def test_who_changes_a_webhook_does_not_get_what_its_maker_may_read(service: Service) -> None:
    """A colleague becomes its maker; an administrator gives nothing of what it may read itself."""
    maker = {**ANNA, "X-Roles": "service,manager,reader"}
    uuid = make(service, by=maker)["uuid"]
    happen(service, "own", projects=("a",))
    happen(service, "foreign", projects=("b",))
    assert ask(service, "GET", f"/{uuid}").json["behind"] == 2
    ask(service, "PATCH", f"/{uuid}", {"name": "x"}, by=ADMINISTRATOR)
    assert ask(service, "GET", f"/{uuid}").json["user_id"] == "anna"
    colleague = {**ANNA, "X-Auth-Token": "carl:a"}
    changed = ask(service, "PATCH", f"/{uuid}", {"url": "https://mine.example.com/"}, by=colleague).json
    assert (changed["user_id"], changed["behind"]) == ("carl", 1)


def test_secrets_are_shown_once_and_encrypted(service: Service) -> None:
    made = make(service)
    path = f"/{made['uuid']}"
    first = made["secret"]
    changed = ask(service, "PATCH", path, {"new_secret": True}).json
    second = changed["secret"]
    assert len({first, second}) == 2
    assert changed["previous_secret_until"] is not None
    for answer in (ask(service, "GET", path), ask(service, "GET"), ask(service, "PATCH", path, {"name": "x"})):
        assert first not in answer.text
        assert second not in answer.text
    with service.database.engine.connect() as connection:
        stored = str(connection.exec_driver_sql("SELECT * FROM webhooks").all())
    assert not any(secret in stored for secret in (first, second, "t0ken"))
    kept = service.database.read(lambda session: session.execute(select(Webhook.secret, Webhook.previous_secret)).one())
    assert tuple(kept) == (second, first)


def test_secrets_are_encrypted_later(database_url: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.touch(0o600)
    keys.write_text(generate_key())
    with Service(database_url) as service:
        made = service.http.post_json("/scheduling/v1/webhooks", {"url": URL}).json
    with Service(database_url, database={"secrets_key_file": str(keys)}) as service:
        assert resealing.reseal(service.database, resealing.encrypted).changed == 2
        with service.database.engine.connect() as connection:
            stored = str(connection.exec_driver_sql("SELECT * FROM webhooks").all())
        assert made["secret"] not in stored
        assert service.http.get(f"/scheduling/v1/webhooks/{made['uuid']}").json["url"] == URL


def test_resumption_says_how_many_events_were_lost(service: Service) -> None:
    uuid = make(service, by=ADMINISTRATOR)["uuid"]
    happen(service, "n1", "n2", "n3", "n4")
    assert ask(service, "POST", f"/{uuid}/resume", by=ADMINISTRATOR).json["lost"] == 0
    forget(service, 3)
    assert ask(service, "GET", f"/{uuid}", by=ADMINISTRATOR).json["behind"] is None
    resumed = ask(service, "POST", f"/{uuid}/resume", by=ADMINISTRATOR).json
    assert (resumed["lost"], resumed["behind"]) == (3, 1)
    begin_anew(service)
    resumed = ask(service, "POST", f"/{uuid}/resume", by=ADMINISTRATOR).json
    assert (resumed["lost"], resumed["behind"]) == (None, 1)


def test_there_are_none_without_events(database_url: str) -> None:
    with Service(database_url, events={"enabled": False}) as service:
        service.http.post_json("/scheduling/v1/webhooks", {"url": URL}, status=409)


def test_a_webhook_is_found_by_its_name(service: Service) -> None:
    """Within the project; of those who see all projects, the name must be unique there."""
    made = make(service, name="chat")
    assert ask(service, "GET", "/chat").json["uuid"] == made["uuid"]
    assert ask(service, "PATCH", "/chat", {"types": [TYPE]}).json["types"] == [TYPE]
    foreign, missing = (ask(service, "GET", f"/{name}", by=BERT, status=404) for name in ("chat", "chut"))
    assert message(foreign).replace("chat", "chut") == message(missing)
    assert ask(service, "GET", "/chat", by=ADMINISTRATOR).json["uuid"] == made["uuid"]
    make(service, BERT, name="chat")
    assert "give the UUID" in message(ask(service, "DELETE", "/chat", by=ADMINISTRATOR, status=400))
    ask(service, "DELETE", "/chat", status=204)
    ask(service, "GET", "/chat", status=404)
    assert len(ask(service, "GET", by=BERT).json["webhooks"]) == 1


def test_a_domain_of_a_webhook_needs_the_end_of_the_upgrade(service: Service) -> None:
    """An older conductor would send everything. What the maker does not see is like what is not there."""
    service.add_conductor("c1")
    for name, owner in (("n1", "a"), ("n2", "b")):
        service.add_node(name, owner=owner)
        body = {"name": f"r-{name}", "level": "rack"}
        service.http.post_json("/scheduling/v1/domains", body, headers=ADMINISTRATOR, status=201)
        service.http.put(f"/scheduling/v1/domains/rack:r-{name}/nodes/{name}", headers=ADMINISTRATOR)
    made = make(service, domain="rack:r-n1")
    service.database.write(lambda session: schema_state.finish(session.connection(), "0034"))
    with unchanged(service):
        for method, path in (("POST", ""), ("PATCH", f"/{made['uuid']}")):
            body = {"url": URL, "domain": "rack:r-n1"}
            assert "db upgrade --finish" in message(ask(service, method, path, body, status=503))
            foreign, missing = (
                message(ask(service, method, path, {"url": URL, "domain": f"rack:{name}"}, status=400))
                for name in ("r-n2", "r-n3")
            )
            assert foreign.replace("r-n2", "r-n3") == missing
            assert missing.endswith("Domains of the level rack: r-n1.")
    assert ask(service, "PATCH", f"/{made['uuid']}", {"domain": None}).json["domain"] is None
