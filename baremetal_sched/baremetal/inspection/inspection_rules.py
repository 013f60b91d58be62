"""Inspection rules, stored for later inspections."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.inspection.rules import engine
from baremetal_sched.baremetal.inspection.rules.engine import Rule
from baremetal_sched.baremetal.inspection.schemas import PHASES, RULE_UPDATE
from baremetal_sched.db.models import InspectionRule
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import AlreadyExists, InspectionRuleNotFound

FIELDS = Fields(
    Field("uuid", post=True),
    Field("description", post=True, patch=True),
    Field("phase", post=True, patch=True, default=PHASES[0]),
    Field("priority", post=True, patch=True, default=0),
    Field("sensitive", post=True, patch=True, default=False),
    # Computed by the view: those of a sensitive rule are not shown.
    Field("conditions", kind=FieldKind.COMPUTED, post=True, patch=True, default=[]),
    Field("actions", kind=FieldKind.COMPUTED, post=True, patch=True),
    *COMMON,
)

#: What ``GET /v1/inspection_rules`` shows of each rule.
LIST_DEFAULT = ("uuid", "priority", "phase", "description")


def missing(uuid: str) -> InspectionRuleNotFound:
    """Return the error for a rule that does not exist."""
    return InspectionRuleNotFound(rule=uuid)


def create(session: Session, values: Mapping[str, Any]) -> InspectionRule:
    """Create a rule from ``values`` (fields of ``schemas.RULE_CREATE``).

    Raises InvalidValue for a rule that can only fail, AlreadyExists.
    """
    rule = {**values, "conditions": values.get("conditions") or []}
    engine.check(rule["conditions"], rule["actions"])
    taken = AlreadyExists(thing="A rule", key="UUID", value=values.get("uuid"))
    records.require_free(session, InspectionRule.uuid, values.get("uuid"), taken)
    return records.new(session, InspectionRule, rule)


def update(session: Session, uuid: str, operations: patch.Patch) -> None:
    """Apply a PATCH that touches only fields that may change. A sensitive rule stays sensitive: otherwise its arguments
    could be read.

    Raises InspectionRuleNotFound, InvalidValue.
    """
    rule = records.find_for_change(session, InspectionRule, uuid, missing)
    before = FIELDS.values_of(rule)
    after = FIELDS.patched(before, operations, RULE_UPDATE)
    if rule.sensitive and not after["sensitive"]:
        raise InvalidValue(message="Inspection rules cannot have the sensitive flag unset.")
    # The arguments of a sensitive rule must not become readable through another operator.
    engine.check(after["conditions"], after["actions"], shows_values=False)
    records.change(rule, FIELDS.changes(before, after))


def destroy(session: Session, uuid: str) -> None:
    """Remove a rule. Raises InspectionRuleNotFound."""
    session.delete(records.find_for_change(session, InspectionRule, uuid, missing))


def destroy_all(session: Session) -> None:
    """Remove all rules that clients made."""
    session.execute(delete(InspectionRule))


def in_order(session: Session, phase: str, built_in: Mapping[str, list[tuple[int, Rule]]]) -> list[Rule]:
    """Return the rules of a phase by falling priority. Among rules of the same priority the ``built_in`` ones come
    first, and then the older ones."""
    rows = session.execute(
        select(
            InspectionRule.priority,
            InspectionRule.uuid,
            InspectionRule.conditions,
            InspectionRule.actions,
            InspectionRule.sensitive,
        )
        .where(InspectionRule.phase == phase)
        .order_by(InspectionRule.id)
    )
    own = [(row.priority, Rule(row.uuid, row.conditions, row.actions, row.sensitive)) for row in rows]
    return [rule for _, rule in sorted([*built_in.get(phase, ()), *own], key=lambda pair: -pair[0])]
