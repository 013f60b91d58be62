"""Taking over the server groups of a Nova, with those of their members that are servers here."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_groups
from baremetal_sched.compute.migration import nova_documents
from baremetal_sched.compute.migration.nova_documents import Document, Skip, normal
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Server, ServerGroup, ServerGroupMember
from baremetal_sched.errors.compute import ServerGroupNotFound, ServerGroupsNotServed

#: Enters one document: its kind, what it is called, and the function that adds it.
Enter = Callable[[str, str, Callable[[Session], bool]], None]


def import_groups(enter: Enter, remarks: list[str], document: Mapping[str, Sequence[Document]]) -> None:
    """Enter the groups of a parsed document after its servers, and say which servers and groups have lost each other.

    A group that is here already gets the members that it lacks.
    """
    for group in document["server_groups"]:
        enter("server_groups", f"{group['name']} ({group['id']})", partial(_add, document=group, remarks=remarks))
    groups = {normal(group["id"]) for group in document["server_groups"]}
    for server in document["servers"]:
        for uuid in nova_documents.groups_of(server, hints=not groups):
            if uuid not in groups:
                remarks.append(
                    f"server {server['id']} ({server.get('name', '')}) is in server group {uuid}, which is not in the "
                    "file: it is left out of the group. Add the answer of os-server-groups?all_projects=1 at "
                    "microversion 2.64 to the file, and repeat it."
                )


def _add(session: Session, document: Document, remarks: list[str]) -> bool:
    if not schema_state.has_finished(session.connection(), server_groups.FIRST_REVISION):
        raise ServerGroupsNotServed
    values = nova_documents.group_values(document)
    try:
        group, is_new = server_groups.lock(session, values["uuid"]), False
    except ServerGroupNotFound:
        group, is_new = ServerGroup(**values), True
        session.add(group)
        session.flush()
    if group.policy != values["policy"]:
        raise Skip(f"it is here already, with policy {group.policy}.")
    wanted = [*dict.fromkeys(map(normal, document["members"]))]
    present = {server.uuid: server for server in session.scalars(select(Server).where(Server.uuid.in_(wanted)))}
    of_server = select(ServerGroupMember.server_id, ServerGroupMember.group_id)
    ids = [server.id for server in present.values()]
    groups = {server: of for server, of in session.execute(of_server.where(ServerGroupMember.server_id.in_(ids)))}
    lines = []
    if missing := [uuid for uuid in wanted if uuid not in present]:
        lines.append(f"server group {values['uuid']}: these members are no servers here: {', '.join(missing)}.")
    if elsewhere := [uuid for uuid, each in present.items() if groups.get(each.id, group.id) != group.id]:
        lines.append(f"server group {values['uuid']}: these members are in another one: {', '.join(elsewhere)}.")
    if new := [server for server in present.values() if server.id not in groups]:
        server_groups.add(session, group, new)
    remarks += [line for line in lines if line not in remarks]  # the transaction may run several times
    return is_new
