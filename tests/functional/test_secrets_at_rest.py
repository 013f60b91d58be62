"""With ``[database] secrets_key_file`` no secret stands in the database, and nothing else is different."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import String, select, type_coerce, update

from baremetal_sched.baremetal import bios, inventory, nodes, outcomes, work
from baremetal_sched.conductor import key_check
from baremetal_sched.db import resealing, sealing
from baremetal_sched.db.models import Base, DriverCall, Node, NodeWork
from baremetal_sched.drivers.fake.power import FakePower
from baremetal_sched.drivers.fake.vendor import FakeVendor
from baremetal_sched.errors import DocumentTooLarge, SecretsUnreadable
from baremetal_sched.masking import MASK
from tests.service import Service, fault

pytestmark = pytest.mark.shows_secrets

SECRET = "hunter2hunter2"
DOCUMENT = {
    "ipmi_address": "192.0.2.1",
    "ipmi_password": SECRET,
    "deeper": [{"auth_token": SECRET}, f"password={SECRET}"],
    "kernel_append_params": f"console=ttyS0 password={SECRET} nofb",
    "redfish_address": f"https://admin:{SECRET}@192.0.2.1/redfish",
}
SETTINGS = [{"name": "AdminPassword", "value": SECRET}]
STEP = {"interface": "bios", "step": "apply_configuration", "args": {"settings": SETTINGS}}
TABLES = Base.metadata.sorted_tables
SHOWING = {"show_password": "@", "show_instance_secrets": "@"}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A file with one key."""
    path = tmp_path / "keys"
    write_keys(path, new_key())
    return path


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Makes services over one database, each with a conductor of its own."""
    made: list[Service] = []

    def make(path: Path | None = None, rules: dict[str, str] | None = None, **settings: Any) -> Service:
        if rules is not None:
            file = tmp_path / f"policy{len(made)}.json"
            file.write_text(json.dumps(rules))
            settings["oslo_policy"] = {"policy_file": str(file)}
        if path is not None:
            settings["database"] = {"secrets_key_file": str(path)}
        service = Service(database_url, **settings)
        made.append(service)
        service.add_conductor("c1")
        return service

    yield make
    for service in made:
        service.__exit__(None, None, None)


def new_key() -> str:
    return Fernet.generate_key().decode()


def write_keys(path: Path, *keys: str) -> None:
    path.touch(mode=0o600)
    path.write_text("".join(f"{key}\n" for key in keys))


def dump(service: Service) -> dict[str, str]:
    """All that the database holds, as text, by table."""
    with service.database.engine.connect() as connection:
        return {
            table.name: repr(
                connection.execute(select(*(type_coerce(column, String()) for column in table.columns))).all()
            )
            for table in Base.metadata.sorted_tables
        }


def stored(service: Service, column: Any = Node.driver_info) -> str:
    """The text in a column of the only row."""
    with service.database.engine.connect() as connection:
        return str(connection.scalar(select(type_coerce(column, String()))))


def leaks(service: Service) -> list[str]:
    return [table for table, text in dump(service).items() if SECRET in text]


def tell_a_story(service: Service, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Use every field that may have a secret; returns what the vendor's methods were given, and how requests say it."""
    uuid = service.add_node("n1", power=False, driver_info=DOCUMENT, instance_info=DOCUMENT)
    service.patch("n1", ("add", "/instance_info/image_url", f"http://images/x?signed={SECRET}"))
    service.patch("n1", ("add", "/instance_info/configdrive", SECRET))
    target = {"node_uuid": uuid, "volume_type": "iscsi", "boot_index": 0, "volume_id": "v", "properties": DOCUMENT}
    service.baremetal("POST", "/volume/targets", target)
    service.baremetal("POST", "/deploy_templates", {"name": "CUSTOM_A", "steps": [{**STEP, "priority": 1}]})
    service.baremetal("POST", "/runbooks", {"name": "CUSTOM_A", "steps": [{**STEP, "order": 1}]})
    values = {"AdminPassword": SECRET, "BootMode": "Uefi"}
    service.database.write(lambda session: bios.keep(session, nodes.find(session, uuid), values))
    found = {"cpu": {"count": 4}, "bmc": DOCUMENT}
    service.database.write(lambda session: inventory.store(session, nodes.find(session, uuid), found, {"p": DOCUMENT}))
    seen: list[str] = []
    told: list[str] = []

    def call(self: Any, machine: Any, method: str, arguments: Any, *more: Any) -> Any:
        seen.append(arguments["bar"])
        return {"password": SECRET, "said": SECRET}

    monkeypatch.setattr(FakeVendor, "call", call)
    body = {"bar": SECRET}
    assert service.baremetal("POST", "/nodes/n1/vendor_passthru/third_method_sync", body).json["said"] == SECRET
    service.baremetal("POST", "/nodes/n1/vendor_passthru/second_method", body)
    assert SECRET in str(service.database.read(lambda session: session.scalars(select(NodeWork.arguments)).all()))
    told.append(dump(service)["node_work"])
    service.work()
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"})
    service.work()
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "clean", "clean_steps": [STEP]})
    return seen, told


