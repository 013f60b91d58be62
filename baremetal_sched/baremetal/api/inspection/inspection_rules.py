"""/v1/inspection_rules, /v1/nodes/{node}/inventory"""

from flask import Response
from sqlalchemy import ColumnElement, case, literal_column, type_coerce
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records, secrets
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.nodes import node_of
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import Query
from baremetal_sched.baremetal.api.resources.view import View, resource
from baremetal_sched.baremetal.inspection import inspection, inspection_rules
from baremetal_sched.baremetal.schemas.inspection import RULE_CREATE
from baremetal_sched.db.models import InspectionRule
from baremetal_sched.db.types import Json, as_text
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource

SINCE = 96
#: Filters, with the first microversion (minor) that has each.
FILTERS = {"phase": SINCE}


class RuleView(View):
    """A rule as JSON; what a sensitive one does is not shown."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name in ("conditions", "actions"):
            text = as_text(getattr(InspectionRule, name).expression)
            return type_coerce(case((InspectionRule.sensitive, literal_column("'null'")), else_=text), Json), None
        return super().column(name, resource, version)


RULES = resource(
    path="inspection_rules",
    plural="inspection_rules",
    model=InspectionRule,
    fields=inspection_rules.FIELDS,
    list_default=inspection_rules.LIST_DEFAULT,
    missing=inspection_rules.missing,
    view=RuleView,
    any_marker=True,
)


def list_rules(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/inspection_rules"""

    def narrow(query: Query) -> list[ColumnElement[bool]]:
        phase = query.text("phase")
        return [] if phase is None else [InspectionRule.phase == phase]

    return collection.list_all(call, session, RULES, filters=FILTERS, narrow=narrow)


def show_rule(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """GET /v1/inspection_rules/{uuid}"""
    return listing.show(call, session, RULES, call.uuid(uuid, "inspection_rule_uuid"))


def create_rule(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/inspection_rules"""
    values = collection.load_creation(call, RULES, RULE_CREATE, "rule")
    return collection.created(call, session, RULES, inspection_rules.create(session, values).uuid)


def update_rule(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """PATCH /v1/inspection_rules/{uuid}"""
    call.refuse_query()
    canonical = call.uuid(uuid, "inspection_rule_uuid")
    operations = collection.load_patch(
        call,
        inspection_rules.FIELDS,
        lambda: records.uuid_of(session, InspectionRule, canonical, inspection_rules.missing),
        found_for="fields",
    )
    inspection_rules.update(session, canonical, operations)
    return collection.updated(call, session, RULES, canonical)


def delete_rule(call: BaremetalCall, session: Session, uuid: str) -> Response:
    """DELETE /v1/inspection_rules/{uuid}"""
    call.refuse_query()
    call.refuse_body()
    inspection_rules.destroy(session, call.uuid(uuid, "inspection_rule_uuid"))
    return empty_response(204)


def delete_all_rules(call: BaremetalCall, session: Session) -> Response:
    """DELETE /v1/inspection_rules"""
    call.refuse_query()
    call.refuse_body()
    inspection_rules.destroy_all(session)
    return empty_response(204)


def show_inventory(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/inventory"""
    call.refuse_query()
    found = inspection.find(session, node_of(call, session, ident))
    return json_response({name: secrets.mask_json(text) for name, text in found.items()})
