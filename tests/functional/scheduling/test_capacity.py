# tier: first
"""Capacity: how many machines are free, and why the others are not."""

from collections import Counter
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.provider.availability import MAINTENANCE, reason, with_provider
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Inventory, Node, ResourceProvider, table_of
from baremetal_sched.scheduling.capacity import COLUMNS
from tests.database_clock import settable
from tests.functional.scheduling.booked import DAY, HOUR, enter
from tests.passing_time import go_by
from tests.service import Service

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def capacity(service: Service, query: str = "", status: int = 200, **headers: str) -> Any:
    """GET /v1/capacity"""
    found = service.http.get(f"/scheduling/v1/capacity?{query}", headers=headers, status=status).json
    return found["capacity"] if status == 200 else found["error"]["message"]


def row(free: int = 0, allocated: int = 0, unavailable: dict[str, int] | None = None, **keys: Any) -> dict[str, Any]:
    """A row of the answer; nodes in maintenance are so by the flag."""
    unavailable = unavailable or {}
    total = free + allocated + sum(unavailable.values())
    legacy = unavailable.get(MAINTENANCE)
    held = [{"type": "legacy", "nodes": legacy, "until": None}] if legacy else []
    return {**keys, "total": total, "free": free, "allocated": allocated, "unavailable": unavailable, "held": held}


def fleet(service: Service) -> dict[str, str]:
    """Machines of all sorts, by name."""
    names = {
        "free": {},
        "noble": {"traits": ("CUSTOM_A", "CUSTOM_B")},
        "claimed": {"traits": ("CUSTOM_A",)},
        "allotted": {},
        "broken": {"maintenance": True, "traits": ("CUSTOM_A",)},
        "dark": {"power": False},
        "silver": {"resource_class": "silver", "conductor_group": "rack1"},
        "nothing": {"resource_class": None},
        "cleaning": {},
        "busy": {},
    }
    service.add_conductor("c2", "rack1")
    uuids = {}
    for name, fields in names.items():
        maintenance = fields.pop("maintenance", False)
        uuids[name] = service.add_node(name, **fields)  # type: ignore[arg-type]
        if maintenance:
            service.baremetal("PUT", f"/nodes/{name}/maintenance", {"reason": "disk"})
    service.claim(CONSUMER, uuids["claimed"])
    body = {"resource_class": "gold", "candidate_nodes": [uuids["allotted"]]}
    service.baremetal("POST", "/allocations", body)
    service.set_columns(uuids["cleaning"], provision_state="clean wait")
    service.set_columns(uuids["busy"], reservation="c1")
    return uuids


def test_capacity(service: Service) -> None:
    """Many questions about one fleet, which takes long to make."""
    fleet(service)
    of_all_machines(service)
    told_apart(service)
    filters(service)
    alerts(service)
    two_statements(service)


def of_all_machines(service: Service) -> None:
    unavailable = {"clean wait": 1, "maintenance": 1, "power unknown": 1, "resource class": 1}
    # A lock passes; placement offers the machine all the same.
    assert capacity(service) == [row(4, 2, unavailable)]
    offered = service.candidates("resources=CUSTOM_GOLD:1") | service.candidates("resources=CUSTOM_SILVER:1")
    assert len(offered) == 4


def told_apart(service: Service) -> None:
    gold = {"clean wait": 1, "maintenance": 1, "power unknown": 1}
    expected = [
        row(resource_class=None, conductor_group="", unavailable={"resource class": 1}),
        row(3, 2, gold, resource_class="gold", conductor_group=""),
        row(1, resource_class="silver", conductor_group="rack1"),
    ]
    assert capacity(service, "group_by=resource_class,conductor_group") == expected
    assert capacity(service, "group_by=resource_class&group_by=conductor_group") == expected
    assert capacity(service, "group_by=trait:CUSTOM_A,trait:CUSTOM_B&resource_class=gold") == [
        row(2, 1, {"clean wait": 1, "power unknown": 1}, **{"trait:CUSTOM_A": False, "trait:CUSTOM_B": False}),
        row(0, 1, {"maintenance": 1}, **{"trait:CUSTOM_A": True, "trait:CUSTOM_B": False}),
        row(1, **{"trait:CUSTOM_A": True, "trait:CUSTOM_B": True}),
    ]


