"""Mutants of nodes: reservations, versions of rows, allocations."""

from tests.mutants.mutant import Mutant

RACES = "functional/test_lost_races.py"
LOCKED = "functional/baremetal/test_locked_nodes.py"
WAITING = "functional/baremetal/test_waiting_allocations.py"
ALLOCATIONS = "functional/baremetal/test_allocations.py"
STEPS = "functional/baremetal/test_step_rules.py"

_REQUIRED = "    nodes.require_unlocked(node)\n"


def _reservation(name: str, file: str, text: str, tests: str) -> Mutant:
    """The check of the reservation is left out of ``text``."""
    return Mutant(
        f"reservation-{name}", f"baremetal/{file}.py", text, text.replace("nodes.require_unlocked(node)", "pass"), tests
    )


MUTANTS = (
    Mutant(
        "traits-of-an-instance",
        "baremetal/provisioning/validation.py",
        "    if missing:\n",
        "    if False:\n",
        "functional/compute/test_booting.py::test_a_machine_that_is_not_fit_for_it_is_not_claimed",
    ),
    Mutant(
        "reservation",
        "baremetal/nodes/nodes.py",
        "    if node.reservation is not None:\n",
        "    if False:\n",
        "functional/baremetal/test_node_show.py::test_a_node_that_is_locked_cannot_be_changed",
    ),
    Mutant(
        "reservation-changes-of-parts",
        "baremetal/nodes/nodes.py",
        "    require_unlocked(node)\n    return node",
        "    return node",
        "functional/baremetal/test_ports.py::test_a_locked_node_keeps_its_ports",
    ),
    _reservation(
        "patch",
        "nodes/node_update",
        _REQUIRED,
        "functional/baremetal/test_node_show.py::test_a_node_that_is_locked_cannot_be_changed",
    ),
    _reservation(
        "power",
        "hardware/power",
        _REQUIRED,
        "functional/baremetal/test_states.py::test_power_is_refused_while_cleaning_or_locked_or_forbidden",
    ),
    _reservation(
        "provision",
        "provisioning/provision",
        f"{_REQUIRED}    if node.maintenance and",
        "functional/baremetal/test_provision_refusals.py::test_nodes_that_are_not_fit_for_it",
    ),
    _reservation(
        "resume",
        "provisioning/provision",
        f"{_REQUIRED}    work_queue.request(session, node, owner, RESUME",
        f"{LOCKED}::test_an_inspection_does_not_go_on",
    ),
    _reservation(
        "agent-token",
        "inspection/agents",
        f"{_REQUIRED}    token =",
        "functional/baremetal/test_agents.py::test_a_token_is_not_made_while_a_conductor_is_at_work",
    ),
    _reservation(
        "first-heartbeat",
        "inspection/agents",
        f"{_REQUIRED}    waits",
        "functional/baremetal/test_agents.py::test_heartbeats_while_a_conductor_is_at_work",
    ),
    _reservation("portgroup", "network/portgroups", _REQUIRED, f"{LOCKED}::test_nothing_is_moved_to_it"),
    _reservation("port", "network/ports", _REQUIRED, f"{LOCKED}::test_nothing_is_moved_to_it"),
    _reservation("volume", "network/volume", _REQUIRED, f"{LOCKED}::test_nothing_is_moved_to_it"),
    _reservation("vendor", "hardware/vendor_passthru", _REQUIRED, f"{LOCKED}::test_no_method_of_its_vendor_is_called"),
    _reservation("backfill", "allocations/allocation_claim", _REQUIRED, f"{LOCKED}::test_no_allocation_is_made_for_it"),
    _reservation(
        "deallocate", "allocations/allocations", _REQUIRED, f"{ALLOCATIONS}::test_when_an_allocation_may_be_deleted"
    ),
    _reservation(
        "discovery",
        "inspection/discovery",
        _REQUIRED,
        f"{LOCKED}::test_a_machine_that_was_enrolled_by_itself_is_not_looked_at_twice_at_once",
    ),
    # Allocations
    Mutant(
        "allocation-locked",
        "baremetal/allocations/allocation_choice.py",
        "fitting.where(lock_check(counts=True).holds)",
        "fitting",
        f"{ALLOCATIONS}::test_a_node_at_which_a_conductor_works_is_waited_for",
    ),
    Mutant(
        "allocation-free",
        "baremetal/allocations/allocation_choice.py",
        ".where(INVENTORIES.c.resource_class_id == class_id, INVENTORIES.c.free == 1)\n        .where(*wanted",
        ".where(INVENTORIES.c.resource_class_id == class_id)\n        .where(*wanted",
        f"{ALLOCATIONS}::test_a_node_claimed_in_placement_is_not_allocated_by_its_name_either",
    ),
    Mutant(
        "allocation-changed-meanwhile",
        "baremetal/allocations/allocation_choice.py",
        'raise StaleDataError("the nodes that fit are being changed by others")',
        "pass",
        f"{RACES}::test_nodes_that_others_are_just_taking_are_no_reason_to_fail",
    ),
    Mutant(
        "allocation-of-a-consumer",
        "baremetal/allocations/allocation_claim.py",
        "    if found is not None:\n        raise UuidOfClaim",
        "    if False:\n        raise UuidOfClaim",
        f"{ALLOCATIONS}::test_a_consumer_of_that_uuid_that_holds_something_is_left_alone",
    ),
    Mutant(
        "backfill-of-anothers-node",
        "baremetal/allocations/allocation_claim.py",
        '        raise NodeAllocated(node=node.uuid, consumer=", ".join(holders))',
        "        pass",
        f"{ALLOCATIONS}::test_backfill_of_what_somebody_else_has",
    ),
    Mutant(
        "backfill-of-an-instance",
        "baremetal/allocations/allocation_claim.py",
        "        raise NodeAssociated(node=node.uuid, instance=node.instance_uuid)",
        "        pass",
        f"{ALLOCATIONS}::test_backfill_of_a_node_with_another_instance",
    ),
    Mutant(
        "cancel-while-decided",
        "baremetal/allocations/placing.py",
        " and not pending_claims.leave(session, allocation.uuid):",
        " and pending_claims.leave(session, allocation.uuid) is None:",
        f"{WAITING}::test_one_that_gets_a_node_just_now_is_not_deleted_without_it",
    ),
    Mutant(
        "waiting-for-the-impossible",
        "baremetal/allocations/placing.py",
        " and (found is None or found.verdict is not Verdict.IMPOSSIBLE):",
        ":",
        f"{WAITING}::test_what_is_impossible_fails_at_once",
    ),
    Mutant(
        "waiting-consumer",
        "baremetal/allocations/placing.py",
        "    nodes.require_instance_free(session, allocation.uuid, node.uuid)\n    allocation_claim.claim(",
        "    allocation_claim.claim(",
        f"{WAITING}::test_a_consumer_of_its_uuid_that_holds_something_makes_it_fail",
    ),
    Mutant(
        "deallocate-in-use",
        "baremetal/allocations/allocations.py",
        "        _require_idle(node, allocation)\n",
        "        pass\n",
        f"{ALLOCATIONS}::test_when_an_allocation_may_be_deleted",
    ),
    Mutant(
        "instance-of-another-node",
        "baremetal/nodes/nodes.py",
        "    records.require_free(session, Node.instance_uuid, instance_uuid, taken)",
        "    pass",
        "functional/baremetal/test_node_patch.py::test_names_and_instances_are_taken_once",
    ),
    Mutant(
        "withdraw-allocated",
        "baremetal/provider/projection.py",
        "    if consumers and not force:",
        "    if False:",
        "functional/baremetal/test_node_show.py::test_delete_is_refused_with_an_instance_or_an_allocation",
    ),
    Mutant(
        "step-rule",
        "baremetal/api/provisioning/step_rules.py",
        "    if refused:\n",
        "    if False:\n",
        f"{STEPS}::test_every_refused_step_is_named_once",
    ),
    Mutant(
        "step-rule-of-runbook",
        "baremetal/api/provisioning/provision.py",
        "    if runbook.owner is not None and not runbook.public:\n",
        "    if False:\n",
        f"{STEPS}::test_runbooks_of_a_project_are_asked_about_when_they_are_used",
    ),
    Mutant(
        "delete-in-use",
        "baremetal/nodes/nodes.py",
        "        if node.provision_state not in allowed:",
        "        if False:",
        "functional/baremetal/test_node_show.py::test_delete_is_refused_in_most_states",
    ),
    Mutant(
        "withdrawal-lock",
        "baremetal/provider/projection.py",
        "    projected.lock(session, node.uuid)\n",
        "",
        "races/test_doors.py::test_a_deletion_asks_who_has_the_node_when_nobody_can_claim_it_any_more",
        server="postgresql",
    ),
    Mutant(
        "withdrawal-in-use",
        "placement/tree.py",
        "() if force else (Inventory.used == 0,)",
        "()",
        f"{RACES}::test_a_node_that_was_claimed_meanwhile_is_deleted_only_in_maintenance",
    ),
    Mutant(
        "withdrawal-row-count",
        "placement/tree.py",
        'raise StaleDataError("what was to be removed is in use")',
        "pass",
        f"{RACES}::test_a_node_that_was_claimed_meanwhile_is_deleted_only_in_maintenance",
    ),
    Mutant(
        "allocation-of-node",
        "baremetal/allocations/allocations.py",
        "    if node.allocation_uuid != allocation.uuid:\n",
        "    if False:\n",
        "races/test_doors.py::test_the_deletion_of_an_allocation_spares_the_next",
        server="postgresql",
    ),
    Mutant(
        "allocation-traits",
        "baremetal/allocations/allocation_claim.py",
        "    if not all(entry.fits(present) for entry in wanted):\n",
        "    if False:\n",
        f"{RACES}::test_a_node_whose_traits_were_changed_meanwhile_is_not_allocated",
    ),
)
