"""The migration of many servers: interrupted and repeated it comes to the same as in one go."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import (
    Allocation,
    Consumer,
    Inventory,
    Node,
    ResourceClass,
    ResourceProvider,
    Server,
)
from baremetal_sched.machines import states
from tests.databases import make_empty
from tests.service import Service

#: How many servers, unless the environment says so: the databases of servers take longer.
SERVERS = int(os.environ.get("MIGRATED_SERVERS", "1000"))
ELSEWHERE = int(os.environ.get("MIGRATED_SERVERS", "300"))

#: The part of the servers that a command migrates before it is killed.
_INTERRUPTIONS = (0.02, 0.13, 0.3)

_CLASSES = ("gold", "silver", None)
_FREE = 6
_SEED_BATCH = 500


def uuid_of(name: str) -> str:
    return str(uuid5(NAMESPACE_OID, name))


def own_flavor(number: int) -> dict[str, Any]:
    """Most know nothing of classes; some name theirs, another one, or have other extra specs."""
    specs: dict[str, str] = {}
    if number % 10 == 0:
        specs = {"resources:CUSTOM_GOLD": "1", "resources:VCPU": "0"}
    elif number % 10 == 1:
        specs = {"capabilities:boot_mode": "uefi"}
    amounts = {"vcpus": 16, "ram": 65536, "disk": 400, "ephemeral": 0, "swap": 0}
    return {"id": "f1", "name": "bm.large", **amounts, "extra_specs": specs}


def node_of(name: str, resource_class: str | None, **values: Any) -> Node:
    return Node(
        uuid=uuid_of(name),
        driver="fake-hardware",
        conductor_group="",
        resource_class=resource_class,
        power_state=states.POWER_ON,
        created_at=utcnow(),
        **values,
    )


def server_of(number: int, uuid: str) -> Server:
    return Server(
        uuid=uuid,
        name=f"s{number}",
        hostname=f"s{number}",
        project_id=f"p{number % 7}",
        user_id="u",
        flavor=own_flavor(number),
        flavor_id="f1",
        reservation_id="",
        created_at=utcnow(),
        user_metadata={},
        security_groups=[],
        scheduler_hints={},
        tried_nodes=[],
    )


def seed(service: Service, count: int) -> None:
    """Occupied nodes, each hundredth of which has no class, and every fiftieth was adopted; and some free ones."""

    def enter(session: Session, first: int) -> None:
        for number in range(first, min(first + _SEED_BATCH, count)):
            uuid = uuid_of(f"server {number}")
            resource_class = None if number % 100 == 99 else _CLASSES[number % 2]
            session.add(node_of(f"node {number}", resource_class, instance_uuid=uuid, provision_state=states.ACTIVE))
            if number % 50:
                session.add(server_of(number, uuid))

    for first in range(0, count, _SEED_BATCH):
        service.database.write(lambda session, first=first: enter(session, first))
    free = [node_of(f"free {number}", "gold", provision_state=states.AVAILABLE) for number in range(_FREE)]
    service.database.write(lambda session: session.add_all(free))


def outcome(service: Service) -> dict[str, list[tuple[Any, ...]]]:
    """All that the migration writes, except times and ids."""

    def read(session: Session) -> dict[str, list[tuple[Any, ...]]]:
        servers = session.execute(select(Server.uuid, Server.flavor, Server.revision).order_by(Server.uuid))
        held = session.execute(
            select(Consumer.uuid, ResourceProvider.uuid, ResourceClass.name, Allocation.used)
            .join_from(Allocation, Consumer, Consumer.id == Allocation.consumer_id)
            .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
            .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
            .order_by(Consumer.uuid)
        )
        columns = (Consumer.uuid, Consumer.project_id, Consumer.user_id, Consumer.consumer_type, Consumer.generation)
        consumers = session.execute(select(*columns).order_by(Consumer.uuid))
        stocks = session.execute(
            select(ResourceProvider.uuid, ResourceProvider.generation, ResourceClass.name, Inventory.reserved)
            .add_columns(Inventory.total, Inventory.used, Inventory.withheld)
            .join_from(Inventory, ResourceProvider, ResourceProvider.id == Inventory.provider_id)
            .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
            .order_by(ResourceProvider.uuid)
        )
        kinds = {"servers": servers, "held": held, "consumers": consumers, "stocks": stocks}
        return {kind: [tuple(row) for row in rows] for kind, rows in kinds.items()}

    return service.database.read(read)


def command(url: str) -> list[str]:
    return [sys.executable, "-m", "baremetal_sched", "compute", "migrate-flavors", "--all", "--database", url]


def run(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(url), capture_output=True, text=True, check=False)


def interrupt(url: str, after: int) -> None:
    """Begin a migration, and kill it when ``after`` servers were migrated."""
    with subprocess.Popen(command(url), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for _ in migrated_lines(process.stdout, after):
            pass
        process.send_signal(signal.SIGKILL)


def migrated_lines(lines: Iterator[str], most: int) -> Iterator[str]:
    count = 0
    for line in lines:
        if line.startswith("migrated: "):
            yield line
            count += 1
            if count == most:
                return


def test_interrupted_and_repeated_is_the_same_as_in_one_go(service: Service) -> None:
    url = service.database_url
    count = SERVERS if url.startswith("sqlite") else ELSEWHERE
    offered = {uuid_of(f"free {number}") for number in range(_FREE)}
    wanted = f"resources=CUSTOM_GOLD:1&limit={count}"

    seed(service, count)
    assert service.candidates(wanted) == offered
    done = run(url)
    assert done.returncode == 0, done.stderr
    classless = count // 100
    assert done.stdout.endswith(f"{count - classless} migrated, 0 with nothing to do, {classless} skipped\n")
    assert service.candidates(wanted) == offered
    in_one_go = outcome(service)
    assert len(in_one_go["held"]) == count - classless
    assert service.database.snapshot(audit) == []

    make_empty(url)
    service.add_conductor("c1")
    seed(service, count)
    migrated = 0
    for part in _INTERRUPTIONS:
        interrupt(url, int(count * part))
        assert service.candidates(wanted) == offered
        now = len(outcome(service)["held"])
        assert migrated < now < count - classless
        migrated = now
    again = run(url)
    assert again.returncode == 0, again.stderr
    assert f"{count - classless - migrated} migrated, {migrated} with nothing to do" in again.stdout
    assert service.candidates(wanted) == offered
    assert outcome(service) == in_one_go
    assert service.database.snapshot(audit) == []
    assert run(url).stdout.endswith(f"0 migrated, {count - classless} with nothing to do, {classless} skipped\n")
    assert outcome(service) == in_one_go
