"""The actions that each provision state allows: changes, deletion, verbs."""

import pytest

from baremetal_sched.baremetal.state_machine import TABLE, VERBS
from baremetal_sched.machines import states
from tests.functional.baremetal.provisioning import ask, put_into
from tests.restored import Rows
from tests.service import Service, fault


@pytest.fixture
def uuid(service: Service) -> str:
    return service.add_node("n1", resource_class="rc1", power=False)


def test_what_each_state_allows(service: Service, uuid: str, row: Rows) -> None:
    """Interfaces and classes only where nothing depends on them; on the way somewhere, only where work has stopped."""
    for state in sorted(states.PROVISION_STATES):
        with row(state):
            idle = state in ("enroll", "inspecting", "inspect wait", "manageable", "available")
            stopped = state.endswith(" failed") or state in ("inspect wait", "error", "verifying", "service hold")
            for target, version, changes in (
                (None, "1.115", True),
                ("active", "1.115", stopped),
                ("active", "1.38", stopped or state == "inspecting"),
            ):
                before = {"deploy_interface": "fake", "resource_class": "rc1"}
                service.set_columns(uuid, provision_state=state, target_provision_state=target, **before)
                for operation, allowed in (
                    (("add", "/extra/a", f"{version} {target}"), changes),
                    (("add", "/deploy_interface", "noop"), changes and idle),
                    (("add", "/resource_class", "rc9"), changes and idle),
                ):
                    service.patch(uuid, operation, version=version, status=200 if allowed else 409)
            service.set_columns(uuid, target_provision_state=None)
            service.patch(uuid, ("add", "/protected", True), status=200 if state in ("active", "rescue") else 409)
            service.patch(uuid, ("add", "/retired", True), status=409 if state == "available" else 200)


def test_states_in_which_a_node_can_be_deleted(service: Service, row: Rows) -> None:
    for state in sorted(states.PROVISION_STATES):
        with row(state):
            allowed = state in ("manageable", "enroll", "adopt failed", "available")
            for maintenance in (False, True):
                uuid = service.add_node(power=False)
                service.set_columns(uuid, provision_state=state, maintenance=maintenance)
                service.baremetal("DELETE", f"/nodes/{uuid}", status=204 if allowed or maintenance else 409)


def test_every_verb_that_a_state_does_not_take(service: Service, uuid: str) -> None:
    """400 with the reason, or 409 at once if a conductor is at work; and nothing is changed."""
    for state, events in TABLE.items():
        put_into(service, uuid, state, reservation=None)
        refused = [verb for verb, known in VERBS.items() if known.event not in events]
        for verb in (*refused, "bogus", "", None):
            action = "deploy" if verb == "active" else verb
            message = f'The requested action "{action}" can not be performed on node "{uuid}" while it is in state'
            assert fault(ask(service, verb, status=400)).startswith(f'{message} "{state}". ')
        put_into(service, uuid, state, reservation="c1")
        assert "locked by host c1" in fault(ask(service, refused[0], status=409))
        assert service.node(uuid)["provision_state"] == state
