"""Deploy templates: steps that are part of a deployment which asks for the trait that the template is called after."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.schemas.provisioning.runbooks import TEMPLATE_UPDATE
from baremetal_sched.db.models import DeployTemplate
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors.baremetal import DeployTemplateNotFound

FIELDS = Fields(
    Field("uuid", post=True),
    Field("name", post=True, patch=True),
    Field("steps", kind=FieldKind.STEPS, post=True, patch=True),
    # Ironic takes a description, and never shows it.
    Field("description", kind=FieldKind.HIDDEN, post=True, patch=True, selectable=False),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    *COMMON,
)

#: What ``GET /v1/deploy_templates`` shows of each template.
LIST_DEFAULT = ("uuid", "name")

_KEYS = (DeployTemplate.name, DeployTemplate.uuid)


def missing(ident: str) -> DeployTemplateNotFound:
    """The error of a template that does not exist."""
    return DeployTemplateNotFound(template=ident)


def create(session: Session, values: Mapping[str, Any]) -> DeployTemplate:
    """A new template from ``values`` (fields of ``schemas.deploy_templates.TEMPLATE_CREATE``).

    Raises AlreadyExists.
    """
    records.require_keys_free(session, values, "A deploy template", *_KEYS)
    return records.new(session, DeployTemplate, values)


def update(session: Session, ident: str, operations: patch.Patch) -> DeployTemplate:
    """Apply a PATCH of fields that may be touched.

    Raises DeployTemplateNotFound, InvalidValue, AlreadyExists.
    """
    template = records.find_for_change(session, DeployTemplate, ident, missing)
    before = FIELDS.values_of(template)
    changed = FIELDS.changes(before, FIELDS.patched(before, operations, TEMPLATE_UPDATE))
    records.require_keys_free(session, changed, "A deploy template", *_KEYS)
    records.change(template, changed)
    return template


def destroy(session: Session, ident: str) -> None:
    """Remove a template. Raises DeployTemplateNotFound."""
    session.delete(records.find_for_change(session, DeployTemplate, ident, missing))
