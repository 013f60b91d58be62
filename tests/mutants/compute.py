"""Mutants of servers: which machine they get, what they hold, and that node and server are never found apart."""

from tests.mutants.mutant import Mutant

BOOTING = "functional/compute/test_booting.py"
NODES = "functional/compute/test_servers_and_nodes.py"
REBUILDING = "functional/compute/test_rebuilding.py"
SERVERS = "functional/compute/test_servers.py"
TENANTS = "functional/compute/test_tenants.py"
WAITING = "functional/compute/test_waiting_servers.py"

MUTANTS = (
    Mutant(
        "server-host-conditions",
        "compute/hosts/host_choice.py",
        "            Node.reservation.is_(None),\n            *clauses,\n",
        "            Node.reservation.is_(None),\n",
        f"{BOOTING}::test_a_machine_that_goes_out_of_service_meanwhile",
    ),
    Mutant(
        "server-host-reservation",
        "compute/hosts/host_choice.py",
        "            Node.reservation.is_(None),\n",
        "",
        f"{BOOTING}::test_a_machine_that_a_conductor_works_on_is_not_taken",
    ),
    Mutant(
        "server-host-taken",
        "compute/hosts/host_choice.py",
        '            raise StaleDataError("the machines that fit are being taken by others")\n',
        "            return None\n",
        f"{BOOTING}::test_machines_that_others_are_about_to_take",
        server="postgresql",
    ),
    Mutant(
        "server-host-of-others",
        "compute/hosts/host_choice.py",
        "return () if self.project is None else (usable_by(self.project),)",
        "return ()",
        f"{TENANTS}::test_a_server_gets_no_node_of_another_project",
    ),
    Mutant(
        "server-rule-of-its-project",
        "compute/api/call.py",
        '            self.require(rule, {"project_id": project_id})\n',
        "            pass\n",
        f"{TENANTS}::test_rules_are_asked_about_the_project_of_the_server {TENANTS}::test_quotas_of_other_projects",
    ),
    Mutant(
        "server-no-project",
        "compute/api/call.py",
        '        return fallback if self.is_admin else ""\n',
        "        return fallback\n",
        f"{TENANTS}::test_who_has_no_project_has_nothing_of_the_project_of_the_settings",
    ),
    Mutant(
        "server-marker-of-others",
        "db/paging.py",
        "    within = () if page.within is None else (page.within,)\n",
        "    within = ()\n",
        f"{TENANTS}::test_markers_of_others_are_not_known",
    ),
    Mutant(
        "image-rule-of-the-image",
        "image/images.py",
        "    require(requester, rule, image, doing)\n",
        "",
        "functional/image/test_api.py::test_who_may_do_what",
    ),
    Mutant(
        "server-claim-completed",
        "compute/hosts/host_choice.py",
        '    claim.setdefault(node.uuid, {}).setdefault(projection.resource_class_of(node.resource_class or ""), 1)\n',
        "",
        f"{BOOTING}::test_a_flavor_of_children_only_takes_the_machine_too",
    ),
    Mutant(
        "server-claim-given-back",
        "compute/hosts/node_changes.py",
        "    release_claim(session, server)\n    if server.task",
        "    if server.task",
        f"{NODES}::test_undeploying_in_the_bare_metal_api_leaves_an_error_and_no_claim",
    ),
    Mutant(
        "server-instance-taken",
        "compute/hosts/node_changes.py",
        "            raise ServerHasMachine(server=before)\n",
        "            pass\n",
        f"{NODES}::test_the_bare_metal_api_takes_no_instance_off_a_server_and_gives_it_to_no_other_node",
    ),
    Mutant(
        "server-instance-given",
        "compute/hosts/node_changes.py",
        "        raise ServerHasMachine(server=after)\n",
        "        pass\n",
        f"{NODES}::test_the_bare_metal_api_takes_no_instance_off_a_server_and_gives_it_to_no_other_node",
    ),
    Mutant(
        "server-tried-nodes",
        "compute/servers/follow_up.py",
        "    server.tried_nodes = [*server.tried_nodes, failed.uuid]\n",
        "",
        f"{BOOTING}::test_no_more_machines_are_tried_than_the_setting_says",
    ),
    Mutant(
        "server-all-or-none",
        "compute/hosts/booting.py",
        "            savepoint.rollback()\n",
        "            savepoint.commit()\n",
        f"{BOOTING}::test_all_of_several_servers_or_none",
    ),
    Mutant(
        "server-rebuild-traits",
        "compute/servers/server_operations.py",
        "        raise MachineLacksTraits(",
        "        MachineLacksTraits(",
        f"{REBUILDING}::test_only_providers_that_the_server_holds_count",
    ),
    Mutant(
        "server-names-its-machine",
        "compute/api/edge.py",
        "        if is_of_machine(error) and ",
        "        if False and ",
        "functional/compute/test_unnamed_machines.py::test_a_refusal_still_says_what_is_wrong",
    ),
    Mutant(
        "server-lock",
        "compute/servers/server_operations.py",
        "    if server.locked and not is_admin:\n",
        "    if False:\n",
        f"{SERVERS}::test_who_owns_a_server",
    ),
    Mutant(
        "server-project",
        "compute/servers/servers.py",
        "        query = query.where(Server.project_id == project)\n    server:",
        "        pass\n    server:",
        f"{SERVERS}::test_who_owns_a_server",
    ),
    Mutant(
        "boot-changed-machine",
        "compute/hosts/booting.py",
        "        if not _fits(context, server, node):\n",
        "        if False:\n",
        "races/test_parents.py::test_a_machine_is_given_to_what_was_asked_for",
        server="postgresql",
    ),
    Mutant(
        "waiting-server-handed-over",
        "compute/servers/servers.py",
        '        raise StaleDataError("the server was given a node")\n',
        "        pass\n",
        f"{WAITING}::test_a_deletion_that_meets_a_hand_over_begins_again",
    ),
    Mutant(
        "waiting-server-deleted",
        "compute/servers/servers.py",
        "        if server.task == server_states.SCHEDULING:\n",
        "        if False:\n",
        f"{WAITING}::test_a_waiting_server_is_deleted_at_once",
    ),
    Mutant(
        "waiting-server-tried-nodes",
        "compute/servers/waiting_servers.py",
        "    server.tried_nodes = [*server.tried_nodes, node]\n",
        "",
        f"{WAITING}::test_a_node_on_which_it_cannot_begin_is_left_to_others",
    ),
    Mutant(
        "waiting-server-deadline",
        "compute/servers/waiting_servers.py",
        "    if server.wait_until <= (context.session.scalar(select(epoch())) or 0.0):\n        return False\n",
        "",
        f"{WAITING}::test_a_server_does_not_wait_again_without_another_machine_or_after_its_time",
    ),
    Mutant(
        "waiting-server-impossible",
        "compute/hosts/booting.py",
        "    waits = reason is not None and reason.passes and servers[0].wait_until is not None\n",
        "    waits = reason is not None and servers[0].wait_until is not None\n",
        f"{WAITING}::test_what_could_never_fit_is_in_error_at_once",
    ),
)
