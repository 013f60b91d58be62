"""Looks through both originals for contradictions, work in flight, and rows without a place here. Writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, func, or_, select

from baremetal_sched import commands
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.moving import in_flight
from baremetal_sched.moving.decisions import (
    DRIVER,
    Choices,
    ImportDecisions,
    driver_problem,
    driver_remedy,
    interface_problem,
    interface_remedy,
)
from baremetal_sched.moving.findings import FindingKind, ImportFinding, ImportReport
from baremetal_sched.moving.forms import uuid_form
from baremetal_sched.moving.ironic_rows import decoded
from baremetal_sched.moving.source_databases import SourceDatabase, SourceRow
from baremetal_sched.placement.names import resource_class_of

_NODE_COLUMNS = (
    *("id", "uuid", "driver", "resource_class", "instance_uuid", "provision_state", "target_power_state"),
    *("reservation", *(f"{kind}_interface" for kind in INTERFACE_TYPES)),
)
_RUN_AGAIN = "It changed while the databases were read: run the import again."


@dataclass(frozen=True)
class _Claim:
    """An allocation of Placement, or of Ironic (whose class is that of the node)."""

    consumer: str
    resource_class: str


@dataclass
class _Provider:
    """The provider of a node, its classes, the claims of it, and those in the rest of its tree."""

    row: SourceRow
    classes: list[str] = field(default_factory=list)
    claims: list[_Claim] = field(default_factory=list)
    below: list[_Claim] = field(default_factory=list)


@dataclass
class Survey:
    """The survey of one import: findings go to the report, and what adopted ones mean to the decisions."""

    ironic: SourceDatabase
    placement: SourceDatabase
    choices: Choices
    report: ImportReport
    decisions: ImportDecisions = field(default_factory=ImportDecisions)
    _nodes: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Look at everything."""
        classes = self.placement.table("resource_classes").c
        self._classes = {row_id: name for row_id, name in self.placement.select(select(classes.id, classes.name))}
        for nodes in self.ironic.batches("nodes", _NODE_COLUMNS):
            self._nodes.update(row["uuid"] for row in nodes)
            self._check_nodes(nodes)
        self._check_providers()
        self._check_allocations()
        self._check_the_rest()

    def _add(self, kind: FindingKind, subject: str, text: str, remedy: str = "", *, adoptable: bool = True) -> bool:
        """Report a finding; return whether it is adopted."""
        remedy = _RUN_AGAIN if subject in self.decisions.changed else remedy
        finding = ImportFinding(kind, subject, text, remedy, adoptable)
        self.report.add(finding)
        return self.report.adoptions.has(finding)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _check_nodes(self, nodes: Sequence[SourceRow]) -> None:
        providers = self._providers_of(nodes)
        active = {
            row["node_id"]: row["uuid"]
            for row in self.ironic.rows("allocations", "node_id", [row["id"] for row in nodes])
            if row["state"] == "active"
        }
        for node in nodes:
            self._check_work(node)
            self._check_driver(node)
            self._check_provider(node, providers.get(node["uuid"]), active.get(node["id"]))

    def _check_work(self, node: SourceRow) -> None:
        reasons = in_flight.reasons(node)
        if reasons and not self.choices.in_flight_failed:
            self._add(
                FindingKind.IN_FLIGHT,
                node["uuid"],
                " and ".join(reasons),
                "Wait until Ironic has finished, abort it, or use --in-flight failed.",
            )

    def _check_driver(self, node: SourceRow) -> None:
        replaced = self.choices.replacements.name
        driver = replaced(DRIVER, node["driver"]) or ""
        if problem := driver_problem(driver):
            self._add(FindingKind.DRIVER, node["uuid"], problem, driver_remedy(driver))
            return
        for kind in INTERFACE_TYPES:
            name = replaced(kind, node[f"{kind}_interface"])
            if name and (problem := interface_problem(driver, kind, name)):
                self._add(FindingKind.INTERFACE, node["uuid"], problem, interface_remedy(driver, kind, name))

    def _providers_of(self, nodes: Sequence[SourceRow]) -> dict[str, _Provider]:
        rows = self.placement.rows("resource_providers", "uuid", [row["uuid"] for row in nodes])
        found = {row["id"]: _Provider(row) for row in rows}
        for row in self.placement.rows("inventories", "resource_provider_id", found):
            found[row["resource_provider_id"]].classes.append(self._classes[row["resource_class_id"]])
        members = {row["id"]: row["id"] for row in rows}
        for row in self.placement.rows("resource_providers", "root_provider_id", found):
            members[row["id"]] = row["root_provider_id"]
        for row in self.placement.rows("allocations", "resource_provider_id", members, order=("id",)):
            claim = _Claim(row["consumer_id"], self._classes.get(row["resource_class_id"], "?"))
            provider = found[members[row["resource_provider_id"]]]
            of_node = provider.row["id"] == row["resource_provider_id"]
            (provider.claims if of_node else provider.below).append(claim)
        return {provider.row["uuid"]: provider for provider in found.values()}

    def _check_provider(self, node: SourceRow, provider: _Provider | None, allocation: str | None) -> None:
        own = resource_class_of(node["resource_class"]) if node["resource_class"] else None
        if provider is None:
            if own is not None:
                self._add(
                    FindingKind.NODE_WITHOUT_PROVIDER,
                    node["uuid"],
                    "Placement has no provider of the node",
                    "Let a nova-compute that manages the node report it.",
                )
            return
        if provider.row["parent_provider_id"] is not None and self._add(
            FindingKind.PROVIDER_IN_TREE,
            node["uuid"],
            "the provider of the node has a parent in Placement",
            "Give it null as parent_provider_uuid: PUT /resource_providers/UUID of Placement, microversion 1.37.",
        ):
            self.decisions.rooted.add(provider.row["id"])
        self._check_classes(node, provider, own)
        self._check_consumers(node, provider, allocation)

    def _check_classes(self, node: SourceRow, provider: _Provider, own: str | None) -> None:
        foreign = sorted({name for name in provider.classes if name != own})
        claims = [claim for claim in provider.claims if claim.resource_class != own]
        if not foreign and not claims:
            return
        uuid, holders = node["uuid"], sorted({claim.consumer for claim in claims})
        held = f", claimed by {', '.join(holders)}" if holders else ""
        text = f"its provider has {', '.join(foreign)} beside the class of the node ({own or 'none'}){held}"
        remedy = f"Run: {commands.DELETE_INVENTORY.of(provider=uuid, resource_class=foreign[0])}"
        if holders:
            names = {"consumer": holders[0], "provider": uuid, "resource_class": own or "CUSTOM_CLASS"}
            remedy = f"Move the claim with: {commands.SET_ALLOCATIONS.of(**names)}"
        if self._add(FindingKind.LEFTOVER_CLASS, uuid, text, remedy, adoptable=own is not None or not claims):
            self.decisions.collapsed.add(provider.row["id"])

    def _check_consumers(self, node: SourceRow, provider: _Provider, allocation: str | None) -> None:
        uuid, instance = node["uuid"], node["instance_uuid"]
        consumers = {claim.consumer for claim in (*provider.claims, *provider.below)}
        if allocation is not None:
            consumers.add(allocation)
        others = sorted(consumers - {instance})
        if len(consumers) > 1:
            text = f"it is claimed by {', '.join(sorted(consumers))}; its instance is {instance or 'none'}"
            remedy = f"If it is left over, run: {commands.DELETE_ALLOCATIONS.of(consumer=others[0])}"
            adopted = self._add(FindingKind.SEVERAL_CONSUMERS, uuid, text, remedy, adoptable=instance in consumers)
            if adopted:
                self.decisions.evicted |= {(consumer, provider.row["id"]) for consumer in others}
        elif others and instance is not None:
            self._add(
                FindingKind.OTHER_CONSUMER,
                uuid,
                f"it is claimed by {others[0]}, and its instance is {instance}",
                f"If it is left over, run: {commands.DELETE_ALLOCATIONS.of(consumer=others[0])}",
            )
        elif others:
            self._add(FindingKind.NOTE, uuid, f"it is claimed by {others[0]}, and has no instance")

    # -- Placement -----------------------------------------------------------------------------------------------------

    def _check_providers(self) -> None:
        for row in self.placement.all("resource_providers", ("id", "uuid", "name", "parent_provider_id")):
            uuid = row["uuid"]
            # Nova's providers of nodes are named after their UUIDs, and no others are.
            if row["name"] == uuid and row["parent_provider_id"] is None and uuid not in self._nodes:
                self._add(
                    FindingKind.PROVIDER_WITHOUT_NODE,
                    uuid,
                    "Ironic has no node of this provider",
                    f"Delete its allocations, then run: {commands.DELETE_PROVIDER.of(provider=uuid)}",
                )

    def _check_allocations(self) -> None:
        """SELECT … FROM allocations LEFT JOIN its consumer, provider and inventory WHERE one of them is missing"""
        allocations, consumers, providers, inventories = (
            self.placement.table(name) for name in ("allocations", "consumers", "resource_providers", "inventories")
        )
        stock = and_(
            inventories.c.resource_provider_id == allocations.c.resource_provider_id,
            inventories.c.resource_class_id == allocations.c.resource_class_id,
        )
        query = (
            select(
                allocations.c.id,
                allocations.c.consumer_id,
                allocations.c.resource_class_id,
                consumers.c.id,
                providers.c.uuid,
                inventories.c.id,
            )
            .select_from(
                allocations.outerjoin(consumers, consumers.c.uuid == allocations.c.consumer_id)
                .outerjoin(providers, providers.c.id == allocations.c.resource_provider_id)
                .outerjoin(inventories, stock)
            )
            .where(or_(consumers.c.id.is_(None), providers.c.id.is_(None), inventories.c.id.is_(None)))
            .order_by(allocations.c.id)
        )
        for row_id, stored, class_id, consumer_id, provider, stocked in self.placement.select(query):
            consumer = uuid_form(stored) or stored
            if consumer_id is None and (others := self.placement.rows("consumers", "uuid", [consumer])):
                consumer_id = others[0]["id"]  # in another spelling
            if consumer_id is not None and (stocked or (provider is not None and uuid_form(provider) in self._nodes)):
                continue  # of the latter: a claim of a class that the node does not have, which was found before
            lacking = "consumer" if consumer_id is None else "provider" if provider is None else "inventory"
            adopted = self._add(
                FindingKind.ORPHAN_ALLOCATION,
                consumer,
                f"Placement has no {lacking} of its allocation of {self._classes.get(class_id, class_id)} from "
                f"{provider or 'a provider that is gone'}",
                f"Run: {commands.DELETE_ALLOCATIONS.of(consumer=consumer)}",
            )
            if adopted:
                self.decisions.orphans.add(row_id)

    # -- the rest ------------------------------------------------------------------------------------------------------

    def _check_the_rest(self) -> None:
        allocations = self.ironic.table("allocations").c
        waiting = select(allocations.uuid).where(allocations.state == in_flight.ALLOCATING)
        if not self.choices.in_flight_failed:
            for uuid in self.ironic.scalars(waiting):
                self._add(
                    FindingKind.IN_FLIGHT,
                    uuid,
                    "Ironic is looking for a node for this allocation",
                    "Wait until it has found one, delete it, or use --in-flight failed.",
                )
        tags = self.ironic.table("node_tags").c
        tagged = self.ironic.scalars(select(func.count(tags.node_id.distinct())))[0]
        if tagged:
            self._add(
                FindingKind.NO_PLACE,
                "node_tags",
                f"{tagged} nodes have tags, which Ironic's API does not show either; they are left out",
            )
        for rule in self.ironic.all("inspection_rules") if "inspection_rules" in self.ironic.tables else ():
            if compared := _compares_fields(rule["conditions"]):
                self._add(
                    FindingKind.NOTE,
                    rule["uuid"],
                    f"this inspection rule compares fields ({', '.join(compared)}) as numbers here, and as text in "
                    "Ironic, where 9 is more than 10",
                    "Look whether it still does what it should; force_strings compares as Ironic does.",
                )
        unused = _unused_consumers(self.placement)
        if unused:
            self._add(FindingKind.NOTE, "consumers", f"{unused} consumers without allocations are left out")


