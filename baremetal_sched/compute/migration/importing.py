"""Taking over the servers, flavors, key pairs and server groups of a Nova, whose machines are enrolled here.

Each of them is entered in a transaction of its own, and existing rows stay as they are: so an import can be interrupted
and repeated. A server is taken over by the node that Nova says it is on; it claims nothing, which is left to
``flavor_migration``. Its node is in use from then on, so it is not offered.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import insert, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.compute.hosts.node_changes import moving
from baremetal_sched.compute.migration import group_import, nova_documents
from baremetal_sched.compute.migration.nova_documents import Document, Skip, normal, parse
from baremetal_sched.db.models import Flavor, Keypair, Node, Server, ServerTag
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.placement import projected
from baremetal_sched.settings import Settings

__all__ = ["Report", "import_document", "parse"]

_NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname"

#: States in which there may be an instance on the machine that the node does not know of yet.
_MAY_HAVE_INSTANCE = frozenset(
    {states.ENROLL, states.MANAGEABLE, states.AVAILABLE, states.ACTIVE, states.RESCUE, states.ADOPTFAIL}
)


@dataclass
class Report:
    """The numbers of imported, present and skipped documents by kind, and a line about each skipped document."""

    imported: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    skipped_of: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def import_document(database: Database, settings: Settings, document: Mapping[str, Sequence[Document]]) -> Report:
    """Import the contents of a parsed document.

    Raises the errors of the database: then it is to be repeated.
    """
    report = Report()
    for flavor in document["flavors"]:
        _enter(database, report, "flavors", f"{flavor['name']} ({flavor['id']})", partial(_add_flavor, document=flavor))
    private = [flavor["name"] for flavor in document["flavors"] if not flavor.get("os-flavor-access:is_public", True)]
    if private:
        report.remarks.append(f"private flavors, whose projects Nova's list does not name: {', '.join(private)}")
    for pair in document["keypairs"]:
        for user in _users_of(pair, document["servers"], settings):
            values = nova_documents.keypair_values(pair, user)
            _enter(database, report, "keypairs", f"{values['name']} of {user}", partial(_add_keypair, values=values))
    shared = _SharedNodes.of(document["servers"])
    for server in document["servers"]:
        add = partial(_add_server, document=server, keypairs=document["keypairs"], shared=shared)
        _enter(database, report, "servers", f"{server['id']} ({server.get('name', '')})", add)
    group_import.import_groups(partial(_enter, database, report), report.remarks, document)
    return report


def _enter(database: Database, report: Report, kind: str, name: str, add: Callable[[Session], bool]) -> None:
    """Enter one document of a kind. ``add`` returns whether it was new."""
    report.imported[kind] += 0
    try:
        is_new = database.write(add)
    except UnavailableError:
        raise
    except (Skip, SchedulerError) as error:
        report.skipped.append(f"{kind.removesuffix('s').replace('_', ' ')} {name}: {error}")
        report.skipped_of[kind] += 1
    else:
        (report.imported if is_new else report.present)[kind] += 1


# -- flavors and key pairs ---------------------------------------------------------------------------------------------


def _add_flavor(session: Session, document: Document) -> bool:
    if "extra_specs" not in document:
        raise Skip("its extra specs are not in the file. Ask for the flavors at microversion 2.61, as administrator.")
    values = nova_documents.flavor_values(document)
    same = or_(Flavor.flavorid == values["flavorid"], Flavor.name == values["name"])
    for found in session.scalars(select(Flavor).where(same)):
        if found.flavorid == values["flavorid"]:
            return False
        raise Skip(f"another flavor here has its name (id {found.flavorid}).")
    extra_specs.check(values["extra_specs"])
    session.add(Flavor(**values))
    return True


def _users_of(pair: Document, servers: Sequence[Document], settings: Settings) -> list[str]:
    """Return the users of the key pair. Nova lists the pairs of one user and may not name the user: then all users
    whose servers have the pair get it."""
    user = pair["keypair"].get("user_id")
    if user is not None:
        return [user]
    users = {server["user_id"] for server in servers if server.get("key_name") == pair["keypair"]["name"]}
    return sorted(users) or [settings.compute.user_id]


def _add_keypair(session: Session, values: Mapping[str, Any]) -> bool:
    same = (Keypair.user_id == values["user_id"], Keypair.name == values["name"])
    found = session.scalars(select(Keypair).where(*same)).first()
    if found is None:
        session.add(Keypair(**values))
        return True
    if found.public_key.strip() != values["public_key"].strip():
        raise Skip("the user has another key of this name here.")
    return False


# -- servers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _SharedNodes:
    """Servers (UUIDs) by the node that they are on, where there are several."""

    servers: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, servers: Sequence[Document]) -> "_SharedNodes":
        by_node: dict[str, list[str]] = {}
        for server in servers:
            found = by_node.setdefault(normal(server.get(_NODE) or ""), [])
            if (uuid := normal(server["id"])) not in found:
                found.append(uuid)
        return cls({node: found for node, found in by_node.items() if node and len(found) > 1})

    def require_alone(self, server: Document) -> None:
        found = self.servers.get(normal(server.get(_NODE) or ""))
        if found:
            raise Skip(f"there are several servers on node {server[_NODE]}: {', '.join(found)}.")


def _add_server(session: Session, document: Document, keypairs: Sequence[Document], shared: _SharedNodes) -> bool:
    if document.get("status") == "UNKNOWN":
        raise Skip("its cell was down when Nova was asked.")
    shared.require_alone(document)
    uuid = normal(document["id"])
    # The node's row first, then the server's, as everywhere.
    node = _find_node(session, document)
    if session.scalar(select(Server.id).where(Server.uuid == uuid)) is not None:
        if node.instance_uuid != uuid:
            raise Skip(f"it is here already, and not on node {node.uuid}.")
        return False
    _require_fit(session, node, uuid)
    pair = nova_documents.keypair_of(document, keypairs)
    flavor_id = session.scalar(select(Flavor.flavorid).where(Flavor.name == document["flavor"]["original_name"]))
    ids = {} if flavor_id is None else {document["flavor"]["original_name"]: flavor_id}
    server = Server(**nova_documents.server_values(document, ids, pair))
    session.add(server)
    if node.instance_uuid is None:
        moving(session, uuid)
        node.instance_uuid, node.instance_name = uuid, server.name
        node.touch()
    session.flush()
    tags = [{"server_id": server.id, "tag": tag} for tag in dict.fromkeys(document.get("tags", []))]
    if tags:
        session.execute(insert(ServerTag), tags)
    return True


def _find_node(session: Session, document: Document) -> Node:
    name = document.get(_NODE)
    if not name:
        raise Skip("it is not on a node, or the list was not made by an administrator.")
    try:
        return nodes.find_for_change(session, name)
    except NodeNotFound:
        raise Skip(f"its node {name} is not enrolled here.") from None


def _require_fit(session: Session, node: Node, uuid: str) -> None:
    """Raise Skip unless the server can be on the node."""
    if node.instance_uuid == uuid:
        return
    if node.instance_uuid is not None:
        raise Skip(f"its node {node.uuid} has another instance, {node.instance_uuid}.")
    other = session.scalar(select(Node.uuid).where(Node.instance_uuid == uuid))
    if other is not None:
        raise Skip(f"here it is on node {other}, not on node {node.uuid}.")
    if node.reservation is not None:
        raise Skip(f"conductor {node.reservation} is at work on its node {node.uuid}. Repeat it later.")
    if node.provision_state not in _MAY_HAVE_INSTANCE:
        raise Skip(f"its node {node.uuid} is in provision state '{node.provision_state}'.")
    others = [consumer for consumer in projected.consumers_of(session, node.uuid) if consumer != uuid]
    if others:
        raise Skip(f"its node {node.uuid} is claimed by {', '.join(others)}.")
