"""A story that uses every field that may have a secret, and what the database holds then."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import String, select, type_coerce

from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Base, Node, NodeWork
from baremetal_sched.drivers.fake.hardware import FakeVendor
from tests.service import Service

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
    service.http.post_json("/scheduling/v1/webhooks", {"url": f"https://hooks.example.com/{SECRET}"})
    values = {"AdminPassword": SECRET, "BootMode": "Uefi"}
    service.database.write(lambda session: bios.keep_settings(session, nodes.find(session, uuid), values))
    found = {"cpu": {"count": 4}, "bmc": DOCUMENT}
    service.database.write(lambda session: inspection.store(session, nodes.find(session, uuid), found, {"p": DOCUMENT}))
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
