"""Fleets of four sizes, in databases of their own: nothing at all, 20 nodes of all sorts with hostile words wherever
there is room for words, 300, and 50,000."""

from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.compute.flavors import flavors
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import (
    Base,
    Conductor,
    Inventory,
    Node,
    NodeAllocation,
    NodeTrait,
    ProviderTrait,
    ResourceProvider,
    Server,
)
from baremetal_sched.db.transaction import Database
from baremetal_sched.image import images
from baremetal_sched.image.access import EVERYTHING
from baremetal_sched.settings import load
from tests.benchmarks.baremetal import seeding
from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.stores import Store
from tests.functional.scheduling.booked import DAY, HOUR, enter
from tests.service import Service

_YEAR = 365 * 24 * 3600

#: Markup, text from right to left, a page's own words, a very long word, and letters that are made of several.
SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"'><img src=http://localhost:1/x onerror=alert(1)>"
LINK = "javascript:alert(1)"
TEMPLATE = "{{ 7 * 7 }}{% include 'base.html' %}"
REVERSED = "\u202egnp.elihw\u2066 \u05d0\u05d1\u05d2 ]]>-->"
LONG = "w" * 80
COMBINED = "Z\u0351\u036b\u0343a\u0334l\u0338go \U0001f469\u200d\U0001f680"
WORDS = (SCRIPT, IMAGE, LINK, TEMPLATE, REVERSED, LONG, COMBINED)

PASSWORD = "browser-ipmi-7"
CLAIMED = "cccccccc-0000-4000-8000-000000000020"


def twenty(url: str) -> None:
    """20 nodes in the database at ``url``: by what they are called, of class gold, except those named otherwise."""
    with Service(url) as service:
        service.add_conductor("c1")
        service.add_conductor("c2", "rack1")
        for number, words in enumerate(WORDS):
            uuid = service.add_node(
                f"hostile-{number}",
                resource_class=words,
                owner=words,
                lessee=words,
                description=words,
                extra={words: [words]},
                properties={"cpu_arch": words},
                driver_info={"ipmi_password": PASSWORD, "ipmi_address": words},
            )
            service.set_columns(uuid, instance_name=words, last_error=words, shard=words, maintenance_reason=words)
            service.database.write(lambda session, uuid=uuid, words=words: _remember(session, uuid, words))
        _ordinary(service)
        uuid = service.add_node("long-" + "n" * 250, resource_class=LONG, traits=(f"CUSTOM_{'T' * 248}",))
        service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": f"{SCRIPT} {LONG * 5}"})
        for word in (SCRIPT, REVERSED):
            service.set_columns(service.add_node(resource_class=None), conductor_group=word)
        _put_into_racks(service)
        for number, words in enumerate(WORDS):
            starts = number * DAY
            enter(service, "gold-3", "gold-4", starts=starts, ends=starts + HOUR, name=words, project=words, count=3)
        service.database.write(_let_live)
        # This one has died.
        service.database.write(
            lambda session: session.execute(
                update(Conductor).where(Conductor.hostname == "c2").values(heartbeat_at=epoch() - _YEAR)
            )
        )


def _ordinary(service: Service) -> None:
    """Machines in all sorts of states."""
    for name in ("gold-1", "gold-2", "gold-3", "gold-4"):
        service.add_node(name, traits=("CUSTOM_NVME", "HW_CPU_X86_VMX"))
    claimed = service.add_node("claimed", traits=("CUSTOM_NVME", "CUSTOM_GPU"))
    service.claim(CLAIMED, claimed)
    service.add_node("no-power", power=False)
    service.set_columns(service.add_node("cleaning"), provision_state="clean wait")
    service.set_columns(service.add_node("failed"), provision_state="deploy failed", last_error="The disk is full.")
    service.set_columns(service.add_node("locked"), reservation="c1")
    service.add_node("waiting", conductor_group="rack1", resource_class="silver", traits=("CUSTOM_NVME",))
    service.database.write(_add_servers)


