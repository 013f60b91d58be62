"""Mutants of work: who does it, and who may write what came of it."""

from tests.mutants.mutant import Mutant

WORK = "functional/conductor/test_who_works.py"
ORPHANS = "functional/conductor/test_orphans.py"
POWER = "functional/conductor/test_power_sync.py"
HOST_NAME = "functional/conductor/test_host_name.py"

MUTANTS = (
    Mutant(
        "host-name-taken-once",
        "baremetal/conductors.py",
        ".where(Conductor.hostname == hostname, Conductor.heartbeat_at == seen)\n",
        ".where(Conductor.hostname == hostname)\n",
        f"{HOST_NAME}::test_of_two_that_start_together_one_stays",
    ),
    Mutant(
        "work-claimed-once",
        "conductor/job.py",
        "NodeWork.conductor == conductor, NodeWork.claimed_by.is_(None))\n",
        "NodeWork.conductor == conductor)\n",
        f"{WORK}::test_work_that_two_processes_of_one_name_find_is_done_by_one",
    ),
    Mutant(
        "work-claimed-by-this-process",
        "conductor/job.py",
        "NodeWork.id.in_(ids), NodeWork.claimed_by == process)))",
        "NodeWork.id.in_(ids))))",
        f"{WORK}::test_work_that_two_processes_of_one_name_find_is_done_by_one",
    ),
    Mutant(
        "work-claimed-by-its-conductor",
        "conductor/job.py",
        ".where(NodeWork.id.in_(ids), NodeWork.conductor == conductor, NodeWork",
        ".where(NodeWork.id.in_(ids), NodeWork",
        f"{WORK}::test_work_that_was_handed_over_meanwhile_is_not_begun",
    ),
    Mutant(
        "work-found-by-others",
        "conductor/job.py",
        "                    or_(NodeWork.claimed_by.is_(None), NodeWork.claimed_by == process),\n",
        "",
        f"{WORK}::test_what_others_do_does_not_keep_a_process_from_finding_work",
    ),
    Mutant(
        "work-led",
        "conductor/job.py",
        "                    NodeWork.kind != work.LED,\n",
        "",
        "functional/conductor/test_power_of_relatives.py::test_what_is_done_along_with_other_work_is_not_begun_twice",
    ),
    Mutant(
        "work-suspended",
        "conductor/job.py",
        "self.settings.conductor.heartbeat_timeout / 2:",
        "self.settings.conductor.heartbeat_timeout * 9:",
        f"{ORPHANS}::test_who_was_suspended_before_a_step_looks_again_whether_the_work_is_his",
    ),
    Mutant(
        "work-written-twice",
        "conductor/job.py",
        "if writes is not None and self.read(",
        "if writes is None and self.read(",
        f"{ORPHANS}::test_a_write_whose_answer_was_lost_is_not_made_twice",
    ),
    Mutant(
        "work-handed-over-unbegun",
        "baremetal/work.py",
        ".where(NodeWork.id == work_id, NodeWork.claimed_by.is_(None)).with_for_update()",
        ".where(NodeWork.id == work_id).with_for_update()",
        f"{WORK}::test_work_that_was_begun_meanwhile_is_not_handed_over",
    ),
    Mutant(
        "work-held",
        "baremetal/work.py",
        "if work is None or work.conductor != conductor:",
        "if work is None:",
        f"{WORK}::test_who_has_handed_work_over_writes_nothing_more",
    ),
    Mutant(
        "work-of-another-node",
        "baremetal/work.py",
        "        raise NodeLocked(node=node.uuid, host=node.reservation)",
        "        pass",
        "functional/conductor/test_power_of_relatives.py::test_a_locked_parent_keeps_its_child_off",
    ),
    Mutant(
        "work-taken-away",
        "baremetal/work.py",
        "        session.execute(delete(NodeWork).where(NodeWork.node_id == node_id))\n",
        "",
        f"{ORPHANS}::test_a_conductor_that_wakes_up_too_late_writes_nothing",
    ),
    Mutant(
        "work-taken-away-from-the-dead",
        "baremetal/work.py",
        "select(Node).where(Node.id == node_id, condition)",
        "select(Node).where(Node.id == node_id)",
        f"{WORK}::test_who_lives_again_keeps_its_nodes",
    ),
    Mutant(
        "orphan-heartbeat",
        "baremetal/releasing.py",
        "Conductor.hostname == Node.reservation, Conductor.heartbeat_at <= epoch() - timeout",
        "Conductor.hostname == Node.reservation",
        f"{ORPHANS}::test_who_lives_or_stops_in_peace_is_left_alone",
    ),
    Mutant(
        "fail-unreserved",
        "baremetal/releasing.py",
        "Node.id == node_id, Node.reservation.is_(None), condition)",
        "Node.id == node_id, condition)",
        f"{WORK}::test_a_node_that_is_worked_on_is_not_failed",
    ),
    Mutant(
        "fail-still-late",
        "baremetal/releasing.py",
        "Node.id == node_id, Node.reservation.is_(None), condition)",
        "Node.id == node_id, Node.reservation.is_(None))",
        f"{WORK}::test_a_node_that_was_heard_of_meanwhile_is_not_failed",
    ),
    Mutant(
        "waiting-late",
        "conductor/waiting.py",
        ", Node.provision_updated_at <= since)",
        ")",
        f"{ORPHANS}::test_a_node_that_waits_too_long_has_failed",
    ),
    Mutant(
        "orphan-unbegun",
        "conductor/orphans.py",
        "NodeWork.node_id == Node.id, NodeWork.claimed_by.is_(None))",
        "NodeWork.node_id == Node.id)",
        f"{ORPHANS}::test_a_power_action_of_a_dead_conductor_is_aborted",
    ),
    Mutant(
        "stop-of-one-of-two-processes",
        "conductor/orphans.py",
        "and_(Node.reservation == host.name, ~of_another.exists())",
        "Node.reservation == host.name",
        f"{WORK}::test_a_process_that_stops_leaves_the_work_of_another_of_its_name_alone",
    ),
    Mutant(
        "take-over-still-so",
        "conductor/local_state.py",
        "update(Node).where(Node.id.in_(chunk), foreign)",
        "update(Node).where(Node.id.in_(chunk))",
        f"{WORK}::test_a_node_that_is_worked_on_meanwhile_is_not_taken_over",
    ),
    Mutant(
        "power-changed-meanwhile",
        "conductor/power_sync.py",
        ".where(Node.id == node_id, Node.revision == revision, condition)",
        ".where(Node.id == node_id, condition)",
        f"{POWER}::test_a_node_that_was_changed_while_its_machine_was_asked_is_left_alone",
    ),
    Mutant(
        "power-reserved",
        "conductor/power_sync.py",
        "and_(condition, Node.reservation.is_(None), ",
        "and_(condition, ",
        f"{POWER}::test_a_node_that_was_reserved_meanwhile_is_not_asked",
    ),
    Mutant(
        "conductor-holds-nodes",
        "baremetal/conductors.py",
        "epoch() - after, ~holds)",
        "epoch() - after)",
        f"{ORPHANS}::test_conductors_long_gone_are_forgotten",
    ),
    Mutant(
        "conductor-forgotten",
        "baremetal/conductors.py",
        "online=online)\n    )\n    return bool(rows_changed(result))",
        "online=online)\n    )\n    return True",
        f"{WORK}::test_a_conductor_whose_entry_is_gone_registers_again",
    ),
)
