"""Answers of a Nova, as tests import them, and the commands that do it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import orjson
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched import logs
from baremetal_sched.cli import main
from baremetal_sched.db.models import Server
from tests.service import Service

Compute = Callable[..., tuple[int, str, str]]


def uuid_of(name: str) -> str:
    """The UUID of what tests call so."""
    return str(uuid5(NAMESPACE_OID, name))


def flavor_of(**changes: Any) -> dict[str, Any]:
    """A flavor as it is in the list of flavors, from before custom classes."""
    return {
        "id": "f1",
        "name": "bm.large",
        "vcpus": 16,
        "ram": 65536,
        "disk": 400,
        "OS-FLV-EXT-DATA:ephemeral": 0,
        "swap": "",
        "rxtx_factor": 1.0,
        "OS-FLV-DISABLED:disabled": False,
        "os-flavor-access:is_public": True,
        "description": None,
        "extra_specs": {},
        "links": [],
        **changes,
    }


def server_of(name: str, node: str | None, **changes: Any) -> dict[str, Any]:
    """A server as it is in the list of servers at 2.47, on ``node``; ``extra_specs`` are those of its own flavor."""
    specs = changes.pop("extra_specs", {})
    return {
        "id": uuid_of(name),
        "name": name,
        "status": "ACTIVE",
        "tenant_id": "p1",
        "user_id": "u1",
        "key_name": None,
        "metadata": {"role": "db"},
        "tags": ["old"],
        "locked": False,
        "description": None,
        "accessIPv4": "",
        "accessIPv6": "",
        "config_drive": "True",
        "created": "2017-03-01T10:00:00Z",
        "updated": "2017-03-01T10:05:00Z",
        "image": {"id": uuid_of("image"), "links": []},
        "flavor": {
            "original_name": "bm.large",
            "vcpus": 16,
            "ram": 65536,
            "disk": 400,
            "ephemeral": 0,
            "swap": 0,
            "extra_specs": specs,
        },
        "security_groups": [{"name": "default"}],
        "OS-DCF:diskConfig": "MANUAL",
        "OS-EXT-AZ:availability_zone": "nova",
        "OS-EXT-SRV-ATTR:host": "compute1",
        "OS-EXT-SRV-ATTR:hostname": name,
        "OS-EXT-SRV-ATTR:hypervisor_hostname": node,
        "OS-EXT-SRV-ATTR:launch_index": 0,
        "OS-EXT-SRV-ATTR:reservation_id": "r-12345678",
        "OS-EXT-SRV-ATTR:user_data": None,
        "OS-SRV-USG:launched_at": "2017-03-01T10:05:00.000000",
        "OS-SRV-USG:terminated_at": None,
        **changes,
    }


def keypair_of(name: str, **changes: Any) -> dict[str, Any]:
    """A key pair as it is in the list of key pairs."""
    pair = {"name": name, "public_key": "ssh-ed25519 AAAA", "fingerprint": "1e:2c", "type": "ssh", **changes}
    return {"keypair": pair}


def make_command(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Compute:
    """A function that runs ``compute`` with some arguments: exit status, what it printed, and what it complained of."""
    monkeypatch.setattr(logs, "configure", lambda settings: None)

    def run(command: str, *arguments: str, database: str = service.database_url) -> tuple[int, str, str]:
        words = ["baremetal-sched", "compute", command, *arguments, "--database", database]
        monkeypatch.setattr(sys, "argv", words)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed, complaints = capsys.readouterr()
        complaints = "".join(line for line in complaints.splitlines(True) if not line.startswith("Database: "))
        return ended.value.code or 0, printed, complaints  # type: ignore[return-value]

    return run


def import_lists(compute: Compute, folder: Path, **lists: Any) -> str:
    """Import ``servers``, ``flavors`` and ``keypairs``, which must succeed; returns what was printed."""
    path = folder / "nova.json"
    path.write_bytes(orjson.dumps(lists))
    code, printed, complaints = compute("import", str(path))
    assert (code, complaints) == (0, "")
    return printed


def old_server(compute: Compute, folder: Path, name: str, node: str, **changes: Any) -> str:
    """Import one server that is on ``node``; returns its UUID."""
    assert "servers: 1 imported" in import_lists(compute, folder, servers=[server_of(name, node, **changes)])
    return uuid_of(name)


def columns(service: Service, uuid: str) -> dict[str, Any]:
    """The columns of a server."""

    def read(session: Session) -> dict[str, Any]:
        server = session.scalars(select(Server).where(Server.uuid == uuid)).one()
        return {name: getattr(server, name) for name in Server.__mapper__.attrs.keys()}  # noqa: SIM118

    return service.database.read(read)


def specs(service: Service, uuid: str) -> dict[str, str]:
    """The extra specs of the server's own flavor."""
    found: dict[str, str] = columns(service, uuid)["flavor"]["extra_specs"]
    return found
