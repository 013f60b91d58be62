"""Claims of several machines that wait: served when enough are free at one moment, and passed by single requests."""

from typing import Any

from sqlalchemy import select

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import MachineGroup
from baremetal_sched.scheduling import claims, gathering
from baremetal_sched.scheduling.queue import request_of
from baremetal_sched.settings import load
from tests.functional.scheduling.test_claims import CLAIMS, UUID, listed, message, post, show
from tests.functional.scheduling.test_domains import make, put
from tests.functional.scheduling.test_several import OTHER, PACK, SPREAD, claim, fill, names_of, racks_of
from tests.functional.scheduling.test_shared_resources import HOLDER, Rack
from tests.restored import Rows
from tests.service import Service

ME = {"consumer": {"uuid": UUID, "project_id": "p"}}


def release(service: Service, uuid: str) -> None:
    service.http.delete(f"{CLAIMS}/{uuid}", status=204)


def sweep(service: Service) -> None:
    gathering.sweep(service.database, load({}))


def taken(service: Service, number: int) -> list[str]:
    """Claims of one machine each."""
    return [post(service, status=201).json["uuid"] for _ in range(number)]


def test_it_is_served_when_enough_are_free(served: Service) -> None:
    for name in ("n1", "n2"):
        served.add_node(name)
    single = taken(served, 2)
    shown = claim(served, 2, 202, wait=60, **ME)
    assert (shown["state"], shown["position"], shown["count"], shown["machines"]) == ("waiting", 1, 2, [])
    assert shown["reason"].startswith("No node that matches is free.")
    assert listed(served, "state=waiting") == [UUID]
    release(served, single[0])
    # Not kept for it: a single request gets it, and does not wait.
    third = post(served, status=201).json["uuid"]
    release(served, third)
    assert show(served)["state"] == "waiting"
    release(served, single[1])
    assert (show(served)["state"], names_of(served, show(served))) == ("claimed", ["n1", "n2"])
    assert served.database.snapshot(audit) == []


def test_single_requests_behind_it_are_served(served: Service) -> None:
    for name in ("n1", "n2"):
        served.add_node(name)
    single = taken(served, 2)
    claim(served, 2, 202, wait=60, **ME)
    later = post(served, wait=60, status=202).json
    assert later["position"] == 2
    release(served, single[0])
    assert show(served, later["uuid"])["state"] == "claimed"
    assert show(served)["state"] == "waiting"


def test_it_is_served_by_its_rules(served: Service) -> None:
    fill(served, a=2, b=1)
    first = claim(served, 3)
    claim(served, 2, 202, wait=60, **ME, **SPREAD)
    consumers = {served.node(each["node"])["name"]: each["consumer"] for each in first["machines"]}
    for name in ("a-0", "a-1"):
        served.placement("DELETE", f"/allocations/{consumers[name]}")
        assert show(served)["state"] == "waiting"
    served.placement("DELETE", f"/allocations/{consumers['b-0']}")
    assert racks_of(names_of(served, show(served))) == ["a", "b"]


def test_the_sweep_serves_what_domains_made_possible(served: Service) -> None:
    fill(served, a=1)
    served.add_node("x-0")
    single = taken(served, 2)
    claim(served, 2, 202, wait=60, even_if_impossible=True, **ME, **PACK)
    for each in single:
        release(served, each)
    assert show(served)["state"] == "waiting"
    rack = make(served, "b")
    put(served, rack, "a-0", "x-0")
    sweep(served)
    assert names_of(served, show(served)) == ["a-0", "x-0"]


def test_what_can_never_be_had_does_not_wait(served: Service) -> None:
    fill(served, a=2, b=1)
    said = claim(served, 3, 409, wait=60, **SPREAD)
    assert "at most 1 in the same rack" in said
    assert "Waiting is refused" in said
    assert "Waiting is refused" in claim(served, 4, 409, wait=60)
    shown = claim(served, 3, 202, wait=60, even_if_impossible=True, **ME, **SPREAD)
    assert shown["priority"] == -1