def _put_into_racks(service: Service) -> None:
    """Most machines in two racks of a row: one has markup for its name, the other a very long word."""
    post = service.http.post_json
    row = post("/scheduling/v1/domains", {"name": TEMPLATE, "level": "row"}).json["uuid"]
    racks = [
        post("/scheduling/v1/domains", {"name": words, "level": "rack", "parent": row}).json["uuid"]
        for words in (SCRIPT, LONG)
    ]
    for number, name in enumerate(("gold-1", "gold-2", "claimed", "failed", "no-power", "cleaning", "locked")):
        service.http.put(f"/scheduling/v1/domains/{racks[number % 2]}/nodes/{name}")


def _add_servers(session: Session) -> None:
    """Flavors, images, servers and allocations with hostile words; no server and no allocation has a machine."""
    for number, words in enumerate(WORDS):
        flavors.create(session, {"name": words, "memory_mb": 1, "vcpus": 1, "root_gb": 1, "is_public": number % 2 == 0})
        images.create(session, EVERYTHING, {"name": words, "visibility": "public"}, {"os_distro": words}, ())
        own = {"uuid": str(uuid4()), "created_at": utcnow()}
        failed = {"state": "error", "last_error": words}
        session.add(NodeAllocation(**own, **failed, name=f"a-{number}", owner=words, traits=[words]))
        of_flavor = {"flavor": {"name": words}, "flavor_id": words, "image": {"name": words}, "image_id": CLAIMED}
        lists: dict[str, Any] = {"user_metadata": {}, "security_groups": [], "scheduler_hints": {}, "tried_nodes": []}
        who = {"name": words, "hostname": "h", "project_id": words, "user_id": words, "reservation_id": "r-1"}
        session.add(Server(**own, **who, **of_flavor, **lists, fault={"message": words, "details": words}))


def _remember(session: Session, uuid: str, words: str) -> None:
    history.record(session, nodes.find_for_change(session, uuid), words, event_type="provision", conductor="c1")


def _let_live(session: Session) -> None:
    """No conductor runs in these tests: registered ones stay alive all the same."""
    session.execute(update(Conductor).values(heartbeat_at=epoch() + _YEAR))


class _Seeds(Fleet):
    classes = [f"metal-{number}" for number in range(40)]
    each = 2


#: Groups of the large fleet; no conductor serves those whose number is a multiple of ten.
GROUPS = 60
SIZE = 50_000
_SEEDS = 1_000

