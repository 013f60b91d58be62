"""A value that cannot be decrypted is shown masked; work that needs it fails, and says why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import String, select, type_coerce, update

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.drivers.fake.hardware import FakePower
from baremetal_sched.errors import SecretsUnreadable
from baremetal_sched.masking import MASK
from tests.functional.secrets_at_rest.story import DOCUMENT, SECRET, SHOWING, dump, leaks, new_key, stored, write_keys
from tests.service import Service, fault

pytestmark = pytest.mark.shows_secrets


def test_a_process_without_the_key(serve: Callable[..., Service], key_file: Path, tmp_path: Path) -> None:
    """It shows the row masked, and does the rest for other rows. An operation that needs the secrets says which key is
    missing."""
    serve(key_file).add_node("n1", power=False, driver_info=DOCUMENT)
    other = tmp_path / "other"
    write_keys(other, new_key())
    for path in (None, other):
        without = serve(path, SHOWING)
        name = f"n{'b' if path else 'a'}"
        without.add_node(name, driver_info={"ipmi_address": "192.0.2.2"})
        shown = without.node("n1")["driver_info"]
        assert (shown["ipmi_password"], shown["ipmi_address"]) == (MASK, "192.0.2.1")
        assert len(without.baremetal("GET", "/nodes/detail").json["nodes"]) == (3 if path else 2)
        for operations in ([("add", "/driver_info/x", 1)], [("add", "/extra/a", 1)]):
            answer = without.patch("n1", *operations, status=503)
            assert "secrets_key_file" in fault(answer)
        without.baremetal("PUT", f"/nodes/{name}/states/power", {"target": "power off"})
        without.work()
        assert without.node(name)["power_state"] == "power off"
    serve(key_file, SHOWING).patch("n1", ("add", "/extra/a", 1))
    without = serve()
    without.patch("n1", ("replace", "/driver_info", {"ipmi_password": "other"}))
    assert without.database.read(lambda session: nodes.find(session, "n1").driver_info) == {"ipmi_password": "other"}


def test_work_of_a_conductor_without_the_key(
    serve: Callable[..., Service], key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails, says why, and frees the node; what was stored stays."""
    serve(key_file).add_node("n1", power=False, driver_info=DOCUMENT)
    without = serve()
    before = dump(without)["nodes"]

    def validate(self: Any, machine: Any) -> None:
        machine.driver_info["ipmi_address"]

    monkeypatch.setattr(FakePower, "get_power_state", lambda self, machine: validate(self, machine))
    monkeypatch.setattr(FakePower, "set_power_state", lambda self, machine, *more: validate(self, machine))
    without.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"})
    without.work()
    monkeypatch.setattr(FakePower, "validate", validate)
    assert without.node("n1")["reservation"] is None
    assert "secrets_key_file" in without.node("n1")["last_error"]
    validated = without.baremetal("GET", "/nodes/n1/validate").json["power"]
    assert "secrets_key_file" in validated["reason"]
    assert before.count("~") == dump(without)["nodes"].count("~")
    assert serve(key_file, SHOWING).node("n1")["driver_info"] == DOCUMENT


STATES = (
    "cleaning",
    "clean wait",
    "deploying",
    "wait call-back",
    "servicing",
    "service wait",
    "rescuing",
    "inspecting",
)


@pytest.mark.parametrize("state", STATES)
def test_a_node_whose_notes_cannot_be_read_is_freed(serve: Callable[..., Service], key_file: Path, state: str) -> None:
    service = serve(key_file)
    uuid = service.add_node("n1", power=False)
    step = {"interface": "deploy", "step": "x", "args": DOCUMENT}
    documents = {"driver_internal_info": {"agent_secret_token": SECRET, "clean_steps": [step]}, "clean_step": step}
    documents |= {"driver_info": DOCUMENT, "instance_info": DOCUMENT, "deploy_step": step, "service_step": step}
    service.set_columns(uuid, provision_state=state, target_provision_state="available", **documents)
    assert leaks(service) == []
    without = serve()

    def begin(session: Any) -> None:
        node = nodes.find_for_change(session, uuid)
        if "wait" in state:
            completion.fail(session, node, "too late")
        else:
            work_queue.request(session, node, "c1", state, {"steps": [], "priorities": None})

    without.database.write(begin)
    without.work()
    left = without.database.read(lambda session: session.scalars(select(NodeWork)).all())
    assert (without.node("n1")["reservation"], left) == (None, [])
    assert serve(key_file, SHOWING).node("n1")["driver_info"] == DOCUMENT


def test_a_ciphertext_that_was_changed(serve: Callable[..., Service], key_file: Path) -> None:
    service = serve(key_file)
    service.add_node("n1", power=False, driver_info=DOCUMENT)
    text = stored(service)
    broken = text[:40] + ("A" if text[40] != "A" else "B") + text[41:]
    service.database.write(
        lambda session: session.execute(update(Node.__table__).values(driver_info=type_coerce(broken, String())))
    )
    assert "was changed" in fault(service.patch("n1", ("add", "/driver_info/x", 1), status=503))
    assert service.node("n1")["driver_info"]["ipmi_password"] == MASK


def test_it_can_be_deleted(serve: Callable[..., Service], key_file: Path) -> None:
    serve(key_file).add_node("n1", power=False, driver_info=DOCUMENT, instance_info=DOCUMENT)
    without = serve()
    without.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "x"})
    without.baremetal("DELETE", "/nodes/n1", status=204)


def test_unreadable_documents(serve: Callable[..., Service], key_file: Path) -> None:
    serve(key_file).add_node("n1", power=False, driver_info=DOCUMENT)
    info = serve().database.read(lambda session: nodes.find(session, "n1").driver_info)
    for look in (dict, list, len, lambda found: found["x"], lambda found: found.get("x"), lambda found: "x" in found):
        with pytest.raises(SecretsUnreadable):
            look(info)