def test_a_group_that_waits_keeps_its_rules(served: Service) -> None:
    fill(served, a=2, b=2)
    single = taken(served, 4)
    claim(served, 2, 202, wait=60, group="db", **ME, **SPREAD)
    other = {"consumer": {"uuid": OTHER, "project_id": "p"}}
    assert "is spread by rack" in claim(served, 1, 409, wait=60, group="db", **other, **PACK)
    release(served, UUID)
    claim(served, 1, 202, wait=60, group="db", **other, **PACK)
    release(served, single[0])
    assert show(served, OTHER)["state"] == "claimed"
    release(served, OTHER)
    sweep(served)
    assert served.database.read(lambda session: session.scalars(select(MachineGroup.id)).all()) == []


def test_it_is_cancelled(served: Service) -> None:
    served.add_node("n1")
    served.add_node("n2")
    single = taken(served, 2)
    claim(served, 2, 202, wait=60, **ME)
    release(served, UUID)
    for each in single:
        release(served, each)
    assert listed(served) == []
    assert len(taken(served, 2)) == 2


def test_it_does_not_begin_when_its_consumer_exists(served: Service) -> None:
    nodes = [served.add_node(name) for name in ("n1", "n2", "n3")]
    claimed = claim(served, 1, group="x", **ME)
    consumer = claimed["machines"][0]["consumer"]
    release(served, UUID)
    body = {
        "allocations": {nodes[0]: {"resources": {"CUSTOM_GOLD": 1}}},
        "consumer_generation": None,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "X",
    }
    served.placement("PUT", f"/allocations/{consumer}", body)
    assert "has allocations already" in message(post(served, count=1, group="x", status=409, **ME))


def test_all_machines_are_counted_only_for_one_that_helps(served: Service) -> None:
    """A rack that had enough free machines before makes no choice possible, and one that had none may."""
    fill(served, a=3, b=1)
    held = claim(served, 4)
    consumers = {served.node(each["node"])["name"]: each["consumer"] for each in held["machines"]}
    claim(served, 2, 202, wait=60, **ME, **SPREAD)
    counts = []
    for name in ("a-0", "a-1", "a-2", "b-0"):
        with served.statements() as seen:
            served.placement("DELETE", f"/allocations/{consumers[name]}")
        counts.append(sum("count(*)" in each and "domain_members" in each for each in seen))
    assert counts[1:3] == [1, 1]
    assert racks_of(names_of(served, show(served))) == ["a", "b"]


# -- what one waits for ------------------------------------------------------------------------------------------------


def test_what_is_free_only_with_what_others_share_does_not_end_it(service: Service) -> None:
    """For a moment only machines that share what it needs are free: it waits, and is served by others."""
    rack = Rack(service)
    served = rack.service
    served.placement("DELETE", f"/allocations/{HOLDER}")
    own = [served.add_node(name) for name in ("o1", "o2")]
    for node in own:
        child = served.placement("POST", "/resource_providers", {"name": f"{node}-disk", "parent_provider_uuid": node})
        stock = {"resource_class": "DISK_GB", "total": 2}
        served.placement("POST", f"/resource_providers/{child.json['uuid']}/inventories", stock)
    query = {"query": "resources=CUSTOM_GOLD:1&resources_disk=DISK_GB:2"}
    held = post(served, query, count=2, status=201).json
    for uuid in ("n1", "n2"):
        served.baremetal("PUT", f"/nodes/{uuid}/maintenance")
    post(served, query, count=2, wait=60, status=202, **ME)
    for uuid in ("n1", "n2"):
        served.baremetal("DELETE", f"/nodes/{uuid}/maintenance")
    assert show(served)["state"] == "waiting"
    sweep(served)
    # Nor if they were free when it was looked at, and are not when it is to be served.
    request = served.database.read(lambda session: request_of(claims.show(session, UUID).claim.request))
    assert not gathering.serve(served.database, load({}), UUID, request)
    assert show(served)["state"] == "waiting"
    release(served, held["uuid"])
    assert (show(served)["state"], {each["node"] for each in show(served)["machines"]}) == ("claimed", set(own))


# -- groups that shrink ------------------------------------------------------------------------------------------------