def filters(service: Service) -> None:
    assert capacity(service, "traits=CUSTOM_A,CUSTOM_B") == [row(1)]
    assert capacity(service, "not-traits-any=CUSTOM_A&resource_class=gold&at_least=9")[0]["free"] == 2
    assert capacity(service, "conductor_group=RACK1") == [row(1)]
    assert capacity(service, "resource_class=bronze") == [row()]
    assert capacity(service, "resource_class=bronze&group_by=resource_class") == []
    assert capacity(service, "driver=ipmi&shard=s1&owner=o&lessee=l") == [row()]


def alerts(service: Service) -> None:
    found = capacity(service, "group_by=resource_class&at_least=3")
    assert [each["resource_class"] for each in found] == [None, "silver"]
    assert capacity(service, "at_least=4") == []


def test_machines_on_their_way(service: Service) -> None:
    """The state of a machine that was never available says more than its unknown power."""
    service.add_conductor("c1")
    body = {"driver": "fake-hardware", "resource_class": "gold", "name": "new"}
    service.baremetal("POST", "/nodes", body, status=201)
    assert capacity(service) == [row(unavailable={"enroll": 1})]


def two_statements(service: Service) -> None:
    """One counts, and one names the holds, as something is in maintenance."""
    with service.statements() as statements:
        capacity(service, "group_by=resource_class,trait:CUSTOM_A&at_least=2&traits-any=CUSTOM_A,CUSTOM_B")
    assert len(statements) == 2


HELD: dict[str, dict[str, Any]] = {
    "fit": {},
    "cleaning": {"provision_state": "clean wait"},
    "broken": {"maintenance": True},
    "dark": {"power_state": None},
    "part": {"parent_node": CONSUMER},
    "plain": {"resource_class": None},
    "worst": {"provision_state": "active", "maintenance": True, "power_state": "error", "parent_node": CONSUMER},
}


#: Changes behind the back of the node: columns of its inventory, and of its provider.
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "claimed": ({"used": 1}, {}),
    "changed": ({"reserved": 1, "capacity": 0}, {}),
    "held": ({"withheld": 1}, {"holder": CONSUMER}),
    "withheld": ({"withheld": 1}, {}),
}


def of_all_sorts(service: Service) -> None:
    """Machines held back for each reason: as such, with an instance, claimed, held by a tree, and changed directly."""
    for place, (name, columns) in enumerate(HELD.items()):
        owner = f"owner-{place % 2}"
        service.set_columns(service.add_node(name), owner=owner, **columns)
        used = service.add_node(f"{name}-used")
        service.set_columns(used, owner=owner, instance_uuid=used, **columns)
        for more, change in CHANGES.items():
            uuid = service.add_node(f"{name}-{more}")
            service.set_columns(uuid, owner=owner, **columns)
            service.database.write(lambda session, uuid=uuid, change=change: change_provider(session, uuid, change))


def change_provider(session: Session, uuid: str, change: tuple[dict[str, Any], dict[str, Any]]) -> None:
    of_inventory, of_provider = change
    row_id = session.scalar(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid))
    session.execute(update(Inventory).where(Inventory.provider_id == row_id).values(**of_inventory))
    if of_provider:
        session.execute(update(ResourceProvider).where(ResourceProvider.id == row_id).values(**of_provider))


def test_each_node_is_counted_for_its_reason(service: Service) -> None:
    service.add_conductor("c1")
    of_all_sorts(service)
    index = {"resource_class", "conductor_group"}
    for keys in [], [*index], ["resource_class"], ["conductor_group"], ["owner"], ["owner", "resource_class"]:
        with service.statements() as statements:
            capacity(service, f"group_by={','.join(keys)}" if keys else "")
        assert any("node_class" in each for each in statements) == (index >= set(keys))
        rows = reasons(service, keys)
        assert {"resource provider", "allocated", "clean wait", "maintenance", None} < {row[0] for row in rows}
        found: Counter[Any] = Counter()
        for each in capacity(service, f"group_by={','.join(keys)}" if keys else ""):
            values = [each[key] for key in keys]
            for why, number in (each["unavailable"] | {"allocated": each["allocated"], None: each["free"]}).items():
                found[(why, *values)] += number
        assert +found == Counter(rows), keys


