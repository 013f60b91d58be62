"""/v1/runbooks, and the traits of a runbook"""

from flask import Response
from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.traits import replaced
from baremetal_sched.baremetal.api.provisioning import step_rules
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource, split_traits
from baremetal_sched.baremetal.provisioning import runbooks
from baremetal_sched.baremetal.schemas.runbooks import RUNBOOK_CREATE, RUNBOOK_CREATE_1_92
from baremetal_sched.baremetal.schemas.traits import check_trait, load_traits, refuse_traits
from baremetal_sched.db.models import Runbook, RunbookTrait
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.documents.patch import root
from baremetal_sched.web import listing
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource


class RunbookView(BaremetalView):
    """A runbook as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "traits":
            return _traits_column(), split_traits
        return super().column(name, resource, version)


def _traits_column() -> ColumnElement[str]:
    """(SELECT group_concat(trait) FROM runbook_traits WHERE runbook_id = runbooks.id)"""
    return select(string_agg(RunbookTrait.trait)).where(RunbookTrait.runbook_id == Runbook.id).scalar_subquery()


RUNBOOKS = resource(
    path="runbooks",
    plural="runbooks",
    model=Runbook,
    fields=runbooks.FIELDS,
    list_default=runbooks.LIST_DEFAULT,
    missing=runbooks.missing,
    view=RunbookView,
    newer_is_unknown=True,
    any_marker=True,
)


def list_runbooks(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/runbooks"""
    visible = call.listed("runbook")
    owned = visible.conditions_on(Runbook.owner)
    return collection.list_all(call, session, RUNBOOKS, within=[or_(Runbook.public, *owned)] if owned else ())


def show_runbook(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/runbooks/{runbook}"""
    return listing.show(call, session, RUNBOOKS, _uuid_of(call, session, ident))


def create_runbook(call: BaremetalCall, session: Session) -> Response:
    """POST /v1/runbooks"""
    schema = RUNBOOK_CREATE if _has_traits(call) else RUNBOOK_CREATE_1_92
    values = collection.load_creation(call, RUNBOOKS, schema, "runbook")
    step_rules.require(call, values["steps"])
    if call.caller.system_scope != "all":
        values["owner"] = runbooks.owner_of_new(values, call.caller.project_id)
    runbook = runbooks.create(session, values)
    return collection.created(call, session, RUNBOOKS, runbook.uuid)


def update_runbook(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PATCH /v1/runbooks/{runbook}"""
    call.refuse_query()
    operations = collection.load_patch(
        call, runbooks.FIELDS, lambda: _uuid_of(call, session, ident), newer_is_unknown=True
    )
    uuid = _uuid_of(call, session, ident)
    runbook = runbooks.update(session, uuid, operations, free_names=_has_traits(call))
    if any(root(operation) == "steps" for operation in operations):
        step_rules.require(call, runbook.steps)
    return collection.updated(call, session, RUNBOOKS, uuid)


def delete_runbook(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/runbooks/{runbook}"""
    call.refuse_query()
    call.refuse_body()
    runbooks.destroy(session, _uuid_of(call, session, ident))
    return empty_response(204)


def list_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/runbooks/{runbook}/traits"""
    call.refuse_query()
    runbook_id = records.id_of(session, Runbook, _checked(call, ident), runbooks.missing)
    return json_response({"traits": runbooks.list_traits(session, runbook_id)})


def replace_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/runbooks/{runbook}/traits; with ``Prefer: return=representation`` the answer is the list."""
    call.refuse_query()
    wanted = load_traits(call.body(), "runbook")
    return replaced(call, runbooks.replace_traits(session, _checked(call, ident), wanted))


def add_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """PUT /v1/runbooks/{runbook}/traits/{trait}"""
    call.refuse_query()
    check_trait(trait, "trait")
    refuse_traits(call.body(), "runbook")
    runbooks.add_trait(session, _checked(call, ident), trait)
    return empty_response(204, {"Location": f"{call.base_url}/v1/runbooks/{ident}/traits/{trait}"})


def remove_all_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/runbooks/{runbook}/traits"""
    call.refuse_query()
    call.refuse_body()
    runbooks.replace_traits(session, _checked(call, ident), ())
    return empty_response(204)


def remove_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """DELETE /v1/runbooks/{runbook}/traits/{trait}"""
    call.refuse_query()
    call.refuse_body()
    runbooks.remove_trait(session, _checked(call, ident), trait)
    return empty_response(204)


def _has_traits(call: BaremetalCall) -> bool:
    return call.version >= runbooks.TRAITS_SINCE


def _checked(call: BaremetalCall, ident: str) -> str:
    return call.ident(ident, "runbook_ident")


def _uuid_of(call: BaremetalCall, session: Session, ident: str) -> str:
    return records.uuid_of(session, Runbook, _checked(call, ident), runbooks.missing)
