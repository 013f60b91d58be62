"""/v1/nodes/{node}/states/provision, /v1/nodes/{node}/validate"""

from collections.abc import Mapping
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.provisioning import step_rules
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.node_masking import hashed
from baremetal_sched.baremetal.provisioning import provision, runbooks, validation
from baremetal_sched.baremetal.provisioning.provision import Order
from baremetal_sched.baremetal.schemas.provisioning.provision import KEYS, check_configdrive, check_steps, check_types
from baremetal_sched.baremetal.state_machine import VERBS
from baremetal_sched.db.models import Node, Runbook
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states
from baremetal_sched.web.responses import empty_response, json_response

CONFIGDRIVE_WITH_REBUILD_SINCE = 35
CONFIGDRIVE_OBJECT_SINCE = 56
VENDOR_DATA_SINCE = 59
DEPLOY_STEPS_SINCE = 69
RUNBOOK_SINCE = 92
DISABLE_RAMDISK_SINCE = {"clean": 70, "service": 108}
#: As many characters as a project may have.
LONGEST_PROJECT = 255
#: abort in these states is newer than the verb.
ABORT_SINCE = {states.INSPECTWAIT: 41, states.DEPLOYWAIT: 110}
#: The version of these verbs is looked at after the state.
_LATE = ("unhold", "service")
#: Which verbs take which steps.
_STEPS = {"clean_steps": ("clean",), "service_steps": ("service",), "deploy_steps": ("active", "rebuild")}