def test_what_inventories_repeat_follows_the_node(service: Service) -> None:
    service.add_conductor("c1")
    service.add_conductor("c2", "rack1")
    uuid = service.add_node("n1")
    steps: list[tuple[dict[str, Any], tuple[Any, ...] | None]] = [
        ({}, ("gold", "", None)),
        ({"conductor_group": "rack1"}, ("gold", "rack1", None)),
        ({"provision_state": "manageable"}, ("gold", "rack1", "manageable")),
        ({"provision_state": "inspecting"}, ("gold", "rack1", "inspecting")),
        ({"instance_uuid": CONSUMER}, ("gold", "rack1", "allocated")),
        ({"resource_class": "Gold"}, ("Gold", "rack1", "allocated")),
        ({"instance_uuid": None, "maintenance": True}, ("Gold", "rack1", "maintenance")),
        ({"resource_class": "silver"}, ("silver", "rack1", "maintenance")),
        ({"resource_class": None}, None),
        ({"resource_class": "gold", "maintenance": False, "provision_state": "available"}, ("gold", "rack1", None)),
    ]
    for columns, expected in steps:
        service.set_columns(uuid, **columns)
        assert copies(service) == ([expected] if expected else []), columns
        assert service.database.read(audit) == [], columns
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    service.set_columns(uuid, conductor_group="")
    # Clients of placement see nothing of it.
    assert service.placement("GET", f"/resource_providers/{uuid}").json["generation"] == generation


def copies(service: Service) -> list[tuple[Any, ...]]:
    columns = (Inventory.node_class, Inventory.node_group, Inventory.node_state)
    return service.database.read(lambda session: [tuple(row) for row in session.execute(select(*columns))])


def test_the_check_finds_what_inventories_repeat_wrongly(service: Service) -> None:
    uuid = service.add_node("n1")
    wrong = update(Inventory).values(node_state="maintenance")
    service.database.write(lambda session: session.execute(wrong))
    (line,) = service.database.read(audit)
    assert f"node {uuid}: inventories of its provider repeat [('gold', '', 'maintenance')]" in line
    # The next change of the node that its provider shows mends it.
    service.set_columns(uuid, resource_class="silver")
    assert service.database.read(audit) == []


def reasons(service: Service, keys: list[str]) -> list[Any]:
    """Why each node is not free, as pages and explanations tell it, with its keys."""
    query = select(reason(), *(COLUMNS[key] for key in keys)).select_from(with_provider(table_of(Node)))
    return service.database.read(lambda session: [tuple(row) for row in session.execute(query)])


def test_machines_that_are_booked_are_counted_as_such(database_url: str) -> None:
    """By the index and node by node; what else keeps a machine from being free comes first."""
    with Service(database_url, scheduling={"withhold_before_windows": 600}) as service:
        service.add_conductor("c1")
        names = ("plain", "twice", "part", "held far", "held near", "held")
        for name in (*names, "free", "held before", "used", "broken"):
            service.add_node(name)
        plan(service, "held before", HOUR)
        for name in names:
            enter(service, name, starts=DAY, ends=2 * DAY)
        enter(service, "twice", starts=3 * DAY, ends=4 * DAY)
        for name, seconds in (("held far", 30 * DAY), ("held near", HOUR), ("held", HOUR / 2)):
            plan(service, name, seconds)
        withhold: tuple[dict[str, Any], dict[str, Any]] = ({"withheld": 1}, {"withheld": 1})
        service.database.write(lambda session: change_provider(session, service.node("part")["uuid"], withhold))
        service.set_columns(service.node("used")["uuid"], instance_uuid=CONSUMER)
        service.set_columns(service.node("broken")["uuid"], maintenance=True)
        go_by(service, HOUR - 60)
        # Nobody has looked for other machines yet.
        enter(service, "held before", "used", "broken", starts=DAY, ends=2 * DAY)
        expected = row(1, 1, {"booked": 5, "maintenance": 1, "planned hold": 2})
        for query in ("", "resource_class=gold"):
            (found,) = capacity(service, query)
            assert {**found, "held": []} == {**expected, "held": []}, query


