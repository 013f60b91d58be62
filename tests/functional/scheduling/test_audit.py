"""``db check`` and claims that wait."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import delete, update

from baremetal_sched.cli import cli
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, ResourceProvider, Server, WaitingRequest
from baremetal_sched.scheduling import gathering, handover
from baremetal_sched.scheduling.audit import audit
from tests.functional.scheduling.test_claims import CLAIMS, post
from tests.functional.scheduling.test_handover import GOLD, GOLD_A, LIKE_ALLOCATION, wait
from tests.functional.scheduling.test_several import PACK, claim, fill
from tests.restored import Rows, restored
from tests.service import Service


def found(service: Service) -> list[str]:
    settings = service.app.settings
    return service.database.snapshot(lambda session: audit(session, settings))


def change(service: Service, statement: Any) -> None:
    service.database.write(lambda session: session.execute(statement) and None)


def age(service: Service) -> None:
    """Let an hour pass."""
    before = utcnow() - timedelta(hours=1)
    for table in (Node, ResourceProvider, WaitingRequest):
        changed = {"created_at": before} | ({} if table is WaitingRequest else {"updated_at": before})
        change(service, update(table).values(changed))


def test_who_waits_beside_a_machine_that_fits(
    served: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for request_, is_passed_over in [(GOLD, True), (GOLD_A, False), (LIKE_ALLOCATION, False)]:
        with subtests.test(request_=request_), restored(served):
            monkeypatch.setattr(handover, "machine_queues", lambda *_: [])
            node = served.add_node("n1", resource_class="gold")
            waiting = wait(served, request_)
            assert found(served) == []
            age(served)
            expected = f"claim {waiting}: it waits, though node {node} is free and fits"
            assert found(served) == ([expected] if is_passed_over else [])


def test_who_waits_beside_several_that_fit_together(
    served: Service, monkeypatch: pytest.MonkeyPatch, row: Rows
) -> None:
    monkeypatch.setattr(gathering, "serve_freed", lambda *_: None)
    fill(served, a=1, b=2)
    for count, where, is_passed_over in ((2, PACK, True), (3, PACK, False), (3, {}, True)):
        with row(count, where):
            held = [post(served, status=201).json["uuid"] for _ in range(3)]
            waiting = claim(served, count, 202, wait=600, even_if_impossible=True, **where)["uuid"]
            age(served)
            assert found(served) == []
            for uuid in held:
                served.http.delete(f"{CLAIMS}/{uuid}", status=204)
            expected = f"claim {waiting}: it waits, though {count} nodes that fit together are free"
            assert found(served) == ([expected] if is_passed_over else [])


def test_a_machine_that_is_not_free_is_not_waited_beside(served: Service) -> None:
    node = served.add_node("n1", resource_class="gold")
    served.baremetal("PUT", f"/nodes/{node}/maintenance", {"reason": "r"})
    wait(served)
    age(served)
    assert found(served) == []


def _wait_as_server(service: Service) -> str:
    zeros = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    flavor = service.add_flavor("bm.gold", specs={"resources:CUSTOM_GOLD": "1", **zeros})
    image = service.http.post_json("/image/v2/images", {"name": "i", "disk_format": "raw", "container_format": "bare"})
    body = {
        "server": {"name": "s", "flavorRef": flavor, "imageRef": image.json["id"], "networks": "none"},
        "os:scheduler_hints": {"wait": "60"},
    }
    uuid: str = service.compute("POST", "/servers", body).json["server"]["id"]
    return uuid


def test_servers_that_wait_and_the_queue_belong_together(served: Service) -> None:
    node = served.add_node("n1", resource_class="gold")
    served.claim("11111111-1111-4111-8111-111111111111", node)
    uuid = _wait_as_server(served)
    assert found(served) == []
    change(served, update(WaitingRequest).values(state="failed", secret={"a": "b"}))
    assert found(served) == [
        f"server {uuid}: it waits, but is not in the queue of claims",
        f"server {uuid}: its secret is kept, though it is failed",
    ]
    change(served, update(WaitingRequest).values(state="waiting", secret=None))
    change(served, delete(Server))
    assert found(served) == [f"server {uuid}: it is in the queue of claims, but does not wait"]


def test_the_command_says_it(served: Service, tmp_path: Path) -> None:
    waiting = wait(served)
    change(served, update(WaitingRequest).values(state="failed", secret={"a": "b"}))
    file = tmp_path / "a.conf"
    file.write_text(f"[database]\nconnection = {served.database_url}\n")
    result = CliRunner().invoke(cli, ["db", "check", "--config-file", str(file)])
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == f"claim {waiting}: its secret is kept, though it is failed"
