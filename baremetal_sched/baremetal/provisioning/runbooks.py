"""Runbooks: steps of a cleaning or a service, for the nodes that share a trait with the runbook."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.nodes import traits
from baremetal_sched.baremetal.schemas.provisioning.runbooks import RUNBOOK_UPDATE
from baremetal_sched.baremetal.schemas.traits import check_trait
from baremetal_sched.db.models import Node, Runbook, RunbookTrait
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import RunbookNotApproved, RunbookNotFound

#: Since when runbooks have traits and descriptions, and names that are no traits.
TRAITS_SINCE = 112

FIELDS = Fields(
    Field("uuid", post=True),
    Field("name", post=True, patch=True),
    Field("description", TRAITS_SINCE, post=True, patch=True),
    Field("steps", kind=FieldKind.STEPS, post=True, patch=True),
    Field("disable_ramdisk", post=True, patch=True, default=False),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("public", post=True, patch=True, default=False),
    Field("owner", post=True, patch=True),
    Field("traits", TRAITS_SINCE, FieldKind.COMPUTED),
    *COMMON,
)

#: What ``GET /v1/runbooks`` shows of each runbook.
LIST_DEFAULT = ("uuid", "name")

_KEYS = (Runbook.name, Runbook.uuid)


def missing(ident: str) -> RunbookNotFound:
    """The error of a runbook that does not exist."""
    return RunbookNotFound(runbook=ident)


def create(session: Session, values: Mapping[str, Any]) -> Runbook:
    """A new runbook from ``values`` (fields of ``schemas.provisioning.runbooks.RUNBOOK_CREATE``).

    Raises InvalidValue, AlreadyExists.
    """
    _require_one(values)
    records.require_keys_free(session, values, "A runbook", *_KEYS)
    return records.new(session, Runbook, values)


def owner_of_new(values: Mapping[str, Any], project: str | None) -> str | None:
    """Return the owner of a runbook that a caller of ``project`` is about to create from ``values``: the project.

    Raises InvalidValue if they ask for another owner, or for a public runbook. Without a project there is no owner, and
    the runbook may be public.
    """
    if values.get("owner") not in (None, project):
        raise InvalidValue(
            message="Cannot create a runbook as a project scoped admin with an owner other than your own project."
        )
    if project is not None and values.get("public"):
        raise InvalidValue(message="Cannot create a public runbook as a project scoped admin.")
    return project


def update(session: Session, ident: str, operations: patch.Patch, *, free_names: bool) -> Runbook:
    """Apply a PATCH that touches only fields that may change. A runbook that becomes public loses its owner.

    ``free_names``: the client supports names that are not traits. Raises RunbookNotFound, InvalidValue,
    AlreadyExists.
    """
    runbook = records.find_for_change(session, Runbook, ident, missing)
    before = FIELDS.values_of(runbook)
    after = FIELDS.patched(before, operations, RUNBOOK_UPDATE)
    if after["public"] and after["owner"] == before["owner"]:
        after["owner"] = None
    _require_one(after)
    changed = FIELDS.changes(before, after)
    if "name" in changed and not free_names:
        check_trait(changed["name"], "patch")
    records.require_keys_free(session, changed, "A runbook", *_KEYS)
    records.change(runbook, changed)
    return runbook


def destroy(session: Session, ident: str) -> None:
    """Remove a runbook with its traits. Raises RunbookNotFound."""
    session.delete(records.find_for_change(session, Runbook, ident, missing))


def list_traits(session: Session, runbook_id: int) -> list[str]:
    """The runbook's traits, sorted."""
    return sorted(session.scalars(select(RunbookTrait.trait).where(RunbookTrait.runbook_id == runbook_id)))


def replace_traits(session: Session, ident: str, names: Iterable[str]) -> list[str]:
    """Make ``names`` (valid traits) the runbook's traits; returns them, sorted. Raises RunbookNotFound."""
    runbook = records.find_for_change(session, Runbook, ident, missing)
    session.execute(delete(RunbookTrait).where(RunbookTrait.runbook_id == runbook.id))
    ordered = sorted(set(names))
    if ordered:
        session.execute(insert(RunbookTrait), [{"runbook_id": runbook.id, "trait": name} for name in ordered])
    return ordered


def add_trait(session: Session, ident: str, name: str) -> None:
    """Add one trait; fine if the runbook has it already. Raises RunbookNotFound."""
    runbook = records.find_for_change(session, Runbook, ident, missing)
    if name not in list_traits(session, runbook.id):
        session.execute(insert(RunbookTrait).values(runbook_id=runbook.id, trait=name))


def remove_trait(session: Session, ident: str, name: str) -> None:
    """Remove one trait; fine if the runbook does not have it. Raises RunbookNotFound."""
    runbook = records.find_for_change(session, Runbook, ident, missing)
    session.execute(delete(RunbookTrait).where(RunbookTrait.runbook_id == runbook.id, RunbookTrait.trait == name))


def find(session: Session, ident: str) -> tuple[Runbook, list[str]]:
    """Return the runbook with UUID or name ``ident``, and its traits, sorted, read by one statement: they go together.
    Raises RunbookNotFound."""
    query = (
        select(Runbook, RunbookTrait.trait)
        .outerjoin(RunbookTrait, RunbookTrait.runbook_id == Runbook.id)
        .where(records.named(Runbook, ident))
        .order_by(RunbookTrait.trait)
    )
    rows = session.execute(query).all()
    if not rows:
        raise missing(ident)
    return rows[0][0], [trait for _, trait in rows if trait is not None]


def require_approved(
    session: Session, runbook: Runbook, names: Collection[str], node: Node, *, by_traits: bool
) -> None:
    """Raise RunbookNotApproved unless the runbook, whose traits are ``names``, may be used on ``node`` (its row
    locked): they share a trait, or, unless ``by_traits``, its name is one of the node's traits."""
    present = traits.list_traits(session, node.id)
    not_approved = f"This runbook has not been approved for use on this node {node.uuid}."
    if not by_traits:
        if runbook.name not in present:
            raise RunbookNotApproved(
                message=f"{not_approved} Please ask an administrator to add it to your node traits."
            )
        return
    if not names:
        raise RunbookNotApproved(
            message=f"Runbook {runbook.uuid} has no traits configured. "
            "Please ask an administrator to add traits to the runbook."
        )
    if not set(names) & set(present):
        raise RunbookNotApproved(
            message=f"{not_approved} The node does not have any of the runbook's traits {names}. Please ask an "
            "administrator to add a matching trait to your node."
        )


def _require_one(values: Mapping[str, Any]) -> None:
    """Raise InvalidValue for a public runbook with an owner."""
    if values.get("public") and values.get("owner") is not None:
        raise InvalidValue(message="There cannot be an owner for a public runbook.")
