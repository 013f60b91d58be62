"""/v1/runbooks, and the traits of a runbook"""

from typing import Any

from flask import Response
from marshmallow import Schema
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.traits import replaced
from baremetal_sched.baremetal.api.provisioning import step_rules
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.baremetal.api.resources.standard_views import StandardViews
from baremetal_sched.baremetal.api.resources.view import BaremetalView, resource, split_traits
from baremetal_sched.baremetal.provisioning import runbooks
from baremetal_sched.baremetal.schemas.provisioning.runbooks import RUNBOOK_CREATE, RUNBOOK_CREATE_1_92
from baremetal_sched.baremetal.schemas.traits import check_trait, load_traits, refuse_traits
from baremetal_sched.db.models import Runbook, RunbookTrait
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.documents.patch import Patch, root
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Column, Resource


class RunbookView(BaremetalView):
    """A runbook as JSON."""

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "traits":
            # (SELECT group_concat(trait) FROM runbook_traits WHERE runbook_id = runbooks.id)
            traits = select(string_agg(RunbookTrait.trait)).where(RunbookTrait.runbook_id == Runbook.id)
            return traits.scalar_subquery(), split_traits
        return super().column(name, resource, version)


RESOURCE = resource(
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
    owned = call.listed("runbook").conditions_on(Runbook.owner)
    return collection.list_all(call, session, RESOURCE, within=[or_(Runbook.public, *owned)] if owned else ())


def _create(call: BaremetalCall, session: Session, values: dict[str, Any]) -> Runbook:
    step_rules.require(call, values["steps"])
    if call.caller.system_scope != "all":
        values["owner"] = runbooks.owner_of_new(values, call.caller.project_id)
    return runbooks.create(session, values)


def _update(call: BaremetalCall, session: Session, uuid: str, operations: Patch) -> None:
    runbook = runbooks.update(session, uuid, operations, free_names=call.version >= runbooks.TRAITS_SINCE)
    if any(root(operation) == "steps" for operation in operations):
        step_rules.require(call, runbook.steps)


class RunbookViews(StandardViews):
    """The views of runbooks, which had neither traits nor free names at first."""

    def creation_schema(self, call: BaremetalCall) -> Schema:
        return self.schema if call.version >= runbooks.TRAITS_SINCE else RUNBOOK_CREATE_1_92


RUNBOOKS = RunbookViews(
    resource=RESOURCE,
    parameter="runbook_ident",
    by_name=True,
    schema=RUNBOOK_CREATE,
    body_name="runbook",
    do_create=_create,
    do_update=_update,
    do_delete=lambda call, session, uuid: runbooks.destroy(session, uuid),
)


def list_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/runbooks/{runbook}/traits"""
    call.refuse_query()
    runbook_id = records.id_of(session, Runbook, _checked(call, ident), runbooks.missing)
    return json_response({"traits": runbooks.list_traits(session, runbook_id)})


def replace_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/runbooks/{runbook}/traits; with ``Prefer: return=representation`` the answer is the list."""
    call.refuse_query()
    names = load_traits(call.body(), "runbook")
    return replaced(call, runbooks.replace_traits(session, _checked(call, ident), names))


def add_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """PUT /v1/runbooks/{runbook}/traits/{trait}"""
    call.refuse_query()
    check_trait(trait, "trait")
    refuse_traits(call.body(), "runbook")
    runbooks.add_trait(session, _checked(call, ident), trait)
    return empty_response(204, {"Location": f"{call.base_url}/v1/runbooks/{ident}/traits/{trait}"})


def remove_all_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/runbooks/{runbook}/traits"""
    call.refuse_arguments()
    runbooks.replace_traits(session, _checked(call, ident), ())
    return empty_response(204)


def remove_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """DELETE /v1/runbooks/{runbook}/traits/{trait}"""
    call.refuse_arguments()
    runbooks.remove_trait(session, _checked(call, ident), trait)
    return empty_response(204)


def _checked(call: BaremetalCall, ident: str) -> str:
    return call.ident(ident, "runbook_ident")
