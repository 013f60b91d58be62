"""The audit of the database: compares redundant data, stored for speed, with the data that it is derived from."""

import sys
from collections.abc import Iterator, Mapping, Set
from itertools import groupby

from sqlalchemy import and_, case, exists, func, or_, select
from sqlalchemy.orm import Session, aliased, load_only

from baremetal_sched.baremetal.provider import projection, reconciliation
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import (
    Allocation,
    Consumer,
    Domain,
    DomainMember,
    Inventory,
    Node,
    NodeAllocation,
    NodeTrait,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
    WaitingRequest,
)
from baremetal_sched.db.sql_functions import as_digits, string_agg
from baremetal_sched.placement import consumers, trait_ids, usages, waiting_requests
from baremetal_sched.placement.names import is_scheduler_trait

_Child = aliased(ResourceProvider)


def audit(session: Session) -> list[str]:
    """Return the differences, one line each; empty if there are none. Writes nothing."""
    checks = (
        _usage,
        _texts_of_usages,
        _providers,
        _closing,
        _trees,
        _traits,
        _domains,
        _waiting,
        _reserved,
        _unclaimed,
    )
    return [line for check in checks for line in check(session)]


def _usage(session: Session) -> Iterator[str]:
    """Compare inventories.used with the sum of allocations. More than the capacity may be used: the reserved unit of a
    node that is in use, or an inventory that was reduced."""
    total = func.coalesce(
        select(func.sum(Allocation.used))
        .where(
            Allocation.provider_id == Inventory.provider_id,
            Allocation.resource_class_id == Inventory.resource_class_id,
        )
        .scalar_subquery(),
        0,
    )
    rows = session.execute(
        select(ResourceProvider.uuid, ResourceClass.name, Inventory.used, total.label("allocated"))
        .join(ResourceProvider, ResourceProvider.id == Inventory.provider_id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(or_(Inventory.used != total, Inventory.used < 0))
    )
    for uuid, name, used, allocated in rows:
        yield f"provider {uuid}: used {used} of {name}, but {allocated} are allocated"
    orphans = session.execute(
        select(ResourceProvider.uuid, ResourceClass.name)
        .select_from(Allocation)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .outerjoin(
            Inventory,
            (Inventory.provider_id == Allocation.provider_id)
            & (Inventory.resource_class_id == Allocation.resource_class_id),
        )
        .where(Inventory.provider_id.is_(None))
    )
    for uuid, name in orphans:
        yield f"provider {uuid}: {name} is allocated, but there is no inventory of it"


def _texts_of_usages(session: Session) -> Iterator[str]:
    """Compare the usages in the rows of consumers with their allocations, once no release is left that keeps none."""
    connection, after = session.connection(), 0
    if not schema_state.has_finished(connection, usages.FIRST_REVISION):
        return
    while ids := usages.batch(connection, after):
        after = ids[-1]
        texts = usages.outdated(connection, ids)
        for uuid, row_id, text in session.execute(
            select(Consumer.uuid, Consumer.id, Consumer.usages).where(Consumer.id.in_(texts))
        ):
            yield f"consumer {uuid}: its usages are {text!r}, not {texts[row_id] or 'empty'!r}, as its allocations say"


def _providers(session: Session) -> Iterator[str]:
    """Compare the provider of each node, and its inventory, with the node."""
    inventories: dict[str, dict[str, tuple[int, int]]] = {}
    for uuid, name, total, reserved in session.execute(
        select(ResourceProvider.uuid, ResourceClass.name, Inventory.total, Inventory.reserved)
        .join(Inventory, Inventory.provider_id == ResourceProvider.id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(ResourceProvider.mirrored_class_id.is_not(None))
    ):
        inventories.setdefault(uuid, {})[name] = (total, reserved)
    marks = {
        uuid: (class_name, bool(withheld), closes_at, is_root)
        for uuid, class_name, withheld, closes_at, is_root in session.execute(
            select(
                ResourceProvider.uuid,
                ResourceClass.name,
                ResourceProvider.withheld,
                ResourceProvider.closes_at,
                ResourceProvider.root_id == ResourceProvider.id,
            )
            .outerjoin(ResourceClass, ResourceClass.id == ResourceProvider.mirrored_class_id)
            .where(ResourceProvider.mirrored_class_id.is_not(None))
        )
    }
    copies = _copies(session)
    # Not in portions: that takes a cursor, which PostgreSQL has only in transactions (seen on 15), and reads have none.
    for node in session.scalars(select(Node).options(load_only(Node.uuid, *projection.PROJECTED))):
        copied = copies.pop(node.uuid, [])
        if node.uuid not in marks:
            yield f"node {node.uuid}: has no resource provider"
            continue
        unit = projection.inventory_of(node)
        stock = {unit.resource_class: (1, int(unit.reserved))} if unit else {}
        if inventories.get(node.uuid, {}) != stock:
            yield f"node {node.uuid}: its provider has {inventories.get(node.uuid, {})} (total, reserved), not {stock}"
        expected = (
            unit.resource_class if unit else None,
            unit is None or unit.reserved,
            unit.closes_at if unit else None,
            True,
        )
        if marks[node.uuid] != expected:
            yield (
                f"node {node.uuid}: its provider is marked as {marks[node.uuid]} (class, withheld, closing time, is a "
                f"root), not {expected}"
            )
        repeated = [tuple(unit.copies)] if unit else []
        if copied != repeated:
            yield (
                f"node {node.uuid}: inventories of its provider repeat {copied} (class, conductor group, state), "
                f"not {repeated}"
            )
    for uuid, texts in copies.items():
        yield f"provider {uuid}: its inventories repeat {texts} (class, conductor group, state), but there is no node"


def _copies(session: Session) -> dict[str, list[tuple[str | None, ...]]]:
    """Return the values that inventories repeat of nodes, by UUID of the provider."""
    found: dict[str, list[tuple[str | None, ...]]] = {}
    columns = (Inventory.node_class, Inventory.node_group, Inventory.node_state)
    for uuid, *texts in session.execute(
        select(ResourceProvider.uuid, *columns)
        .join(Inventory, Inventory.provider_id == ResourceProvider.id)
        .where(or_(*(column.is_not(None) for column in columns)))
    ):
        found.setdefault(uuid, []).append(tuple(None if text is None else sys.intern(text) for text in texts))
    return found


def _closing(session: Session) -> Iterator[str]:
    """Compare when inventories close with the root of their tree: all of a tree that belongs to one consumer at a time,
    and the mirrored class of a provider that is alone."""
    root = aliased(ResourceProvider)
    follows = or_(ResourceProvider.indivisible, Inventory.resource_class_id == root.mirrored_class_id)
    rows = session.execute(
        select(ResourceProvider.uuid, ResourceClass.name, Inventory.closes_at, root.closes_at)
        .select_from(Inventory)
        .join(ResourceProvider, ResourceProvider.id == Inventory.provider_id)
        .join(root, root.id == ResourceProvider.root_id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(or_(follows, root.mirrored_class_id.is_(None)))
        .where(case((follows, root.closes_at)).is_distinct_from(Inventory.closes_at))
    )
    for uuid, name, closes_at, expected in rows:
        yield f"provider {uuid}: its inventory of {name} closes at {closes_at}, but its tree at {expected}"


def _trees(session: Session) -> Iterator[str]:
    """Compare the marks of trees that belong to one consumer at a time with their members and allocations."""
    root = aliased(ResourceProvider)
    rows = session.execute(
        select(
            root.uuid,
            root.holder,
            root.withheld,
            ResourceProvider.uuid.label("member"),
            ResourceProvider.indivisible,
            Consumer.uuid.label("consumer"),
        )
        .join(ResourceProvider, ResourceProvider.root_id == root.id)
        .outerjoin(Allocation, Allocation.provider_id == ResourceProvider.id)
        .outerjoin(Consumer, Consumer.id == Allocation.consumer_id)
        .where(root.mirrored_class_id.is_not(None), exists().where(_Child.parent_id == root.id))
        .order_by(root.id)
    )
    withheld: dict[str, bool] = {}
    for uuid, group in groupby(rows, lambda row: row.uuid):
        members = list(group)
        holders = sorted({row.consumer for row in members} - {None})
        holder = members[0].holder
        withheld |= {row.member: members[0].withheld or holder is not None for row in members}
        if not all(row.indivisible for row in members):
            yield f"provider {uuid}: its tree is not marked as indivisible"
        if holders != ([holder] if holder else []):
            yield f"provider {uuid}: its tree is held by {holders}, but said to be held by {holder}"
    yield from _withheld(session, withheld)


def _withheld(session: Session, trees: Mapping[str, bool]) -> Iterator[str]:
    """Check inventories.withheld; ``trees`` says of the members of indivisible trees whether it must be set."""
    rows = session.execute(
        select(
            ResourceProvider.uuid,
            ResourceClass.name,
            Inventory.withheld,
            ResourceProvider.mirrored_class_id.is_not(None)
            & (ResourceProvider.mirrored_class_id != Inventory.resource_class_id),
        )
        .join(Inventory, Inventory.provider_id == ResourceProvider.id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(or_(Inventory.withheld != 0, ResourceProvider.uuid.in_(sorted(trees))))
    )
    for uuid, name, withheld, is_foreign in rows:
        if bool(withheld) != bool(is_foreign or trees.get(uuid, False)):
            yield f"provider {uuid}: its inventory of {name} is {'' if withheld else 'not '}withheld"


def _traits(session: Session) -> Iterator[str]:
    """Compare the traits of each provider with the ids in its row, and, if it is a node, with the traits of the node.

    Each provider and each node is one row: drivers take long to read a row for each trait.
    """
    names = {row_id: name for row_id, name in session.execute(select(Trait.id, Trait.name))}
    of_nodes: dict[str, str] = {}
    own = select(string_agg(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()
    for uuid, text in session.execute(select(Node.uuid, own)):
        of_nodes[uuid] = sys.intern(text or "")
    of_provider = select(string_agg(as_digits(ProviderTrait.trait_id))).where(
        ProviderTrait.provider_id == ResourceProvider.id
    )
    rows = session.execute(
        select(ResourceProvider.uuid, ResourceProvider.trait_ids, of_provider.scalar_subquery()).order_by(
            ResourceProvider.id
        )
    )
    for uuid, kept, stored in rows:
        ids = trait_ids.ids_in(stored or "")
        if kept != trait_ids.text_of(ids):
            yield f'provider {uuid}: its trait_ids are "{kept}", but those of its traits are "{trait_ids.text_of(ids)}"'
        if uuid in of_nodes:
            yield from _differences(uuid, of_nodes.pop(uuid), {names[row_id] for row_id in ids})
    for uuid, text in of_nodes.items():
        yield from _differences(uuid, text, set())


def _differences(uuid: str, text: str, provided: Set[str]) -> Iterator[str]:
    """Compare the traits of a node (a text with commas) with the traits of its provider, without the scheduler's."""
    own = set(filter(None, text.split(",")))
    for name in sorted(own - provided):
        if not is_scheduler_trait(name):
            yield f"node {uuid}: its provider lacks the trait {name}"
    for name in sorted(provided - own):
        if not is_scheduler_trait(name):
            yield f"node {uuid}: its provider has the trait {name}, which the node has not"


def _domains(session: Session) -> Iterator[str]:
    """Compare the domains of each node with the aggregates of its provider, and with the parents of its domains."""
    for why, condition in zip(("is missing in", "is also in"), reconciliation.misplaced(), strict=True):
        for uuid in session.scalars(select(Node.uuid).where(condition)):
            yield f"node {uuid}: its provider {why} an aggregate that is a domain"
    upper = aliased(DomainMember)
    is_above = exists().where(upper.node_id == DomainMember.node_id, upper.domain_id == Domain.parent_id)
    member = select(Node.uuid, Domain.uuid).join(DomainMember, DomainMember.node_id == Node.id)
    member = member.join(Domain, Domain.id == DomainMember.domain_id)
    lost = or_(Domain.level != DomainMember.level, and_(Domain.parent_id.is_not(None), ~is_above))
    for uuid, domain in session.execute(member.where(lost)):
        yield f"node {uuid}: it is in domain {domain}, but not in the one above it, or at another level"


def _waiting(session: Session) -> Iterator[str]:
    """Compare the allocations that wait for a node with their rows in the queue of waiting requests."""
    allocating = set(session.scalars(select(NodeAllocation.uuid).where(NodeAllocation.state == "allocating")))
    queued = set(session.scalars(select(WaitingRequest.uuid).where(WaitingRequest.kind == waiting_requests.ALLOCATION)))
    for uuid in sorted(allocating - queued):
        yield f"allocation {uuid}: it waits for a node, but is not in the queue"
    for uuid in sorted(queued - allocating):
        yield f"allocation {uuid}: it is in the queue, but does not wait for a node"


def _reserved(session: Session) -> Iterator[str]:
    """Compare the UUIDs that are reserved for waiting requests with the queue."""
    waits = exists().where(WaitingRequest.uuid == Consumer.uuid, WaitingRequest.state == waiting_requests.WAITING)
    reserved = select(Consumer.uuid, Consumer.request_kind).where(consumers.IS_RESERVED, ~waits)
    for uuid, kind in session.execute(reserved.order_by(Consumer.id)):
        yield f"{kind} {uuid}: its UUID is reserved, but it does not wait"


def _unclaimed(session: Session) -> Iterator[str]:
    """Look for allocations that are active on a node with a class, but have no claim on it in placement."""
    claim = select(Allocation.consumer_id).join(Consumer, Consumer.id == Allocation.consumer_id)
    claim = claim.join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
    is_claimed = claim.where(Consumer.uuid == NodeAllocation.uuid, ResourceProvider.uuid == Node.uuid).exists()
    query = select(NodeAllocation.uuid, Node.uuid).join(Node, Node.id == NodeAllocation.node_id)
    active = query.where(NodeAllocation.state == "active", Node.resource_class.is_not(None), ~is_claimed)
    for uuid, node in session.execute(active.order_by(NodeAllocation.id)):
        yield f"allocation {uuid}: it is active, but has no claim on node {node} in placement"
