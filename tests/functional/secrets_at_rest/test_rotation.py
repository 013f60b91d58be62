"""Keys that change: secrets are encrypted, encrypted with another key, and decrypted, while others write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db import resealing, sealing
from baremetal_sched.db.models import NodeWork
from tests.functional.secrets_at_rest.story import (
    DOCUMENT,
    SECRET,
    SHOWING,
    leaks,
    new_key,
    stored,
    tell_a_story,
    write_keys,
)
from tests.service import Service

pytestmark = pytest.mark.shows_secrets


def test_keys_are_read_again(serve: Callable[..., Service], key_file: Path) -> None:
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
    assert resealing.reseal(service.database, resealing.encrypted).failed == 0
    assert (total(service)[resealing.PLAIN], leaks(service), shown(service)) == (0, [], before)
    assert resealing.reseal(service.database, resealing.encrypted) == (0, 0, 0)
    both = tmp_path / "both"
    write_keys(both, new_key(), key_file.read_text().strip())
    service = serve(both, SHOWING)
    others = total(service)[resealing.OTHER]
    assert others > 5
    assert resealing.reseal(service.database, resealing.rotated) == (others, 0, 0)
    assert (total(service)[resealing.OTHER], total(service)[resealing.FIRST], shown(service)) == (0, others, before)
    without = serve(key_file)
    assert total(without)[resealing.UNKNOWN] == others
    assert resealing.reseal(without.database, resealing.rotated) == (0, 0, others)
    assert resealing.reseal(service.database, resealing.decrypted) == (others, 0, 0)
    assert (total(service)[resealing.PLAIN], shown(serve(None, SHOWING))) == (others, before)


def total(service: Service) -> dict[str, int]:
    counted = resealing.count(service.database).values()
    states = (resealing.PLAIN, resealing.FIRST, resealing.OTHER, resealing.UNKNOWN)
    return {state: sum(each[state] for each in counted) for state in states}


def shown(service: Service) -> tuple[Any, ...]:
    """All fields that may have secrets, as the API and a conductor see them."""
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
    assert resealing.reseal(service.database, resealing.rotated) == (2, 1, 0)
    assert service.node("n1")["driver_info"] == {"ipmi_password": f"{SECRET}new"}
    assert resealing.reseal(service.database, resealing.rotated) == (1, 0, 0)
    assert [service.node(f"n{n}")["driver_info"]["ipmi_password"] for n in range(3)] == [
        f"{SECRET}0",
        f"{SECRET}new",
        f"{SECRET}2",
    ]