def set_provision_state(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/states/provision"""
    body = call.arguments(KEYS)
    check_types(body)
    verb = body["target"]
    if verb == "rescue" and call.hashed_password is None:
        # It is slow, so it is done once, before anything is locked.
        call.hashed_password = hashed(body.get("rescue_password") or "")
    node = call.locked_node(session, ident)
    if verb in VERBS and verb not in _LATE:
        call.require_version(VERBS[verb].since)
    guards.require_no_lockout(session, node)
    provision.require_accepted(node, verb)
    if verb in _LATE:
        call.require_version(VERBS[verb].since)
    if verb == "abort":
        call.require_version(ABORT_SINCE.get(node.provision_state, 0))
    order = _order(call, session, node, verb, body)
    provision.request(session, node, order, call.membership(session), call.settings)
    return empty_response(202, {"Location": f"{call.base_url}/v1/nodes/{ident}/states"})


def _order(call: BaremetalCall, session: Session, node: Node, verb: str, body: Mapping[str, Any]) -> Order:
    """Return the order that the body describes, checked in the same sequence as in Ironic."""
    _check_configdrive(call, verb, body.get("configdrive"))
    runbook = _runbook(call, session, node, verb, body)
    disable_ramdisk = body.get("disable_ramdisk")
    if disable_ramdisk is not None:
        if verb not in DISABLE_RAMDISK_SINCE:
            raise InvalidValue(message="disable_ramdisk is supported only with manual cleaning or servicing")
        call.require_version(DISABLE_RAMDISK_SINCE[verb])
    steps = _steps(call, verb, body) if runbook is None else runbook.steps
    if runbook is not None and disable_ramdisk is None:
        disable_ramdisk = runbook.disable_ramdisk
    password = body.get("rescue_password")
    if password is not None and verb != "rescue":
        raise InvalidValue(message='"rescue_password" is only valid when setting target provision state to rescue')
    if verb == "rescue" and not (password and password.strip()):
        raise InvalidValue(
            message='A non-empty "rescue_password" is required when setting target provision state to rescue'
        )
    return Order(
        verb,
        steps=steps,
        configdrive=body.get("configdrive"),
        rescue_password=password,
        hashed_rescue_password=call.hashed_password,
        disable_ramdisk=disable_ramdisk is not None and parse_flag("disable_ramdisk", disable_ramdisk),
        project=_project(call, node),
    )


def _project(call: BaremetalCall, node: Node) -> str | None:
    """Return the project for which the node is deployed, which becomes its lessee, or None. Unrestricted callers stand
    for no project."""
    if call.caller.unrestricted:
        return None
    match call.settings.conductor.automatic_lessee_source:
        case "request":
            return call.caller.project_id
        case "instance":
            project = (node.instance_info or {}).get("project_id")
            return project if isinstance(project, str) and 0 < len(project) <= LONGEST_PROJECT else None
        case _:
            return None


def _check_configdrive(call: BaremetalCall, verb: str, configdrive: Any) -> None:
    """Raise InvalidValue for a config drive that the verb, the microversion or its format does not allow."""
    if not configdrive:
        return
    verbs = ["active", "rebuild"] if call.version >= CONFIGDRIVE_WITH_REBUILD_SINCE else ["active"]
    if verb not in verbs:
        raise InvalidValue(
            message="Adding a config drive is only supported when setting provision state to " + ", ".join(verbs)
        )
    if isinstance(configdrive, dict):
        if call.version < CONFIGDRIVE_OBJECT_SINCE:
            raise InvalidValue(
                message="Providing a JSON object for configdrive is only supported starting with API version "
                f"1.{CONFIGDRIVE_OBJECT_SINCE}"
            )
        if "vendor_data" in configdrive and call.version < VENDOR_DATA_SINCE:
            raise InvalidValue(
                message=f"Providing vendor_data in configdrive is only supported starting with API version "
                f"1.{VENDOR_DATA_SINCE}"
            )
    check_configdrive(configdrive)


def _runbook(call: BaremetalCall, session: Session, node: Node, verb: str, body: Mapping[str, Any]) -> Runbook | None:
    """Return the runbook that the body names, if the caller may use it on the node; None without one."""
    ident = body.get("runbook")
    if not ident:
        return None
    call.require_version(RUNBOOK_SINCE)
    runbook, trait_names = runbooks.find(session, ident)
    call.require("baremetal:runbook:use", call.target_of("runbook", owner=runbook.owner))
    runbooks.require_approved(session, runbook, trait_names, node, by_traits=call.version >= runbooks.TRAITS_SINCE)
    if verb not in ("clean", "service"):
        raise InvalidValue(message="A runbook can only be used when setting target provision state to clean or service")
    if body.get("clean_steps") or body.get("service_steps"):
        raise InvalidValue(message="Please provide either steps or a runbook, not both")
    if runbook.owner is not None and not runbook.public:
        step_rules.require(call, runbook.steps, call.target_of("node", owner=node.owner, lessee=node.lessee))
    return runbook


def _steps(call: BaremetalCall, verb: str, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the steps that the body names. Raises InvalidValue for steps that do not belong to the verb."""
    chosen: list[Mapping[str, Any]] = []
    for name, verbs in _STEPS.items():
        steps = body.get(name)
        if steps == []:  # an empty list is accepted for all verbs
            steps = None
        if name == "deploy_steps" and steps is not None:
            call.require_version(DEPLOY_STEPS_SINCE)
        if steps is not None and verb not in verbs:
            raise InvalidValue(
                message=f'"{name}" is only valid when setting target provision state to {" or ".join(verbs)}'
            )
        if steps is None and verb in ("clean", "service") and name == f"{verb}_steps":
            raise InvalidValue(message=f'"{name}" is required when setting target provision state to {verb}')
        if steps is not None:
            check_steps(name, steps)
            chosen = steps
    return chosen


def validate_node(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/validate"""
    call.refuse_query()
    return _report(call, session, ident)


def validate_named_node(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/nodes/validate"""
    return _report(call, session, named(call))


def named(call: BaremetalCall) -> str:
    """The UUID or name of the node that the query string names. Raises InvalidValue."""
    query = BaremetalQuery(call, ("node", "node_uuid"))
    ident = query.uuid("node_uuid") or query.text("node")
    if ident is None:
        raise InvalidValue(message="Missing mandatory parameter: node or node_uuid")
    return ident


def _report(call: BaremetalCall, session: Session, ident: str) -> Response:
    node = call.node_with_conductor(session, ident)
    return json_response(validation.report(session, node, call.membership(session)))
