"""The states in which requests meet: what there is of the node n1, and who holds it; beside it everything else once."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.domains import domains, members
from baremetal_sched.baremetal.holds import due, holds
from baremetal_sched.baremetal.holds.rules import MOST_OF_PROJECT
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import (
    Allocation,
    BookedMachine,
    Booking,
    ClaimEnd,
    Domain,
    Hold,
    Node,
    ServerGroup,
    WaitingRequest,
)
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import CLAIM
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.claims import NewClaim
from baremetal_sched.scheduling.webhooks import webhooks
from baremetal_sched.settings import Settings
from tests.passing_time import HOUR, go_by
from tests.service import Service

DAY = 24 * HOUR

#: What operations say for things, by the names that they say: "{node}" is the UUID of n1.
Names = Mapping[str, str]


def given(number: int) -> str:
    """A UUID that is the same in each run."""
    return f"{number:08x}-0000-4000-8000-000000000001"


#: Things of which each state has one, or none, and things that operations make.
_THINGS = (
    *("node", "node2", "provider", "provider2", "child", "consumer", "other_consumer", "new_consumer", "allocation"),
    *("new_allocation", "new_node", "new_provider", "image", "plain_image", "new_image", "port", "portgroup"),
    *("chassis", "template", "runbook", "rule", "connector", "target", "new_port", "new_portgroup", "new_chassis"),
    *("new_template", "new_runbook", "new_rule", "new_connector", "new_target", "aggregate", "new_child", "instance"),
    *("picky_image", "foreign_runbook", "queued_image", "hold"),
    *("row", "rack", "switch", "rack2", "group", "hook", "booking", "new_booking", "other_booking"),
)
NAMES: Names = {name: given(number) for number, name in enumerate(_THINGS, 1)}
#: The consumers of claims of several machines, which have the UUIDs of ``instance`` and of ``new_consumer``.
MEMBERS: Names = {
    f"{name}_{number}": str(uuid5(UUID(NAMES[name]), str(number)))
    for name in ("instance", "new_consumer")
    for number in (1, 2)
}

_ZEROS = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
STEPS = [{"interface": "management", "step": "apply_configuration", "args": {}, "priority": 10}]
CLEAN_STEPS = [{"interface": "management", "step": "apply_configuration", "args": {}, "order": 1}]
ACTIONS = [{"op": "set-attribute", "args": {"path": "/extra/seen", "value": "yes"}}]


def _free(service: Service) -> None:
    """The node n1 is free; plain providers, of which another consumer has something; flavors, images and the rest."""
    for number, (name, resource_class) in enumerate((("node", "gold"), ("node2", "silver")), 1):
        body = {"driver": "fake-hardware", "name": f"n{number}", "uuid": NAMES[name]}
        service.baremetal("POST", "/nodes", body, version=_CREATES_AVAILABLE)
        service.patch(NAMES[name], ("add", "/resource_class", resource_class))
        service.baremetal("PUT", f"/nodes/n{number}/traits", {"traits": ["CUSTOM_FAST"]})
        service.set_columns(NAMES[name], power_state="power on")
    _add_parts(service)
    _add_placement(service)
    _add_compute(service)
    service.database.write(_add_domains)
    service.database.write(_add_webhook)


#: Nodes of clients before 1.11 are available at once.
_CREATES_AVAILABLE = "1.10"


def _add_parts(service: Service) -> None:
    node = NAMES["node"]
    iqn = "iqn.2017-07.org.example:1"
    for path, body in (
        ("chassis", {"uuid": NAMES["chassis"]}),
        ("portgroups", {"uuid": NAMES["portgroup"], "node_uuid": node, "name": "bond"}),
        ("ports", {"uuid": NAMES["port"], "node_uuid": node, "address": "52:54:00:00:00:01"}),
        ("volume/connectors", {"uuid": NAMES["connector"], "node_uuid": node, "type": "iqn", "connector_id": iqn}),
        (
            "volume/targets",
            {
                "uuid": NAMES["target"],
                "node_uuid": node,
                "volume_type": "iscsi",
                "boot_index": 0,
                "volume_id": "1",
            },
        ),
        ("deploy_templates", {"uuid": NAMES["template"], "name": "CUSTOM_FAST", "steps": STEPS}),
        ("runbooks", {"uuid": NAMES["runbook"], "name": "CUSTOM_FAST", "steps": CLEAN_STEPS}),
        ("runbooks", {"uuid": NAMES["foreign_runbook"], "name": "CUSTOM_FOREIGN", "steps": CLEAN_STEPS}),
        ("inspection_rules", {"uuid": NAMES["rule"], "actions": ACTIONS}),
    ):
        service.baremetal("POST", f"/{path}", body)
    for name, trait in (("runbook", "CUSTOM_FAST"), ("foreign_runbook", "CUSTOM_SLOW")):
        service.baremetal("PUT", f"/runbooks/{NAMES[name]}/traits", {"traits": [trait]})


def _add_placement(service: Service) -> None:
    for name in ("CUSTOM_FPGA", "CUSTOM_SPARE"):
        service.placement("PUT", f"/resource_classes/{name}")
        service.placement("PUT", f"/traits/{name}")
    for name in ("provider", "provider2"):
        service.placement("POST", "/resource_providers", {"name": name, "uuid": NAMES[name]})
        stock = {"resource_class": "VCPU", "total": 8}
        service.placement("POST", f"/resource_providers/{NAMES[name]}/inventories", stock)
    service.claim(NAMES["other_consumer"], NAMES["provider"], "VCPU")


def _add_domains(session: Session) -> None:
    """A row with a rack, which has a switch; and another rack. The node n1 is in the first rack, but its property names
    the other one."""
    parent: Domain | None = None
    for name, level in (("row", "row"), ("rack", "rack"), ("switch", "nvlink"), ("rack2", "rack")):
        above = None if parent is None or name == "rack2" else parent.id
        parent = Domain(uuid=NAMES[name], name=name, level=level, created_at=utcnow(), parent_id=above)
        session.add(parent)
        session.flush()
    node = session.scalars(select(Node).where(Node.uuid == NAMES["node"])).one()
    node.properties = {"rack": "rack2"}
    (rack,) = session.scalars(select(Domain).where(Domain.uuid == NAMES["rack"]))
    members.place(session, {node.id: domains.path_from(session, rack.id)}, members.PROPERTY)


def _add_webhook(session: Session) -> None:
    """One that is parked, of which the events are left."""
    hook = webhooks.create(session, "", {"unrestricted": True}, {"url": "https://hooks.example.com/", "name": "old"}, 9)
    hook.uuid, hook.parked = NAMES["hook"], True


def _add_compute(service: Service) -> None:
    service.add_flavor("bm.gold", id="gold", specs={"resources:CUSTOM_GOLD": "1", **_ZEROS})
    service.add_flavor("private", id="private", **{"os-flavor-access:is_public": False})
    service.compute("POST", "/os-keypairs", {"keypair": {"name": "key", "public_key": _KEY}})
    for name, fields in (
        ("image", {"trait:CUSTOM_FAST": "required"}),
        ("plain_image", {}),
        ("picky_image", {"trait:CUSTOM_SPARE": "required"}),  # n1 does not have it
        ("queued_image", {}),
    ):
        body = {"id": NAMES[name], "name": name, "container_format": "bare", "disk_format": "raw", **fields}
        _image(service, "POST", "/images", body)
        _image(service, "PUT", f"/images/{NAMES[name]}/tags/one")
        if name != "queued_image":
            service.http.put(f"/image/v2/images/{NAMES[name]}/file", b"", {"Content-Type": "application/octet-stream"})
    _image(service, "POST", f"/images/{NAMES['image']}/members", {"member": "green"})


_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFhVU4GHrxyVjHkxn/WNpD46HhE+pT5Ws6lGI9gD8S5r one@example.org"


def _image(service: Service, method: str, path: str, body: Any = None) -> None:
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    call(f"/image/v2{path}", *(() if body is None else (body,)))


def _hold(service: Service) -> None:
    """A consumer holds n1."""
    service.claim(NAMES["consumer"], NAMES["node"])


def _add_child(service: Service) -> None:
    """A provider below n1."""
    body = {"name": "child", "uuid": NAMES["child"], "parent_provider_uuid": NAMES["node"]}
    service.placement("POST", "/resource_providers", body)
    path = f"/resource_providers/{NAMES['child']}"
    service.placement("POST", f"{path}/inventories", {"resource_class": "CUSTOM_FPGA", "total": 2})
    traits = {"traits": ["CUSTOM_FAST"], "resource_provider_generation": 1}
    service.placement("PUT", f"{path}/traits", traits)


def _hold_child(service: Service) -> None:
    """A consumer holds a part of the resources below n1."""
    service.claim(NAMES["consumer"], NAMES["child"], "CUSTOM_FPGA")


def _allocate(service: Service) -> None:
    """An allocation has n1."""
    body = {"uuid": NAMES["allocation"], "name": "a1", "resource_class": "gold"}
    service.baremetal("POST", "/allocations", body)


def _boot(service: Service) -> None:
    """A server is on n1, and active."""
    body = {"name": "s1", "flavorRef": "gold", "imageRef": NAMES["image"], "networks": "none", "metadata": {"a": "b"}}
    body["tags"] = ["one"]
    service.compute("POST", "/servers", {"server": body})
    service.work()


def _add_group(service: Service) -> None:
    """A server group, whose servers are to be in different racks; the node n2 is in the second rack."""
    service.patch(NAMES["node2"], ("replace", "/resource_class", "gold"))

    def add(session: Session) -> None:
        owner = {"project_id": "p", "user_id": "u", "created_at": utcnow()}
        session.add(ServerGroup(uuid=NAMES["group"], name="g", policy="anti-affinity", **owner))
        (rack,) = session.scalars(select(Domain).where(Domain.uuid == NAMES["rack2"]))
        (node,) = session.scalars(select(Node.id).where(Node.uuid == NAMES["node2"]))
        members.place(session, {node: [rack]}, members.PERSON)

    service.database.write(add)


def _boot_in_group(service: Service) -> None:
    """A server of the group is on n1, since n2 is in maintenance for a while."""
    service.baremetal("PUT", f"/nodes/{NAMES['node2']}/maintenance")
    server = {"name": "s1", "flavorRef": "gold", "imageRef": NAMES["plain_image"], "networks": "none"}
    service.compute("POST", "/servers", {"server": server, "os:scheduler_hints": {"group": NAMES["group"]}})
    service.work()
    service.baremetal("DELETE", f"/nodes/{NAMES['node2']}/maintenance")


def _hold_beside_group(service: Service) -> None:
    """A server of the group is on n1, and a consumer holds n2."""
    _boot_in_group(service)
    service.claim(NAMES["consumer"], NAMES["node2"])


def _wait_in_group(service: Service) -> None:
    """And another server of the group waits for n2."""
    _hold_beside_group(service)
    server = {"name": "s3", "flavorRef": "gold", "imageRef": NAMES["plain_image"], "networks": "none"}
    hints = {"group": NAMES["group"], "wait": "3600"}
    service.compute("POST", "/servers", {"server": server, "os:scheduler_hints": hints})


def _wait(service: Service) -> None:
    """An allocation waits for n1, then a server."""
    body = {"uuid": NAMES["allocation"], "name": "a1", "resource_class": "gold"}
    service.baremetal("POST", "/allocations", body, headers={"Prefer": "allocation-wait=3600"})
    server = {"name": "s1", "flavorRef": "gold", "imageRef": NAMES["image"], "networks": "none"}
    service.compute("POST", "/servers", {"server": server, "os:scheduler_hints": {"wait": "3600"}})


def _claims_wait(service: Service) -> None:
    """Two claims of the scheduling API wait for n1, one of which n1 does not fit."""
    settings = service.app.settings
    for name, query in (("new_consumer", "&required=!CUSTOM_FAST"), ("instance", "")):
        request = TreeRequest(f"resources=CUSTOM_GOLD:1{query}", served=False, version=39)
        asked = NewClaim(NAMES[name], request, "p", "u", None, None, "digest")
        service.database.write(partial(_enter, asked=asked, settings=settings))


def _claims_wait_beside(service: Service) -> None:
    """Two claims wait, of which n1 fits one, and it is free: it was not handed over."""
    _beside(service, _claims_wait)


def _wait_beside(service: Service) -> None:
    """An allocation waits, then a server, and n1, which fits both, is free."""
    _beside(service, _wait)


def _beside(service: Service, wait: Callable[[Service], None]) -> None:
    """Let these begin to wait while n1 is held by a consumer, which gives it back without a hand-over."""
    _hold(service)
    wait(service)
    handover, service.database.handover = service.database.handover, None
    service.placement("DELETE", f"/allocations/{NAMES['consumer']}")
    service.database.handover = handover


def _pair(service: Service) -> None:
    """The node n2 is of the class of n1, and in the other rack."""
    service.patch(NAMES["node2"], ("add", "/resource_class", "gold"))
    service.http.put(f"/scheduling/v1/domains/{NAMES['rack2']}/nodes/{NAMES['node2']}")


def _claim_both(service: Service, **more: Any) -> None:
    """A claim has n1 and n2, which are in different racks, for a group; or it waits for them."""
    body = {**BOTH, "consumer": {"uuid": NAMES["instance"], "project_id": "p", "user_id": "u"}, **more}
    service.http.post_json("/scheduling/v1/claims", body)


def _claim_other(service: Service) -> None:
    """A claim has n2."""
    consumer = {"uuid": NAMES["new_consumer"], "project_id": "p", "user_id": "u"}
    body = {"resource_class": "gold", "candidate_nodes": ["n2"], "consumer": consumer}
    service.http.post_json("/scheduling/v1/claims", body)


def _release_one(service: Service) -> None:
    service.placement("DELETE", f"/allocations/{MEMBERS['instance_1']}")


#: Two machines in different racks, of a group.
BOTH = {"query": "resources=CUSTOM_GOLD:1", "count": 2, "spread": {"by": "rack"}, "group": "db"}


def _enter(session: Session, asked: NewClaim, settings: Settings) -> None:
    claims.wait(session, asked, 3600, "None is free.", settings)


def _lapse(service: Service) -> None:
    """The time of all that wait is over, and they are not ended yet."""
    service.database.write(lambda session: session.execute(update(WaitingRequest).values(deadline=1)) and None)


def _hold_for(service: Service, seconds: float | None) -> None:
    """A claim has n1 for a while; None: without an end."""
    amounts = {NAMES["node"]: {"CUSTOM_GOLD": 1}}
    end = None if seconds is None else End(seconds=seconds, told_before=(HOUR,))
    request = ConsumerWrite(NAMES["consumer"], amounts, "p", "u", None, kind=CLAIM, end=end)
    service.database.write(lambda session: allocations.write(session, [request], "Unable to allocate:"))


def _end(service: Service) -> None:
    """The ends of all claims have come; no sweep has run since."""
    over = {"began_at": 1, "set_at": 1, "ends_at": 2, "due_at": 2}
    service.database.write(lambda session: session.execute(update(ClaimEnd).values(over)) and None)


def _end_what_has_none(service: Service) -> None:
    """All that has a machine has an end, which has come."""

    def enter(session: Session) -> None:
        for consumer in session.scalars(select(Allocation.consumer_id).distinct()):
            ends.enter(session.connection(), consumer, End(seconds=HOUR))

    service.database.write(enter)
    _end(service)


def _wait_for_a_while(service: Service) -> None:
    """Two claims wait, each with an end."""
    _claims_wait(service)
    service.database.write(lambda session: session.execute(update(WaitingRequest).values(lasts=HOUR)) and None)


def _book(service: Service) -> None:
    """A machine is booked for a day of 2050."""
    body = {"resource_class": "gold", "uuid": NAMES["booking"], "project_id": "p", "user_id": "u"}
    times = {"starts_at": "2050-01-02T00:00:00Z", "ends_at": "2050-01-03T00:00:00Z"}
    service.http.post_json("/scheduling/v1/bookings", {**body, **times})


def _let_run(service: Service) -> None:
    """All bookings have begun an hour ago."""
    began = {"starts_at": epoch() - HOUR, "made_at": epoch() - DAY}
    for entity in (Booking, BookedMachine):
        service.database.write(partial(_change, statement=update(entity).values(began)))


def _let_be_over(service: Service) -> None:
    """All bookings were over a second ago; no sweep has run since."""
    for entity in (Booking, BookedMachine):
        service.database.write(partial(_change, statement=update(entity).values(ends_at=epoch() - 1)))


def _change(session: Session, statement: Any) -> None:
    session.execute(statement)


def _claim_under(service: Service, consumer: str = "consumer", **more: Any) -> None:
    """A claim under the booking has the machine, or waits."""
    body = {"resource_class": "gold", "booking": NAMES["booking"], **more}
    body["consumer"] = {"uuid": NAMES[consumer], "project_id": "p", "user_id": "u"}
    service.http.post_json("/scheduling/v1/claims", body)


def _deploy(service: Service) -> None:
    """The node n1 is active, deployed without an allocation for the consumer that holds it."""
    service.patch(NAMES["node"], ("add", "/instance_uuid", NAMES["consumer"]))
    service.baremetal("PUT", f"/nodes/{NAMES['node']}/states/provision", {"target": "active"})
    service.work()


def _maintain(service: Service) -> None:
    """The node n1 is in maintenance."""
    service.baremetal("PUT", f"/nodes/{NAMES['node']}/maintenance", {"reason": "broken"})
    _name_hold(service)


def _plan(service: Service) -> None:
    """A hold of the node n1 was to begin an hour ago, and to end in another; no sweep has run since."""
    start = service.database.read(holds.now) + HOUR
    body = {"type": "window", "starts_at": _text(start), "ends_at": _text(start + 2 * HOUR)}
    service.http.post_json(f"/scheduling/v1/nodes/{NAMES['node']}/holds", body)
    go_by(service, 2 * HOUR)
    _name_hold(service)


def _begin(service: Service) -> None:
    """It has begun, and is to end by now."""
    settings = service.app.settings
    for node in service.database.read(due.due_nodes):
        service.database.write(partial(due.settle_due, node_id=node.id, settings=settings))
    go_by(service, 2 * HOUR)


def _drain(service: Service) -> None:
    """A hold waits until the node n1 rests."""
    service.http.post_json(f"/scheduling/v1/nodes/{NAMES['node']}/holds", {"type": "window", "drain": True})
    _name_hold(service)


def _hold_often(service: Service) -> None:
    """The node n1 has as many holds of one project as it may have, less one."""
    for number in range(MOST_OF_PROJECT - 1):
        body = {"type": "window", "starts_at": "2050-01-01T00:00:00Z", "reason": str(number)}
        service.http.post_json(f"/scheduling/v1/nodes/{NAMES['node']}/holds", body)


def _name_hold(service: Service) -> None:
    named = update(Hold).values(uuid=NAMES["hold"])
    service.database.write(lambda session: session.execute(named) and None)


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _manage(service: Service) -> None:
    """The node n1 is manageable: it can be inspected and cleaned, and not be had."""
    service.baremetal("PUT", f"/nodes/{NAMES['node']}/states/provision", {"target": "manage"})
    service.work()


_RUNNING = (_free, _book, _let_run)

#: How each state is made, in steps.
STATES: Mapping[str, tuple[Callable[[Service], None], ...]] = {
    "free": (_free,),
    "held": (_free, _hold),
    "children": (_free, _add_child),
    "child-held": (_free, _add_child, _hold_child),
    "allocated": (_free, _allocate),
    "server": (_free, _boot),
    "maintenance": (_free, _maintain),
    "held-maintenance": (_free, _hold, _maintain),
    "deployed": (_free, _hold, _deploy),
    "manageable": (_free, _manage),
    "waiting": (_free, _hold, _wait),
    "claims-waiting": (_free, _hold, _claims_wait),
    "waiting-beside": (_free, _wait_beside),
    "claims-waiting-beside": (_free, _claims_wait_beside),
    "waiting-maintenance": (_free, _maintain, _wait),
    "due-hold": (_free, _plan),
    "ending-hold": (_free, _plan, _begin),
    "draining-hold": (_free, _hold, _drain),
    "draining-server": (_free, _boot, _drain),
    "many-holds": (_free, _hold_often),
    "waiting-hold": (_free, _plan, _wait),
    "group-server": (_free, _add_group, _boot_in_group),
    "group-held": (_free, _add_group, _hold_beside_group),
    "group-waiting": (_free, _add_group, _wait_in_group),
    "overdue": (_free, _hold, _wait, _lapse),
    "pair": (_free, _pair),
    "several": (_free, _pair, _claim_both),
    "several-less-one": (_free, _pair, _claim_both, _release_one),
    "held-pair": (_free, _pair, _hold),
    "claimed": (_free, partial(_hold_for, seconds=None)),
    "end-ahead": (_free, partial(_hold_for, seconds=2 * HOUR)),
    "end-ahead-maintenance": (_free, partial(_hold_for, seconds=2 * HOUR), _maintain),
    "ended": (_free, partial(_hold_for, seconds=2 * HOUR), _end),
    "waiting-ended": (_free, partial(_hold_for, seconds=2 * HOUR), _wait_for_a_while, _end),
    "deployed-ended": (_free, partial(_hold_for, seconds=2 * HOUR), _deploy, _end),
    "server-ended": (_free, _boot, _end_what_has_none),
    "allocation-ended": (_free, _allocate, _end_what_has_none),
    "booked": (_free, _book),
    "booked-of-two": (_free, _pair, _book),
    "end-ahead-booked": (_free, partial(_hold_for, seconds=2 * HOUR), _book),
    "booking-running": _RUNNING,
    "booking-used": (*_RUNNING, _claim_under),
    "booking-waiting": (*_RUNNING, _claim_under, partial(_claim_under, consumer="instance", wait=3600)),
    "booking-over": (*_RUNNING, _let_be_over),
    "booking-used-over": (*_RUNNING, _claim_under, _let_be_over, _end),
    "end-waiting": (_free, _hold, _wait_for_a_while),
    "several-waiting": (_free, _pair, _hold, partial(_claim_both, wait=3600)),
    "several-waiting-for-both": (_free, _pair, _hold, _claim_other, partial(_claim_both, wait=3600)),
}
