"""States of servers, as a function of the node and of what was asked."""

import pytest

from baremetal_sched.compute import server_states
from baremetal_sched.compute.server_states import NodeState, ServerState, require_accepted, state_of
from baremetal_sched.errors.compute import ServerStateRefused
from baremetal_sched.machines import states

ON, OFF = states.POWER_ON, states.POWER_OFF


def test_status_and_task(subtests: pytest.Subtests) -> None:
    for task, after, node, status, task_state in [
        (None, None, None, "ERROR", None),
        ("spawning", None, NodeState("available", ON), "BUILD", "spawning"),
        ("spawning", None, NodeState("deploying", ON), "BUILD", "spawning"),
        ("spawning", None, NodeState("wait call-back", ON), "BUILD", "spawning"),
        ("spawning", None, NodeState("deploy failed", ON), "BUILD", "spawning"),
        (None, None, NodeState("adopting", ON), "BUILD", "spawning"),
        (None, None, NodeState("available", ON), "ERROR", None),
        (None, None, NodeState("active", ON), "ACTIVE", None),
        (None, None, NodeState("active", None), "ACTIVE", None),
        (None, None, NodeState("active", OFF), "SHUTOFF", None),
        (None, None, NodeState("active", OFF, ON), "SHUTOFF", "powering-on"),
        (None, None, NodeState("active", ON, OFF), "ACTIVE", "powering-off"),
        ("rebooting", None, NodeState("active", ON, ON), "REBOOT", "rebooting"),
        ("rebooting_hard", None, NodeState("active", ON, ON), "HARD_REBOOT", "rebooting_hard"),
        ("rebooting", None, NodeState("active", ON), "ACTIVE", None),
        ("rebuilding", ON, NodeState("deploying", ON), "REBUILD", "rebuild_spawning"),
        ("rebuilding", OFF, NodeState("deploying", OFF), "REBUILD", "rebuild_spawning"),
        (None, None, NodeState("deploying", ON), "REBUILD", "rebuild_spawning"),
        (None, None, NodeState("deploy failed", ON), "ERROR", None),
        ("deleting", None, NodeState("deploying", ON), "BUILD", "deleting"),
        ("deleting", None, NodeState("active", ON), "ACTIVE", "deleting"),
        (None, None, NodeState("deleting", OFF), "SHUTOFF", "deleting"),
        (None, None, NodeState("error", ON), "ERROR", None),
        (None, None, NodeState("clean failed", ON), "ERROR", None),
        ("rescuing", None, NodeState("rescuing", ON), "ACTIVE", "rescuing"),
        (None, None, NodeState("rescue wait", ON), "ACTIVE", "rescuing"),
        (None, None, NodeState("rescue", ON), "RESCUE", None),
        (None, None, NodeState("unrescuing", ON), "RESCUE", "unrescuing"),
        (None, None, NodeState("rescue failed", ON), "ERROR", None),
        (None, None, NodeState("servicing", ON), "ACTIVE", None),
    ]:
        with subtests.test(task=task, after=after, node=node):
            state = state_of(task, after, node)
            assert (state.status, state.task_state) == (status, task_state)


def test_power(subtests: pytest.Subtests) -> None:
    for power, number in [(ON, 1), (OFF, 4), (None, 0), ("error", 0), ("rebooting", 0)]:
        with subtests.test(power=power):
            assert state_of(None, None, NodeState("active", power)).power_state == number


def test_every_provision_state_has_a_status() -> None:
    for provision_state in states.PROVISION_STATES:
        for task in (None, server_states.SPAWNING, server_states.REBUILDING, server_states.DELETING):
            assert state_of(task, None, NodeState(provision_state, ON)).status in {
                "BUILD", "REBUILD", "ACTIVE", "SHUTOFF", "RESCUE", "ERROR",
            }  # fmt: skip


def test_which_action_from_which_state(subtests: pytest.Subtests) -> None:
    for action, accepted in [
        ("start", {"stopped"}),
        ("stop", {"active", "error"}),
        ("reboot", {"active"}),
        ("reboot_hard", {"active", "stopped", "error"}),
        ("rebuild", {"active", "stopped", "error"}),
        ("rescue", {"active", "stopped", "error"}),
        ("unrescue", {"rescued"}),
    ]:
        with subtests.test(action=action):
            for vm_state in ("active", "stopped", "error", "rescued", "building"):
                state = ServerState(vm_state)
                if vm_state in accepted:
                    require_accepted(action, "s", state)
                    with pytest.raises(ServerStateRefused, match="task_state deleting"):
                        require_accepted(action, "s", ServerState(vm_state, "deleting"))
                else:
                    with pytest.raises(ServerStateRefused, match=f"vm_state {vm_state}"):
                        require_accepted(action, "s", state)


def test_a_reboot_of_one_that_is_being_rebooted() -> None:
    require_accepted("reboot_hard", "s", ServerState("active", "rebooting"))
    with pytest.raises(ServerStateRefused):
        require_accepted("reboot", "s", ServerState("active", "rebooting"))