def test_no_secret_in_any_table(serve: Callable[..., Service], key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = serve(key_file)
    seen, told = tell_a_story(service, monkeypatch)
    # The work on it is requested, and has the arguments of its step.
    assert (leaks(service), "~" in dump(service)["node_work"]) == ([], True)
    service.work()
    assert leaks(service) == []
    assert (seen, SECRET in str(told), "~" in str(told)) == ([SECRET, SECRET], False, True)
    assert service.steps_done(service.node("n1")["uuid"]) == ["bios.apply_configuration"]
    assert service.node("n1")["provision_state"] == "manageable"


def test_without_a_key_they_do(serve: Callable[..., Service], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above looks for can be found."""
    service = serve()
    tell_a_story(service, monkeypatch)
    expected = {"nodes", "volume_targets", "deploy_templates", "runbooks", "bios_settings", "node_inventories"}
    assert expected | {"node_work"} <= set(leaks(service))


def test_arguments_and_replies_of_calls(serve: Callable[..., Service], key_file: Path) -> None:
    service = serve(key_file)
    values: dict[str, Any] = {"hardware_type": "fake-hardware", "conductor": "c", "method": "m", "token": "t"}
    values |= {"requested_at": 0, "deadline": 0, "arguments": {"x": SECRET}, "reply": {"value": [SECRET]}}
    service.database.write(lambda session: session.add(DriverCall(**values)))
    assert leaks(service) == []
    (row,) = service.database.read(
        lambda session: session.execute(select(DriverCall.arguments, DriverCall.reply)).all()
    )
    assert tuple(row) == ({"x": SECRET}, {"value": [SECRET]})


def test_what_is_shown(serve: Callable[..., Service], key_file: Path) -> None:
    service, showing = serve(key_file), serve(key_file, SHOWING)
    plain = {"ipmi_address": "192.0.2.1", "n": 1.50, "big": 10**15}
    service.add_node("n1", power=False, driver_info=DOCUMENT, instance_info={**DOCUMENT, "image_url": "http://i/x"})
    service.add_node("n2", power=False, driver_info=plain)
    for path in ("/nodes/n1", "/nodes/detail", "/nodes?fields=driver_info,instance_info"):
        masked = service.baremetal("GET", path).text
        assert (SECRET in masked, MASK in masked, "console=ttyS0" in masked) == (False, True, True)
        assert "http://i/x" not in masked
        assert SECRET in showing.baremetal("GET", path).text
    assert showing.node("n1")["driver_info"] == DOCUMENT
    assert showing.node("n1")["instance_info"] == {**DOCUMENT, "image_url": "http://i/x"}
    assert service.node("n2")["driver_info"] == plain
    assert service.database.read(lambda session: nodes.find(session, "n1").driver_info) == DOCUMENT


def test_a_patch_sees_the_values(serve: Callable[..., Service], key_file: Path) -> None:
    service = serve(key_file)
    service.add_node("n1", power=False, driver_info=DOCUMENT)
    service.patch("n1", ("add", "/driver_info/port", 1))
    assert service.database.read(lambda session: nodes.find(session, "n1").driver_info) == {**DOCUMENT, "port": 1}
    service.patch("n1", ("remove", "/driver_info/ipmi_password"))
    assert SECRET in json.dumps(service.database.read(lambda session: nodes.find(session, "n1").driver_info))
    assert leaks(service) == []


HOSTILE = ["~", "~~~", "~00000000~gAAAA~{}", "~00000000~gAAAA~", "~plain~x", '~"', "gAAAAABl", MASK, "\u212a\n\t"]


@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize("value", HOSTILE)
def test_values_that_look_encrypted(serve: Callable[..., Service], key_file: Path, value: str, has_key: bool) -> None:
    """They come back as they were, with a key and without."""
    service = serve(key_file if has_key else None, SHOWING)
    info = {"redfish_password": value, value: value, "nested": [value, {"password": {"a": value}}]}
    uuid = service.add_node("n1", power=False, driver_info=info)
    assert service.node("n1")["driver_info"] == info
    assert service.database.read(lambda session: nodes.find(session, "n1").driver_info) == info
    values: dict[str, str | None] = {"AdminPassword": value, "Mode": value}
    for _ in range(2):
        service.database.write(lambda session: bios.keep(session, nodes.find(session, uuid), values))
        kept = service.database.read(lambda session: bios.settings(session, nodes.find(session, uuid)))
        assert {setting.name: setting.value for setting in kept} == values


def test_a_ciphertext_that_a_client_sends_is_a_text(serve: Callable[..., Service], key_file: Path) -> None:
    """Also one of another node, which it would like to be decrypted."""
    service = serve(key_file, SHOWING)
    service.add_node("n1", power=False, driver_info=DOCUMENT)
    theirs = stored(service)
    assert sealing.is_sealed(theirs)
    info = {"note": theirs, "redfish_password": theirs}
    service.add_node("n2", power=False, driver_info=info)
    assert service.node("n2")["driver_info"] == info


# -- keys that are missing -------------------------------------------------------------------------------------------


def test_a_process_without_the_key(serve: Callable[..., Service], key_file: Path, tmp_path: Path) -> None:
    """It shows the row masked, and does the rest for other rows. What needs the secrets says what is missing."""
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
            outcomes.fail(session, node, "too late")
        else:
            work.request(session, node, "c1", state, {"steps": [], "priorities": None})

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


# -- keys that change ------------------------------------------------------------------------------------------------


def test_keys_are_read_again(serve: Callable[..., Service], key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.db.keyring._LOOK_EVERY", 0.0)
    service = serve(key_file, SHOWING)
    service.add_node("n1", power=False, driver_info=DOCUMENT)
    old_id, old = sealing.key_of(stored(service)), key_file.read_text().strip()
    write_keys(key_file, new_key(), old)
    assert service.node("n1")["driver_info"] == DOCUMENT
    service.patch("n1", ("add", "/driver_info/x", 1))
    assert sealing.key_of(stored(service)) != old_id


def test_rotate_encrypt_and_decrypt(
    serve: Callable[..., Service], key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_a_story(serve(), monkeypatch)
    service = serve(key_file, SHOWING)
    assert total(service)[resealing.PLAIN] > 5
    before = shown(service)
    assert resealing.encrypt(service.database).failed == 0
    assert (total(service)[resealing.PLAIN], leaks(service), shown(service)) == (0, [], before)
    assert resealing.encrypt(service.database) == (0, 0, 0)
    both = tmp_path / "both"
    write_keys(both, new_key(), key_file.read_text().strip())
    service = serve(both, SHOWING)
    others = total(service)[resealing.OTHER]
    assert others > 5
    assert resealing.rotate(service.database) == (others, 0, 0)
    assert (total(service)[resealing.OTHER], total(service)[resealing.FIRST], shown(service)) == (0, others, before)
    without = serve(key_file)
    assert total(without)[resealing.UNKNOWN] == others
    assert resealing.rotate(without.database) == (0, 0, others)
    assert resealing.decrypt(service.database) == (others, 0, 0)
    assert (total(service)[resealing.PLAIN], shown(serve(None, SHOWING))) == (others, before)


def total(service: Service) -> dict[str, int]:
    counted = resealing.count(service.database).values()
    states = (resealing.PLAIN, resealing.FIRST, resealing.OTHER, resealing.UNKNOWN)
    return {state: sum(each[state] for each in counted) for state in states}


def shown(service: Service) -> tuple[Any, ...]:
    """What the API, and a conductor, see of all that may have secrets."""
    node = service.node("n1")
    settings = service.database.read(lambda session: bios.settings(session, nodes.find(session, "n1")))
    paths = (
        "/volume/targets?detail=true",
        "/deploy_templates?detail=true",
        "/runbooks?detail=true",
        "/nodes/n1/inventory",
    )
    texts = [service.baremetal("GET", path).text for path in paths]
    works = service.database.read(lambda session: session.scalars(select(NodeWork.arguments)).all())
    return node, {each.name: each.value for each in settings}, texts, works


def test_rotation_while_others_write(serve: Callable[..., Service], key_file: Path, tmp_path: Path) -> None:
    """A value that was changed between reading and writing stays as it was changed."""
    first = serve(key_file)
    for number in range(3):
        first.add_node(f"n{number}", power=False, driver_info={"ipmi_password": f"{SECRET}{number}"})
    both = tmp_path / "both"
    write_keys(both, new_key(), key_file.read_text().strip())
    service = serve(both, SHOWING)
    change, done = service.database.change, []

    def interrupted(work: Any, **more: Any) -> Any:
        if not done:
            done.append(True)
            first.patch("n1", ("replace", "/driver_info/ipmi_password", f"{SECRET}new"))
        return change(work, **more)

    service.database.change = interrupted  # type: ignore[method-assign]
    assert resealing.rotate(service.database) == (2, 1, 0)
    assert service.node("n1")["driver_info"] == {"ipmi_password": f"{SECRET}new"}
    assert resealing.rotate(service.database) == (1, 0, 0)
    assert [service.node(f"n{n}")["driver_info"]["ipmi_password"] for n in range(3)] == [
        f"{SECRET}0",
        f"{SECRET}new",
        f"{SECRET}2",
    ]


def test_nothing_is_encrypted_while_a_release_is_pinned(serve: Callable[..., Service], key_file: Path) -> None:
    pinned = serve(key_file, SHOWING, DEFAULT={"pin_release_version": "39.0"})
    pinned.add_node("n1", power=False, driver_info=DOCUMENT)
    assert not sealing.is_sealed(stored(pinned))
    service = serve(key_file)
    service.patch("n1", ("add", "/driver_info/x", 1))
    assert sealing.is_sealed(stored(service))
    assert pinned.node("n1")["driver_info"] == {**DOCUMENT, "x": 1}


def test_large_documents(serve: Callable[..., Service], key_file: Path) -> None:
    """What does not fit when it is encrypted is refused, before the database would."""
    service = serve(key_file, api={"max_json_body_size": 20 * 2**20})
    uuid = service.add_node("n1", power=False)
    service.set_columns(uuid, instance_info={"configdrive": "x" * 9 * 2**20})
    assert sealing.is_sealed(stored(service, Node.instance_info))
    with pytest.raises(DocumentTooLarge):
        service.set_columns(uuid, instance_info={"configdrive": "x" * 12 * 2**20})


def test_a_warning_if_there_is_no_key(serve: Callable[..., Service], key_file: Path, lines: io.StringIO) -> None:
    service = serve()
    service.set_columns(service.add_node("n1", power=False), driver="redfish")
    for running, warned in ((serve(key_file), False), (service, True)):
        key_check.warn(running.database, running.app.extensions["settings"])
        assert ("passwords of management controllers are stored as they are" in lines.getvalue()) is warned
