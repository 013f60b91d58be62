"""/v1/domains: machines that share a rack, a row, a switch."""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.policies.holds import GET_NODE
from baremetal_sched.baremetal.api.resources.hold_actors import nodes_by
from baremetal_sched.baremetal.domains import domain_list, domains, from_property, members, naming
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.visibility import EVERYTHING
from baremetal_sched.db.models import Domain
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.scheduling.api.capacity import visible_to
from baremetal_sched.scheduling.api.policies import MANAGE_DOMAINS
from baremetal_sched.scheduling.schemas.answers import TEXT, document, said
from baremetal_sched.scheduling.schemas.domains import CHANGED_DOMAIN, DOMAIN_MEMBERS, FROM_PROPERTY, NEW_DOMAIN
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import empty_response, json_response

PARAMETERS = {
    **page_of("Domains"),
    "name": said("Only the domain of this name; a level has at most one.", TEXT),
    "level": said("Only domains of this level.", TEXT),
    "parent": said("Only domains right below this one: its UUID, or LEVEL:NAME.", TEXT),
}
NODE_PARAMETERS = page_of("Nodes")

#: By level and name, for people.
_ORDER = (SortKey("level"), SortKey("name"))


def list_domains(call: Call, session: Session) -> Response:
    """GET /v1/domains"""
    query = Query(call, PARAMETERS)
    seen = visible_to(call).conditions()
    given = {name: value for name in ("name", "level") if (value := query.text(name)) is not None}
    naming.require_levels(session, [given["level"]] if "level" in given else [], seen)
    parent = query.text("parent")
    if parent is not None:
        given["parent"] = naming.find(session, parent, seen).uuid
    page = Page(query.limit(), query.text("marker"), _ORDER)
    rows = domain_list.select_domains(session, given, page, visible_to(call))
    links = query.links("domains", [row[0].uuid for row in rows], page.limit)
    return json_response({"domains": [document_of(call, *row) for row in rows], **links})


def show_domain(call: Call, session: Session, domain: str) -> Response:
    """GET /v1/domains/{domain}"""
    return json_response(document_of(call, *domain_list.find(session, _uuid(call, session, domain), visible_to(call))))


def list_domain_nodes(call: Call, session: Session, domain: str) -> Response:
    """GET /v1/domains/{domain}/nodes"""
    query = Query(call, NODE_PARAMETERS)
    found = domain_list.find(session, _uuid(call, session, domain), visible_to(call))[0]
    page = Page(query.limit(), query.text("marker"))
    rows = domain_list.select_nodes(session, found, page, visible_to(call))
    links = query.links("nodes", [row.uuid for row in rows], page.limit)
    return json_response({"nodes": [row._asdict() for row in rows], **links})


def create_domain(call: Call, session: Session) -> Response:
    """POST /v1/domains"""
    body = NEW_DOMAIN.read(call.json)
    made = domains.create(session, **{**body, "parent": _parent(call, session, body.get("parent"))})
    answer = document_of(call, *domain_list.find(session, made.uuid, EVERYTHING))
    return json_response(answer, 201, {"Location": answer["links"][0]["href"]})


def create_from_property(call: Call, session: Session) -> Response:
    """POST /v1/domains/from_property"""
    body = FROM_PROPERTY.read(call.json)
    return json_response(
        from_property.follow(session, body["level"], body["property"], body.get("marker"), nodes_by(call, GET_NODE))
    )


def update_domain(call: Call, session: Session, domain: str) -> Response:
    """PATCH /v1/domains/{domain}"""
    body = CHANGED_DOMAIN.read(call.json)
    found = domains.find_for_change(session, _uuid(call, session, domain))
    domains.change(session, found, {name: value for name, value in body.items() if name != "parent"})
    if "parent" in body:
        domains.hang(session, found, _parent(call, session, body["parent"]))
        members.follow_parents(session, found)
    session.flush()
    return json_response(document_of(call, *domain_list.find(session, found.uuid, EVERYTHING)))


def delete_domain(call: Call, session: Session, domain: str) -> Response:
    """DELETE /v1/domains/{domain}"""
    domains.delete(session, domains.find_for_change(session, _uuid(call, session, domain)))
    return empty_response()


def put_node(call: Call, session: Session, domain: str, node: str) -> Response:
    """PUT /v1/domains/{domain}/nodes/{node}"""
    _require(call, session, node)
    path = domains.path_of(session, _uuid(call, session, domain))
    members.put(session, path, nodes.find_for_change(session, node, nodes_by(call, GET_NODE)))
    return empty_response()


def remove_node(call: Call, session: Session, domain: str, node: str) -> Response:
    """DELETE /v1/domains/{domain}/nodes/{node}"""
    _require(call, session, node)
    found = domains.path_of(session, _uuid(call, session, domain))[0]
    members.take_out(session, found, nodes.find_for_change(session, node, nodes_by(call, GET_NODE)))
    return empty_response()


def _require(call: Call, session: Session, node: str) -> None:
    """Raise NotAllowed unless the caller may manage domains; NodeNotFound if it does not even see the node."""
    if not call.allows(MANAGE_DOMAINS):
        nodes.find_for_change(session, node, nodes_by(call, GET_NODE))
        call.require(MANAGE_DOMAINS)


def _uuid(call: Call, session: Session, text: str) -> str:
    """Return the UUID of the domain with this UUID, or of LEVEL:NAME. Raises DomainNotFound for a name, and
    InvalidValue for one without its level."""
    return canonical_uuid(text) or naming.find_one(session, text, visible_to(call).conditions()).uuid


def _parent(call: Call, session: Session, text: str | None) -> str | None:
    if text is None or canonical_uuid(text):
        return text
    return naming.find(session, text, visible_to(call).conditions()).uuid


def document_of(call: Call, domain: Domain, parent: str | None, count: int) -> dict[str, Any]:
    """Return a domain as JSON: a row of ``select_domains``."""
    links = [{"rel": "self", "href": f"{call.base_url}/v1/domains/{domain.uuid}"}]
    return document(DOMAIN_MEMBERS, domain, parent=parent, nodes=count, links=links)
