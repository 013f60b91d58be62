"""/v1/nodes/{node}/traits"""

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.conductors.ownership import LiveMembers
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.schemas.traits import check_trait, load_traits, refuse_traits
from baremetal_sched.db.models import Node
from baremetal_sched.web.http_errors import TooNew
from baremetal_sched.web.responses import empty_response, json_response

TRAITS_SINCE = 37


def refuse_list(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/traits, below 1.37: a node that is not there comes first."""
    call.node(session, ident)
    raise TooNew(since=f"1.{TRAITS_SINCE}")


def list_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """GET /v1/nodes/{node}/traits"""
    node = call.node(session, ident)
    call.refuse_query()
    return json_response({"traits": traits.list_traits(session, node.id)})


def replace_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """PUT /v1/nodes/{node}/traits; with ``Prefer: return=representation`` the answer is the list.

    A trait in the query string is added, as if it were in the path.
    """
    if trait := call.take("trait", in_body=False):
        return add_trait(call, session, ident, trait)
    call.refuse_query()
    wanted = load_traits(call.body(), "node")
    now = traits.replace_traits(session, _changeable(call, session, ident), wanted)
    return replaced(call, now)


def replaced(call: BaremetalCall, now: list[str]) -> Response:
    """The answer to a request that made ``now`` all the traits of something."""
    if call.prefers_representation:
        return json_response({"traits": now}, headers={"Preference-Applied": "return=representation"})
    return empty_response(204)


def add_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """PUT /v1/nodes/{node}/traits/{trait}"""
    call.refuse_query()
    check_trait(trait, "trait")
    refuse_traits(call.body(), "node")
    traits.add_trait(session, _changeable(call, session, ident), trait)
    return empty_response(204, {"Location": f"{call.base_url}/v1/nodes/{ident}/traits/{trait}"})


def remove_all_traits(call: BaremetalCall, session: Session, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/traits; a trait in the query string alone, as if it were in the path."""
    if trait := call.take("trait", in_body=False):
        return remove_trait(call, session, ident, trait)
    call.refuse_arguments()
    traits.replace_traits(session, _changeable(call, session, ident), ())
    return empty_response(204)


def remove_trait(call: BaremetalCall, session: Session, ident: str, trait: str) -> Response:
    """DELETE /v1/nodes/{node}/traits/{trait}"""
    call.refuse_arguments()
    traits.remove_trait(session, _changeable(call, session, ident), trait)
    return empty_response(204)


def _changeable(call: BaremetalCall, session: Session, ident: str) -> Node:
    node_uuid = call.node_uuid(session, ident)
    return nodes.find_to_change_projected(session, node_uuid, LiveMembers.of(call.settings))
