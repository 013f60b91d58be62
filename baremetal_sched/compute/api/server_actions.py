"""/servers/{server_id}/action: requests to a server by the name of an action"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.node_masking import hashed
from baremetal_sched.compute import server_history
from baremetal_sched.compute.api import server_requests, server_view
from baremetal_sched.compute.api.call import ComputeCall, NotImplementedHere
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.api.server_requests import requester_of
from baremetal_sched.compute.api.server_view import Viewer
from baremetal_sched.compute.api.servers import address, context_of, find_row, find_unlocked
from baremetal_sched.compute.schemas import servers as forms
from baremetal_sched.compute.schemas.form import Form
from baremetal_sched.compute.server_history import ServerRequester
from baremetal_sched.compute.servers import server_operations, servers
from baremetal_sched.compute.servers.servers import Locked
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.responses import empty_response, json_response

#: Actions that Nova has and this service has not. Nova answers 501 to the first ones if a hypervisor lacks them, and
#: never to the others: clients take that 501 for success.
NOT_IMPLEMENTED = frozenset(
    {
        *("changePassword", "os-getConsoleOutput", "os-getRDPConsole", "os-getSerialConsole", "os-getSPICEConsole"),
        *("os-getVNCConsole", "pause", "unpause"),
    }
)
NOT_HERE = NOT_IMPLEMENTED | frozenset(
    {
        *("addFixedIp", "addFloatingIp", "addSecurityGroup", "confirmResize", "createBackup", "createImage"),
        *("evacuate", "injectNetworkInfo", "migrate", "os-migrateLive", "os-resetState", "removeFixedIp"),
        *("removeFloatingIp", "removeSecurityGroup", "resetNetwork", "resize", "restore", "resume", "revertResize"),
        *("shelve", "shelveOffload", "suspend", "trigger_crash_dump", "unshelve"),
    }
)


def act(call: ComputeCall, session: Session, server_id: str) -> Response:
    """POST /servers/{server_id}/action"""
    name = _name_of_action(call)
    action = ACTIONS.get(name)
    if action is None:
        if name in NOT_HERE:
            refused = NotImplementedHere if name in NOT_IMPLEMENTED else BadRequest
            raise refused(message=f"The action {name} is not implemented for servers on bare metal.")
        raise InvalidValue(message=f"There is no such action: {name}")
    call.require(action.policy)
    call.action_rule = action.policy
    document = call.body(action.form(call.version))[name]
    return action.do(call, session, server_id, document)


def _name_of_action(call: ComputeCall) -> str:
    """The only member of the body. Raises BadRequest."""
    document = call.json
    if not isinstance(document, dict) or len(document) != 1:
        raise BadRequest(message="Malformed request body: an object with one member, the action, is expected.")
    name: str = next(iter(document))
    return name


#: What does an action, with the value of its member.
Do = Callable[[ComputeCall, Session, str, Any], Response]


@dataclass(frozen=True)
class ActionHandler:
    """An action: its policy, the form of its body by microversion, and its function, which gets the value of its
    member."""

    policy: str
    form: Callable[[int], Form]
    do: Do


def _operation(operate: Callable[[MachineContext, Locked, ServerRequester], None]) -> Do:
    """Return the function of an action that takes nothing."""

    def do(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
        locked = find_unlocked(call, session, server_id)
        operate(context_of(call, session), locked, requester_of(call))
        return empty_response(202)

    return do


def _reboot(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    locked = find_unlocked(call, session, server_id)
    hard = arguments["type"].upper() == "HARD"
    server_operations.reboot(context_of(call, session), locked, requester_of(call), hard=hard)
    return empty_response(202)


def _rescue(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    arguments = arguments or {}
    if arguments.get("rescue_image_ref"):
        raise InvalidValue(message="rescue_image_ref is not supported: the rescue system is that of the node's driver.")
    password = call.server_password = call.server_password or server_requests.new_password(arguments.get("adminPass"))
    if call.hashed_password is None:
        # It takes long, so before anything is locked, and once.
        call.hashed_password = hashed(password)
    locked = find_unlocked(call, session, server_id)
    server_operations.rescue(
        context_of(call, session), locked, requester_of(call), password=password, hashed_password=call.hashed_password
    )
    return json_response({"adminPass": password})


def _force_delete(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    locked = find_unlocked(call, session, server_id)
    with server_operations.refused_by_machine("force_delete", locked.server):
        servers.delete(context_of(call, session), locked, requester_of(call))
    return empty_response(202)


def _lock(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    reason = (arguments or {}).get("locked_reason") if call.version >= forms.LOCK_REASON_SINCE else None
    server = find_unlocked(call, session, server_id, own_lock=True).server
    # As with Nova, the lock stays as it is if its project locks a server that is locked.
    if not server.locked or server.project_id != call.project_id or call.caller.unrestricted:
        server_operations.lock(session, server, requester_of(call), reason)
    return empty_response(202)


def _unlock(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    server = find_unlocked(call, session, server_id, own_lock=True).server
    if server_history.locking_project(session, server) not in (None, call.project_id):
        call.require(name_of("os-lock-server", "unlock:unlock_override"), {"project_id": server.project_id})
    server_operations.unlock(session, server, requester_of(call))
    return empty_response(202)


def _rebuild(call: ComputeCall, session: Session, server_id: str, arguments: Any) -> Response:
    locked = find_unlocked(call, session, server_id)
    password = server_requests.new_password(arguments.get("adminPass"))
    request = server_requests.rebuild(call, session, arguments, password)
    server_operations.rebuild(context_of(call, session), locked, request, requester_of(call))
    session.flush()
    row = find_row(call, session, server_id)
    document = server_view.changed(Viewer.of(call, session, row.project_id), row) | _of_rebuild(call, row, password)
    document.pop("OS-EXT-SRV-ATTR:user_data", None)  # it is there under another name
    return json_response({"server": document}, 202, {"Location": address(call, server_id)})


def _of_rebuild(call: ComputeCall, row: Any, password: str) -> dict[str, Any]:
    """Fields that only the answer to a rebuild has."""
    document: dict[str, Any] = {"adminPass": password}
    if call.version >= forms.KEY_AT_REBUILD_SINCE:
        document["key_name"] = server_view.key_name(row)
    if call.version >= forms.USER_DATA_AT_REBUILD_SINCE:
        document["user_data"] = row.user_data
    return document


def _plain(name: str) -> Callable[[int], Form]:
    form = forms.plain(name)
    return lambda version: form


ACTIONS: Mapping[str, ActionHandler] = {
    "os-start": ActionHandler(name_of("servers", "start"), _plain("os-start"), _operation(server_operations.start)),
    "os-stop": ActionHandler(name_of("servers", "stop"), _plain("os-stop"), _operation(server_operations.stop)),
    "reboot": ActionHandler(name_of("servers", "reboot"), lambda version: forms.REBOOT, _reboot),
    "rebuild": ActionHandler(name_of("servers", "rebuild"), forms.rebuild, _rebuild),
    "rescue": ActionHandler(name_of("os-rescue"), lambda version: forms.RESCUE, _rescue),
    "unrescue": ActionHandler(name_of("os-unrescue"), _plain("unrescue"), _operation(server_operations.unrescue)),
    "forceDelete": ActionHandler(name_of("os-deferred-delete", "force"), _plain("forceDelete"), _force_delete),
    "lock": ActionHandler(name_of("os-lock-server", "lock"), forms.lock, _lock),
    "unlock": ActionHandler(name_of("os-lock-server", "unlock"), _plain("unlock"), _unlock),
}
