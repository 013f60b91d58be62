"""/v1/inspection_rules, /v1/nodes/{node}/inventory"""

from flask import Response
from sqlalchemy import ColumnElement, case, literal_column, type_coerce
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import node_masking
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource
from baremetal_sched.baremetal.inspection import inspection, inspection_rules
from baremetal_sched.baremetal.inspection.schemas import RULE_CREATE
from baremetal_sched.db.models import InspectionRule
from baremetal_sched.db.types import Json, as_text
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource

SINCE = 96
#: Filters, with the first microversion (minor) that has each.
FILTERS = {"phase": SINCE}


class RuleView(BaremetalView):
    """A rule as JSON; what a sensitive one does is not shown."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name in ("conditions", "actions"):
            text = as_text(getattr(InspectionRule, name).expression)
            return type_coerce(case((InspectionRule.sensitive, literal_column("'null'")), else_=text), Json), None
        return super().column(name, resource, version)


RULES = StandardViews(
    resource=resource(
        path="inspection_rules",
        plural="inspection_rules",
        model=InspectionRule,
        fields=inspection_rules.FIELDS,
        list_default=inspection_rules.LIST_DEFAULT,
        missing=inspection_rules.missing,
        view=RuleView,
        any_marker=True,
    ),
    parameter="inspection_rule_uuid",
    schema=RULE_CREATE,
    body_name="rule",
    do_create=lambda call, session, values: inspection_rules.create(session, values),
    do_update=lambda call, session, uuid, operations: inspection_rules.update(session, uuid, operations),
    do_delete=lambda call, session, uuid: inspection_rules.destroy(session, uuid),
    finds_from="fields",
)


def list_rules(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/inspection_rules"""

    def narrow(query: BaremetalQuery) -> list[ColumnElement[bool]]:
        phase = query.text("phase")
        return [] if phase is None else [InspectionRule.phase == phase]

    return collection.list_all(call, session, RULES.resource, filters=FILTERS, narrow=narrow)


def delete_all_rules(call: BaremetalCall, session: Session) -> Response:
    """DELETE /v1/inspection_rules"""
    call.refuse_arguments()
    inspection_rules.destroy_all(session)
    return empty_response(204)


def show_inventory(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/inventory"""
    call.refuse_query()
    found = inspection.find(session, call.node(session, ident))
    return json_response({name: node_masking.mask_json(text) for name, text in found.items()})
