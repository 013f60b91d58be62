"""/v1/deploy_templates"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.provisioning import deploy_templates
from baremetal_sched.baremetal.schemas.runbooks import TEMPLATE_CREATE
from baremetal_sched.db.models import DeployTemplate
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response

TEMPLATES = resource(
    path="deploy_templates",
    plural="deploy_templates",
    model=DeployTemplate,
    fields=deploy_templates.FIELDS,
    list_default=deploy_templates.LIST_DEFAULT,
    missing=deploy_templates.missing,
    view=BaremetalView,
    any_marker=True,
)


def list_templates(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/deploy_templates"""
    return collection.list_all(call, session, TEMPLATES)


def show_template(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/deploy_templates/{template}"""
    return listing.show(call, session, TEMPLATES, _uuid_of(call, session, ident))


def create_template(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/deploy_templates"""
    values = collection.load_creation(call, TEMPLATES, TEMPLATE_CREATE, "template")
    return collection.created(call, session, TEMPLATES, deploy_templates.create(session, values).uuid)


def update_template(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/deploy_templates/{template}"""
    call.refuse_query()
    operations = collection.load_patch(call, deploy_templates.FIELDS, lambda: _uuid_of(call, session, ident))
    changed = deploy_templates.update(session, _uuid_of(call, session, ident), operations)
    return collection.updated(call, session, TEMPLATES, changed.uuid)


def delete_template(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/deploy_templates/{template}"""
    call.refuse_query()
    call.refuse_body()
    deploy_templates.destroy(session, _uuid_of(call, session, ident))
    return empty_response(204)


def _uuid_of(call: BaremetalCall, session: Session, ident: str) -> str:
    return records.uuid_of(session, DeployTemplate, call.ident(ident, "template_ident"), deploy_templates.missing)
