"""With ``[database] secrets_key_file`` no secret stands in the database, and nothing else is different."""

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor import settings_warnings
from baremetal_sched.db import sealing
from baremetal_sched.db.models import DriverCall, Node
from baremetal_sched.errors import DocumentTooLarge
from baremetal_sched.masking import MASK
from tests.functional.secrets_at_rest.story import DOCUMENT, SECRET, SHOWING, dump, leaks, stored, tell_a_story
from tests.service import Service

pytestmark = pytest.mark.shows_secrets


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
    """The search of the test above can find something."""
    service = serve()
    tell_a_story(service, monkeypatch)
    expected = {"nodes", "volume_targets", "deploy_templates", "runbooks", "bios_settings", "node_inventories"}
    assert expected | {"node_work", "webhooks"} <= set(leaks(service))


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


def test_values_that_look_encrypted(serve: Callable[..., Service], key_file: Path, subtests: pytest.Subtests) -> None:
    """They come back as they were, with a key and without."""
    for has_key in [True, False]:
        with subtests.test(has_key=has_key):
            service = serve(key_file if has_key else None, SHOWING)
            uuid = service.add_node(f"n{has_key}", power=False)
            for value in HOSTILE:
                info = {"redfish_password": value, value: value, "nested": [value, {"password": {"a": value}}]}
                service.patch(uuid, ("replace", "/driver_info", info))
                assert service.node(uuid)["driver_info"] == info
                assert kept_info(service, uuid) == info
                values: dict[str, str | None] = {"AdminPassword": value, "Mode": value}
                for _ in range(2):
                    service.database.write(partial(keep, uuid=uuid, values=values))
                    kept = kept_settings(service, uuid)
                    assert {setting.name: setting.value for setting in kept} == values


def kept_info(service: Service, uuid: str) -> Any:
    return service.database.read(lambda session: nodes.find(session, uuid).driver_info)


def kept_settings(service: Service, uuid: str) -> Any:
    return service.database.read(lambda session: bios.settings(session, nodes.find(session, uuid)))


def keep(session: Session, uuid: str, values: dict[str, str | None]) -> None:
    bios.keep_settings(session, nodes.find(session, uuid), values)


def test_a_ciphertext_that_a_client_sends_is_a_text(serve: Callable[..., Service], key_file: Path) -> None:
    """Also one of another node, which it would like to be decrypted."""
    service = serve(key_file, SHOWING)
    service.add_node("n1", power=False, driver_info=DOCUMENT)
    theirs = stored(service)
    assert sealing.is_sealed(theirs)
    info = {"note": theirs, "redfish_password": theirs}
    service.add_node("n2", power=False, driver_info=info)
    assert service.node("n2")["driver_info"] == info


def test_nothing_is_encrypted_while_a_release_is_pinned(serve: Callable[..., Service], key_file: Path) -> None:
    pinned = serve(key_file, SHOWING, DEFAULT={"pin_release_version": "39.0"})
    pinned.add_node("n1", power=False, driver_info=DOCUMENT)
    assert not sealing.is_sealed(stored(pinned))
    service = serve(key_file)
    service.patch("n1", ("add", "/driver_info/x", 1))
    assert sealing.is_sealed(stored(service))
    assert pinned.node("n1")["driver_info"] == {**DOCUMENT, "x": 1}


def test_large_documents(serve: Callable[..., Service], key_file: Path) -> None:
    """A document that does not fit when it is encrypted is refused, before the database would."""
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
        settings_warnings.warn(running.database, running.app.settings)
        assert ("passwords of management controllers are stored as they are" in lines.getvalue()) is warned