#: Operators that compare the order of values.
_ORDERS = ("lt", "gt")


def _compares_fields(conditions: str | None) -> list[str]:
    """Return the operators by which a rule's conditions compare the order of fields that are not forced to be text."""
    return [
        each["op"]
        for each in _documents(conditions)
        if each["op"].removeprefix("!").strip() in _ORDERS
        and _has_field(each["args"])
        and not (isinstance(each["args"], dict) and each["args"].get("force_strings"))
    ]


def _documents(text: str | None) -> list[dict[str, Any]]:
    """Return the conditions that have the form of one; others are reported otherwise."""
    found = decoded(text)
    return (
        [each for each in found if isinstance(each, dict) and {"op", "args"} <= each.keys()]
        if isinstance(found, list)
        else []
    )


def _has_field(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_field, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and "{" in value


def _unused_consumers(placement: SourceDatabase) -> int:
    holders = {row["consumer_id"] for row in placement.all("allocations", ("id", "consumer_id"))}
    return sum(row["uuid"] not in holders for row in placement.all("consumers", ("id", "uuid")))


# -- changes in progress -----------------------------------------------------------------------------------------------


def fingerprints(placement: SourceDatabase) -> dict[int, int]:
    """Return a number for each provider and each consumer, and another one for its generation."""
    return {
        hash((name, row["uuid"])): row["generation"] or 0
        for name in ("resource_providers", "consumers")
        for row in placement.all(name, ("id", "uuid", "generation"))
    }


def note_motion(survey: Survey, before: Mapping[int, int]) -> None:
    """Report what Placement changed since ``before`` (the result of ``fingerprints``)."""
    met = 0
    for name in ("resource_providers", "consumers"):
        for row in survey.placement.all(name, ("id", "uuid", "generation")):
            known = before.get(hash((name, row["uuid"])))
            met += known is not None
            if known != (row["generation"] or 0):
                survey.decisions.changed.add(row["uuid"])
                text = "Placement changed it while Ironic was read"
                survey.report.add(ImportFinding(FindingKind.IN_MOTION, row["uuid"], text, _RUN_AGAIN))
    if gone := len(before) - met:
        text = f"{gone} providers or consumers were removed while Ironic was read"
        survey.report.add(ImportFinding(FindingKind.IN_MOTION, "Placement", text, _RUN_AGAIN))


def counts(source: SourceDatabase, names: Sequence[str]) -> Mapping[str, int]:
    """Return the number of rows of each table."""
    return {name: source.scalars(select(func.count()).select_from(source.table(name)))[0] for name in names}
