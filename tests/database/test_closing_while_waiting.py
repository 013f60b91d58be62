"""A claim that waits for a lock while a planned hold starts is refused, on every server."""

import threading
from typing import Any

import pytest
from sqlalchemy import select, text, update
from webtest import TestResponse

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Inventory, Node, ResourceProvider
from tests.races.waiting import LockWaits
from tests.service import Service
from tests.waiting import wait_until

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
OTHER = "cccccccc-0000-4000-8000-000000000002"
CHILD = "dddddddd-0000-4000-8000-000000000001"
_OWNER = {"consumer_generation": None, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}

#: Seconds until the hold starts. A claim that is not there by then is refused, too.
_SOON = 2.0

#: Locks that others have, of rows that they do not change.
_OF_INVENTORIES = "SELECT 1 FROM inventories FOR UPDATE"
_OF_ROOTS = "SELECT 1 FROM resource_providers WHERE parent_id IS NULL FOR UPDATE"


def _single(service: Service, uuid: str) -> TestResponse:
    return service.claim(CONSUMER, uuid, status="*")


def _with_another(service: Service, uuid: str) -> TestResponse:
    body = {
        CONSUMER: {"allocations": {uuid: {"resources": {"CUSTOM_GOLD": 1}}}, **_OWNER},
        OTHER: {"allocations": {}, **_OWNER},
    }
    return service.placement("POST", "/allocations", body, status="*")


def _of_tree(service: Service, uuid: str) -> TestResponse:
    return service.claim(CONSUMER, CHILD, "VCPU", status="*")


@pytest.mark.parametrize(
    ("claim", "lock"), [(_single, _OF_INVENTORIES), (_with_another, _OF_INVENTORIES), (_of_tree, _OF_ROOTS)]
)
def test_a_hold_that_starts_while_a_claim_waits_for_a_lock(service: Service, claim: Any, lock: str) -> None:
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("there are no locks of rows")
    service.add_conductor("c1")
    uuid = service.add_node("n1")
    if claim is _of_tree:
        child = {"name": "child", "uuid": CHILD, "parent_provider_uuid": uuid}
        service.placement("POST", "/resource_providers", child)
        stock = {"resource_class": "VCPU", "total": 8}
        service.placement("POST", f"/resource_providers/{CHILD}/inventories", stock)
    start = service.database.read(holds.now) + _SOON
    for entity in (Node, ResourceProvider, Inventory):
        planned = update(entity).values(closes_at=start)
        service.database.write(lambda session, planned=planned: session.execute(planned) and None)
    answers: list[TestResponse] = []
    claiming = threading.Thread(target=lambda: answers.append(claim(service, uuid)))
    with service.database.engine.connect() as other, LockWaits(service.database_url) as waits:
        other.execute(text(lock))
        claiming.start()
        wait_until(lambda: answers or waits.count(), "the claim to wait for the lock")
        wait_until(lambda: (other.scalar(select(epoch())) or 0.0) > start, "the hold to start")
        other.rollback()
    claiming.join()
    assert answers[0].status_int == 409, answers[0].text
    assert "a hold of it is planned" in answers[0].json["errors"][0]["detail"]
    assert service.placement("GET", f"/allocations/{CONSUMER}").json["allocations"] == {}
    for entity in (Node, ResourceProvider, Inventory):
        opened = update(entity).values(closes_at=None)
        service.database.write(lambda session, opened=opened: session.execute(opened) and None)
    assert service.database.snapshot(audit) == []