#: How the tables of nodes are copied: the columns that differ in each copy, which is ``n`` rows further on.
_COPIED: dict[type[Base], dict[str, str]] = {
    Node: {
        "id": "id + n",
        "uuid": "substr(uuid, 1, 24) || printf('%012x', id + n)",
        "name": "'node-' || (id + n)",
        "instance_uuid": "substr(instance_uuid, 1, 24) || printf('%012x', id + n)",
    },
    NodeTrait: {"node_id": "node_id + n"},
    ResourceProvider: {
        "id": "id + n",
        "uuid": "substr(uuid, 1, 24) || printf('%012x', id + n)",
        "name": "substr(uuid, 1, 24) || printf('%012x', id + n)",
        "root_id": "root_id + n",
    },
    ProviderTrait: {"provider_id": "provider_id + n"},
    Inventory: {"provider_id": "provider_id + n"},
}
_HELD_BACK = "SELECT id FROM nodes WHERE provision_state = 'clean wait' OR maintenance OR power_state IS NULL"
#: A server on each node that has an instance, one in a hundred of them in error.
_SERVERS = """
INSERT INTO servers (uuid, revision, name, hostname, project_id, user_id, flavor, flavor_id, image, image_id, metadata,
                     security_groups, scheduler_hints, reservation_id, tried_nodes, fault, created_at)
SELECT instance_uuid, 1, 'server-' || id, 'h', 'project-' || (id % 50), 'u', '{"name": "bm.gold"}', 'f' || (id % 9),
       '{"name": "debian"}', 'i' || (id % 9), '{}', '[]', '{}', 'r-1', '[]',
       CASE WHEN id % 100 = 1 THEN '{"message": "The disk is broken."}' END, datetime(1700000000 + id, 'unixepoch')
  FROM nodes WHERE instance_uuid IS NOT NULL
"""
_VARIETY = (
    f"UPDATE nodes SET conductor_group = 'rack-' || (id / 7 % {GROUPS})",
    "UPDATE nodes SET provision_state = 'clean wait' WHERE id % 10 = 3 AND instance_uuid IS NULL",
    "UPDATE nodes SET maintenance = 1, maintenance_reason = 'no fan' WHERE id % 25 = 4 AND instance_uuid IS NULL",
    "UPDATE nodes SET power_state = NULL WHERE id % 25 = 6 AND instance_uuid IS NULL",
    f"UPDATE inventories SET reserved = 1, capacity = 0 WHERE provider_id IN ({_HELD_BACK})",
    "UPDATE inventories SET (node_class, node_group, node_state) = (SELECT resource_class, conductor_group, CASE"
    " WHEN maintenance THEN 'maintenance' WHEN provision_state = 'clean wait' THEN provision_state"
    " WHEN power_state IS NULL THEN 'power unknown' WHEN instance_uuid IS NOT NULL THEN 'allocated' END"
    " FROM nodes WHERE nodes.id = provider_id)",
    f"UPDATE resource_providers SET withheld = 1 WHERE id IN ({_HELD_BACK})",
    "UPDATE nodes SET provision_state = CASE WHEN id % 100 = 1 THEN 'error' ELSE 'active' END"
    " WHERE instance_uuid IS NOT NULL",
    _SERVERS,
    "INSERT INTO node_allocations (uuid, revision, name, node_id, state, resource_class, created_at)"
    " SELECT instance_uuid, 1, 'allocation-' || id, id, 'active', resource_class,"
    "        datetime(1700000000 + id, 'unixepoch')"
    "   FROM nodes WHERE instance_uuid IS NOT NULL",
    "INSERT INTO domains (id, uuid, revision, created_at, name, level)"
    " VALUES (1, 'a0000000-0000-4000-8000-000000000001', 1, '2026-01-01', 'a', 'row')",
    "INSERT INTO domains (id, uuid, revision, created_at, name, level, parent_id)"
    " SELECT DISTINCT id / 50 + 2, printf('b%07d-0000-4000-8000-000000000001', id / 50), 1, '2026-01-01',"
    "        'r' || (id / 50), 'rack', 1 FROM nodes",
    "INSERT INTO domain_members (node_id, level, domain_id, set_by)"
    " SELECT id, 'rack', id / 50 + 2, 'property' FROM nodes",
    "INSERT INTO domain_members (node_id, level, domain_id, set_by) SELECT id, 'row', 1, 'property' FROM nodes",
)


def large(path: Path, size: int = SIZE) -> None:
    """Write ``size`` nodes, in 60 groups and of 40 classes, into the SQLite database at ``path``."""
    store = Store("sqlite", "sqlite://", path.stem, path.parent)
    seeding.seed_ours(store, _Seeds(min(size, _SEEDS)))
    with store.engine.begin() as connection:
        for model, changed in _COPIED.items() if size > _SEEDS else ():
            columns = [column.name for column in model.__table__.columns if column.computed is None]
            connection.exec_driver_sql(
                "WITH RECURSIVE copies(n) AS "
                f"(SELECT {_SEEDS} UNION ALL SELECT n + {_SEEDS} FROM copies WHERE n + {_SEEDS} < {size}) "
                f"INSERT INTO {model.__tablename__} ({', '.join(columns)}) "
                f"SELECT {', '.join(changed.get(name, name) for name in columns)} FROM {model.__tablename__}, copies"
            )
        for statement in _VARIETY:
            connection.exec_driver_sql(statement)
    store.analyze()
    database = Database(load(overrides={"database": {"connection": f"sqlite:///{path}"}}))
    database.write(_enter_conductors)
    database.write(_let_live)
    database.dispose()


def _enter_conductors(session: Session) -> None:
    for number in range(GROUPS):
        if number % 10:
            conductors.register(session, f"conductor-{number}", f"rack-{number}", seeding.SERVED)
