"""/v1/nodes/{node}/traits"""

from collections.abc import Callable

from flask import Response
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.conductors.ownership import LiveMembers
from baremetal_sched.baremetal.nodes import traits
from baremetal_sched.baremetal.schemas.traits import check_trait, load_traits, refuse_traits
from baremetal_sched.errors.baremetal import NodeTraitNotFound
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


def replace_traits(call: BaremetalCall, connection: Connection, ident: str) -> Response:
    """PUT /v1/nodes/{node}/traits; with ``Prefer: return=representation`` the answer is the list.

    A trait in the query string is added, as if it were in the path.
    """
    if trait := call.take("trait", in_body=False):
        return add_trait(call, connection, ident, trait)
    call.refuse_query()
    wanted = frozenset(load_traits(call.body(), "node"))
    return replaced(call, sorted(_change(call, connection, ident, lambda node, now: wanted)))


def replaced(call: BaremetalCall, now: list[str]) -> Response:
    """The answer to a request that made ``now`` all the traits of something."""
    if call.prefers_representation:
        return json_response({"traits": now}, headers={"Preference-Applied": "return=representation"})
    return empty_response(204)


def add_trait(call: BaremetalCall, connection: Connection, ident: str, trait: str) -> Response:
    """PUT /v1/nodes/{node}/traits/{trait}"""
    call.refuse_query()
    check_trait(trait, "trait")
    refuse_traits(call.body(), "node")
    _change(call, connection, ident, lambda node, now: now | {trait})
    return empty_response(204, {"Location": f"{call.base_url}/v1/nodes/{ident}/traits/{trait}"})


def remove_all_traits(call: BaremetalCall, connection: Connection, ident: str) -> Response:
    """DELETE /v1/nodes/{node}/traits; a trait in the query string alone, as if it were in the path."""
    if trait := call.take("trait", in_body=False):
        return remove_trait(call, connection, ident, trait)
    call.refuse_arguments()
    _change(call, connection, ident, lambda node, now: frozenset())
    return empty_response(204)


def remove_trait(call: BaremetalCall, connection: Connection, ident: str, trait: str) -> Response:
    """DELETE /v1/nodes/{node}/traits/{trait}"""
    call.refuse_arguments()

    def without(node: str, now: frozenset[str]) -> frozenset[str]:
        if trait not in now:
            raise NodeTraitNotFound(node=node, trait=trait)
        return now - {trait}

    _change(call, connection, ident, without)
    return empty_response(204)


def _change(
    call: BaremetalCall, connection: Connection, ident: str, wanted: Callable[[str, frozenset[str]], frozenset[str]]
) -> frozenset[str]:
    live = LiveMembers.of(call.settings)
    return call.found(ident, lambda each: traits.change_traits(connection, each, live, wanted))
