"""The table of provision states."""

import pytest
from automaton.exceptions import NotFound

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.state_machine import TABLE, TRANSIENT, VERBS
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states


def node(state: str, target: str | None = None) -> Node:
    return Node(provision_state=state, target_provision_state=target)


def test_every_state_of_the_table_is_one_that_the_api_knows() -> None:
    assert {*TABLE, *(after for events in TABLE.values() for after in events.values())} <= states.PROVISION_STATES


def test_every_state_can_be_left_and_every_busy_one_can_fail() -> None:
    assert all(TABLE.values())
    busy = {*TRANSIENT, *state_machine.WAITING, *state_machine.HELD}
    assert {state for state in TABLE if state_machine.can_fail(state)} == busy
    assert busy.isdisjoint(state_machine.STABLE)


def test_a_stable_state_has_no_target() -> None:
    for state, events in TABLE.items():
        for event, after in events.items():
            one = node(state, "active")
            state_machine.move(one, event)
            assert one.provision_state == after
            assert (one.target_provision_state is None) == (after in state_machine.STABLE)
            assert one.provision_updated_at is not None


def test_a_target_is_kept_while_the_work_goes_on() -> None:
    one = node(states.MANAGEABLE)
    state_machine.move(one, "clean", target=states.MANAGEABLE)
    for event in ("wait", "hold", "unhold", "resume", "fail"):
        state_machine.move(one, event)
        assert one.target_provision_state == states.MANAGEABLE
    assert one.provision_state == states.CLEANFAIL


def test_failing(subtests: pytest.Subtests) -> None:
    for state, failed in [
        (states.VERIFYING, states.ENROLL),
        (states.CLEANING, states.CLEANFAIL),
        (states.INSPECTING, states.INSPECTFAIL),
        (states.ADOPTING, states.ADOPTFAIL),
        (states.DEPLOYING, states.DEPLOYFAIL),
        (states.DELETING, states.ERROR),
        (states.RESCUING, states.RESCUEFAIL),
        (states.UNRESCUING, states.UNRESCUEFAIL),
        (states.SERVICING, states.SERVICEFAIL),
    ]:
        with subtests.test(state=state):
            one = node(state)
            state_machine.fail(one, "because")
            assert (one.provision_state, one.last_error) == (failed, "because")


def test_what_leads_nowhere() -> None:
    assert not state_machine.accepts("deleted", "manage")
    assert not state_machine.accepts(states.ENROLL, VERBS["provide"].event)
    one = node(states.ENROLL)
    with pytest.raises(NotFound):
        state_machine.move(one, "provide")
    assert one.provision_state == states.ENROLL