def taking(served: Service, waits: dict[str, Any], **first: Any) -> list[dict[str, Any]]:
    """The machines of the first claim of group g; a second claim of it waits."""
    own = {"consumer": {"uuid": OTHER, "project_id": "p"}}
    machines: list[dict[str, Any]] = claim(served, group="g", **{**own, **first})["machines"]
    claim(served, status=202, group="g", wait=60, even_if_impossible=True, **{**ME, **waits})
    return machines


def test_what_a_full_group_gives_back_serves_its_own_claim(served: Service, row: Rows) -> None:
    """Without a sweep: the group has room again, whatever becomes of the machine that it has given back."""
    fill(served, a=2, b=2)
    one = {"count": 1}
    with row("the same machine"):
        machines = taking(served, one, count=2, **SPREAD)
        served.placement("DELETE", f"/allocations/{machines[0]['consumer']}")
        assert show(served)["state"] == "claimed"
    with row("a machine that is not free then"):
        machines = taking(served, one, count=2, **SPREAD)
        served.baremetal("PUT", f"/nodes/{machines[0]['node']}/maintenance")
        served.placement("DELETE", f"/allocations/{machines[0]['consumer']}")
        assert show(served)["state"] == "claimed"
    with row("a machine of another class"):
        served.add_node("s-0", resource_class="silver")
        put(served, make(served, "s"), "s-0")
        domain = served.http.get("/scheduling/v1/domains").json["domains"]
        put(served, next(each["uuid"] for each in domain if each["name"] == "s"), "a-0", "b-0")
        for name in ("a-1", "b-1"):
            served.baremetal("PUT", f"/nodes/{name}/maintenance")
        silver = {"query": "resources=CUSTOM_SILVER:1"}
        machines = taking(served, one, **silver, **one, **SPREAD)
        served.placement("DELETE", f"/allocations/{machines[0]['consumer']}")
        assert show(served)["state"] == "claimed"
    with row("a machine that is deleted"):
        machines = taking(served, one, count=2, **SPREAD)
        served.baremetal("PUT", f"/nodes/{machines[0]['node']}/maintenance")
        served.baremetal("DELETE", f"/nodes/{machines[0]['node']}")
        assert show(served)["state"] == "claimed"
    with row("its last one, in a rack that has too few"):
        served.add_node("b-2")
        domain = served.http.get("/scheduling/v1/domains").json["domains"]
        put(served, next(each["uuid"] for each in domain if each["name"] == "b"), "b-2")
        only = {"query": f"resources=CUSTOM_GOLD:1&in_tree={served.node('a-0')['uuid']}"}
        machines = taking(served, {"count": 3}, **only, **one, **PACK)
        served.placement("DELETE", f"/allocations/{machines[0]['consumer']}")
        assert racks_of(names_of(served, show(served))) == ["b", "b", "b"]


def test_the_name_of_a_group_is_free_though_a_consumer_has_something_else(served: Service, row: Rows) -> None:
    fill(served, a=2, b=1)
    other = served.placement("POST", "/resource_providers", {"name": "store"}).json["uuid"]
    stock = {"resource_class": "DISK_GB", "total": 10}
    served.placement("POST", f"/resource_providers/{other}/inventories", stock)
    other_claim = {"consumer": {"uuid": OTHER, "project_id": "p"}}
    elsewhere = {"nothing of a machine": (other, "DISK_GB"), "another machine": (None, "CUSTOM_GOLD")}
    for name, (provider, resource_class) in elsewhere.items():
        with row(name):
            machine = claim(served, 1, group="g", **ME, **SPREAD)["machines"][0]
            free = {served.node(each)["uuid"] for each in ("a-0", "a-1", "b-0")} - {machine["node"]}
            has = provider or min(free)
            served.claim(machine["consumer"], has, resource_class, generation=1)
            if provider is None:
                assert "is spread by rack" in claim(served, 1, 409, group="g", **PACK, **other_claim)
                release(served, UUID)
            claim(served, 1, group="g", **PACK, **other_claim)
            allocations = served.placement("GET", f"/allocations/{machine['consumer']}").json["allocations"]
            assert list(allocations) == [has]
            for each in listed(served, "state=claimed"):
                release(served, each)
            sweep(served)
            assert served.database.read(lambda session: session.scalars(select(MachineGroup.id)).all()) == []
