"""Which ISO image with an agent a machine boots by virtual media."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine
from baremetal_sched.settings import load

OWN, GENERAL, ARM = (f"http://images.example.org/{name}.iso" for name in ("own", "general", "arm"))


def machine(options: dict[str, Any], **fields: Any) -> Machine:
    found = {"provision_state": "deploying", "driver_info": {}, "properties": {}, **fields}
    return cast("Machine", SimpleNamespace(settings=load((), {"conductor": options}), **found))


def test_the_node_comes_before_its_architecture_and_that_before_all(subtests: pytest.Subtests) -> None:
    for options, fields, expected in [
        ({"deploy_iso": GENERAL}, {}, GENERAL),
        ({"deploy_iso": GENERAL, "deploy_iso_by_arch": {"arm": ARM}}, {"properties": {"cpu_arch": "arm"}}, ARM),
        ({"deploy_iso": GENERAL, "deploy_iso_by_arch": {"arm": ARM}}, {"properties": {"cpu_arch": "x"}}, GENERAL),
        ({"deploy_iso": GENERAL}, {"driver_info": {"deploy_iso": OWN}}, OWN),
    ]:
        with subtests.test(options=options, fields=fields):
            assert virtual_media._agent_iso(machine(options, **fields)).url == expected


def test_there_may_be_none(subtests: pytest.Subtests) -> None:
    for options, fields in [
        ({"deploy_iso_by_arch": {"arm": ARM}}, {"properties": {"cpu_arch": "x86_64"}}),
        ({"deploy_iso": GENERAL}, {"provision_state": "rescuing"}),
    ]:
        with subtests.test(options=options), pytest.raises(InvalidValue, match="_iso is missing"):
            virtual_media._agent_iso(machine(options, **fields))
