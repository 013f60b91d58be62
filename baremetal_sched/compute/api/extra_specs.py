"""/flavors/{flavor_id}/os-extra_specs"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import flavors
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.schemas import flavors as forms
from baremetal_sched.errors.flavors import ExtraSpecNotFound
from baremetal_sched.web.http_errors import BadRequest
from baremetal_sched.web.responses import empty_response, json_response


def list_specs(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """GET /flavors/{flavor_id}/os-extra_specs"""
    call.refuse_query()
    return json_response({"extra_specs": flavors.find(session, flavor_id, call.viewer).extra_specs})


def show_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """GET /flavors/{flavor_id}/os-extra_specs/{key}"""
    call.refuse_query()
    specs = flavors.find(session, flavor_id, call.viewer).extra_specs
    if key not in specs:
        raise ExtraSpecNotFound(flavor=flavor_id, key=key)
    return json_response({key: specs[key]})


def create_specs(call: ComputeCall, session: Session, flavor_id: str) -> Response:
    """POST /flavors/{flavor_id}/os-extra_specs: existing ones are replaced."""
    call.refuse_query()
    body = call.body(forms.EXTRA_SPECS)
    flavors.set_extra_specs(session, flavor_id, _texts(body["extra_specs"]))
    return json_response(body)


def update_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """PUT /flavors/{flavor_id}/os-extra_specs/{key}"""
    call.refuse_query()
    body = call.body(forms.ONE_EXTRA_SPEC)
    if key not in body:
        raise BadRequest(message="Request body and URI mismatch")
    flavors.set_extra_specs(session, flavor_id, _texts(body))
    return json_response(body)


def delete_spec(call: ComputeCall, session: Session, flavor_id: str, key: str) -> Response:
    """DELETE /flavors/{flavor_id}/os-extra_specs/{key}"""
    call.refuse_query()
    flavors.delete_extra_spec(session, flavor_id, key)
    return empty_response(200)


def _texts(specs: dict[str, Any]) -> dict[str, str]:
    """The values as they are kept: numbers as texts. Raises BadRequest for one that is too long."""
    texts = {key: str(value) for key, value in specs.items()}
    for key, text in texts.items():
        if len(text) > forms.LONGEST_SPEC:
            raise BadRequest(message=f"Extra spec {key} is too long: at most {forms.LONGEST_SPEC} characters.")
    return texts
