"""/os-keypairs"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import keypairs
from baremetal_sched.compute.api.call import ComputeCall, timestamp
from baremetal_sched.compute.schemas import keypairs as forms
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import empty_response, json_response

_POLICY = "os_compute_api:os-keypairs"


def list_keypairs(call: ComputeCall, session: Session) -> Response:
    """GET /os-keypairs"""
    query = Query(call, (*_parameters(call), "limit", "marker"))
    user = _user(call, query, "index")
    limit = query.limit(least=0)
    rows = keypairs.list_page(session, user, limit, query.text("marker"))
    document: dict[str, Any] = {"keypairs": [{"keypair": _summary(call, row)} for row in rows]}
    if rows and len(rows) == limit and call.version >= forms.PAGES_SINCE:
        document["keypairs_links"] = query.next_link(rows[-1].name)
    return json_response(document)


def show_keypair(call: ComputeCall, session: Session, name: str) -> Response:
    """GET /os-keypairs/{name}"""
    row = keypairs.find(session, _user(call, Query(call, _parameters(call)), "show"), name)
    document = {
        **_summary(call, row),
        "user_id": row.user_id,
        "id": row.id,
        "created_at": timestamp(row.created_at),
        "updated_at": None,
        "deleted": False,
        "deleted_at": None,
    }
    return json_response({"keypair": document})


def create_keypair(call: ComputeCall, session: Session) -> Response:
    """POST /os-keypairs: imports a public key, or makes a pair."""
    values = call.body(forms.create(call.version))["keypair"]
    user = call.acting_as(values.get("user_id"), f"{_POLICY}:create")
    name = values["name"]
    keypairs.check_name(name, wider=call.version >= forms.IMPORT_ONLY_SINCE)
    key_type = values.get("type", keypairs.SSH)
    public_key = values.get("public_key")
    pair = keypairs.generated(name, key_type) if public_key is None else keypairs.imported(name, public_key, key_type)
    row = keypairs.add(session, user, pair)
    document = {**_summary(call, row), "user_id": user}
    if pair.private_key is not None:
        document["private_key"] = pair.private_key
    return json_response({"keypair": document}, 201 if call.version >= forms.TYPE_SINCE else 200)


def delete_keypair(call: ComputeCall, session: Session, name: str) -> Response:
    """DELETE /os-keypairs/{name}"""
    keypairs.remove(session, _user(call, Query(call, _parameters(call)), "delete"), name)
    return empty_response(204 if call.version >= forms.TYPE_SINCE else 202)


def _parameters(call: ComputeCall) -> tuple[str, ...]:
    return ("user_id",) if call.version >= forms.USER_SINCE else ()


def _user(call: ComputeCall, query: Query, operation: str) -> str:
    """The user whose key pairs these are. Raises NotAllowed."""
    return call.acting_as(query.text("user_id"), f"{_POLICY}:{operation}")


def _summary(call: ComputeCall, row: Any) -> dict[str, Any]:
    document = {"name": row.name, "public_key": row.public_key, "fingerprint": row.fingerprint}
    if call.version >= forms.TYPE_SINCE:
        document["type"] = row.type
    return document