def test_machines_that_are_booked_at_a_moment(service: Service) -> None:
    with settable(service.database) as clock:
        clock.stopped_at = 2_000_000_000.0
        service.add_conductor("c1")
        service.add_node("free", resource_class="silver")  # nothing that the booking could have instead
        for name in ("booked", "held too"):
            service.add_node(name)
        enter(service, "booked", "held too", starts=DAY, ends=2 * DAY, turnaround=HOUR)
        hold = {"type": "window", "starts_at": in_words(clock.stopped_at + 1.5 * DAY)}
        service.http.post_json("/scheduling/v1/nodes/held too/holds", hold, status=201)
        for seconds, free, unavailable in (
            (0, 3, {}),
            (DAY - 1, 3, {}),
            (DAY, 1, {"booked": 2}),
            (1.5 * DAY, 1, {"booked": 1, "planned hold": 1}),
            (2 * DAY + HOUR - 1, 1, {"booked": 1, "planned hold": 1}),
            (2 * DAY + HOUR, 2, {"planned hold": 1}),
        ):
            found = capacity(service, f"at={in_words(clock.stopped_at + seconds)}")
            assert found == [row(free, 0, unavailable)], seconds


def plan(service: Service, name: str, seconds: float) -> None:
    """Plan a hold of a node, so many seconds from now, for two hours: then the machine is back for its booking."""
    start = service.database.read(holds.now) + seconds
    body = {"type": "window", "starts_at": in_words(start), "ends_at": in_words(start + 2 * HOUR)}
    service.http.post_json(f"/scheduling/v1/nodes/{name}/holds", body, status=201)


REFUSED = [
    ("group_by=resource_clas", "Did you mean 'resource_class'?"),
    ("group_by=", "Cannot group by ''"),
    ("group_by=trait:nvme", "Cannot group by 'trait:nvme'"),
    ("group_by=" + ",".join(f"trait:CUSTOM_{n}" for n in range(9)), "at most 8"),
    ("at_least=many", "at_least"),
    ("traits=nvme", "Invalid traits"),
    ("limit=1", "Unexpected arguments: limit"),
    ("owner=a&owner=b", "one value for owner"),
]


def test_what_is_refused(service: Service) -> None:
    for query, said in REFUSED:
        assert said in capacity(service, query, 400), query


def test_tenants_have_their_own_counted(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("of-bert", owner="b")
        service.add_node("of-anna", owner="a")
        service.add_node("leased", owner="b", lessee="a")
        service.add_node("of-nobody", resource_class="silver")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        assert capacity(service, "group_by=owner,resource_class", **anna) == [
            row(1, owner="a", resource_class="gold"),
            row(1, owner="b", resource_class="gold"),
        ]
        assert capacity(service, "owner=b&group_by=lessee", **anna) == [row(1, lessee="a")]
        admin = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
        assert capacity(service, **admin) == [row(4)]
        system = {"X-Auth-Token": "s", "X-Roles": "reader", "OpenStack-System-Scope": "all"}
        assert capacity(service, **system) == [row(4)]
        assert "scheduling:capacity:get" in capacity(service, "", 403, **{"X-Auth-Token": "u:p", "X-Roles": "member"})
        assert capacity(service, "", 401)


def test_which_holds_the_machines_have_and_when_they_come_back(service: Service) -> None:
    for name in ("n1", "n2", "n3", "n4", "n5"):
        service.add_node(name, resource_class="gold" if name < "n4" else "silver", power=False)
    wanted = {
        "n1": [{"type": "window", "ends_at": "2090-01-01T00:00:00Z"}, {"type": "hardware_failure"}],
        "n2": [{"type": "window", "ends_at": "2091-01-01T00:00:00+01:00"}],
        "n3": [{"type": "window", "starts_at": "2090-01-01T00:00:00Z"}],
        "n4": [{"type": "hardware_failure", "ends_at": "2090-01-01T00:00:00Z"}, {"type": "lockout"}],
    }
    for name, bodies in wanted.items():
        for body in bodies:
            service.http.post_json(f"/scheduling/v1/nodes/{name}/holds", body, status=201)
    gold, silver = capacity(service, "group_by=resource_class")
    assert gold["held"] == [
        {"type": "hardware_failure", "nodes": 1, "until": None},
        {"type": "window", "nodes": 2, "until": "2090-12-31T23:00:00+00:00"},
    ]
    assert silver["held"] == [
        {"type": "hardware_failure", "nodes": 1, "until": "2090-01-01T00:00:00+00:00"},
        {"type": "lockout", "nodes": 1, "until": None},
    ]
    (each,) = capacity(service, "resource_class=silver")
    assert each["held"] == silver["held"]
    with service.statements() as statements:
        capacity(service, "resource_class=bronze")
    assert len(statements) == 1
