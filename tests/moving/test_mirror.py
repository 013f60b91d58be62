"""As long as a database is a mirror, nothing but an import changes it; and the command."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from sqlalchemy import select, text

from baremetal_sched import logs
from baremetal_sched.cli import cli
from baremetal_sched.cli.db import prepare
from baremetal_sched.compute.migration import importing as nova_import
from baremetal_sched.compute.migration import nova_documents
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import mirror, schema, schema_state
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, IsMirror, SchemaNotServed
from baremetal_sched.machines import states
from baremetal_sched.moving import importing
from tests.functional.compute.nova_lists import server_of
from tests.moving.moving_nodes import instance_of, name_of
from tests.moving.sources import Cloud
from tests.moving.test_import import Target, target
from tests.redfish_service import RedfishService
from tests.service import Service

__all__ = ["target"]

FREE = name_of("node", 74)
REASON = "baremetal-sched import --finish"


def test_requests_read_and_change_nothing_until_it_is_finished(target: Target) -> None:
    target.run()
    before = target.rows()
    with Service(target.database.engine.url.render_as_string(False)) as service:
        assert service.baremetal("GET", f"/nodes/{FREE}", status=200).json["name"] == "renamed-later"
        for method, path, body in (
            ("PATCH", f"/nodes/{FREE}", [{"op": "add", "path": "/extra/a", "value": 1}]),
            ("PUT", f"/nodes/{FREE}/states/power", {"target": "power on"}),
            ("DELETE", f"/nodes/{FREE}", None),
        ):
            answer = service.baremetal(method, path, body, status=503)
            assert REASON in answer.text
        assert REASON in service.placement("PUT", "/traits/CUSTOM_NEW", status=503).text
        assert service.http.get("/healthcheck").json["ready"]
        assert target.rows() == before
        events = "/scheduling/v1/events?after={}"
        cursor = service.http.get(events.format("now")).json["cursor"]
        importing.finish(target.database)
        service.database.schema.check()
        service.database.change(lambda connection: schema_state.finish(connection, schema.head()))
        service.http.get(events.format(cursor), status=410)  # what was imported has no events
        service.placement("PUT", "/traits/CUSTOM_NEW", status=201)


def test_no_conductor_registers_and_no_machine_is_called(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    target.run()
    before = target.rows()
    own = Database(target.settings)
    conductor = ConductorDaemon(own, target.settings)
    called: list[str] = []
    from baremetal_sched.drivers.fake.hardware import FakePower

    for name in ("get_power_state", "set_power_state"):
        monkeypatch.setattr(FakePower, name, lambda *_, name=name, **__: called.append(name))
    with pytest.raises(IsMirror, match="import --finish"):
        conductor.start(threading.Event())
    with pytest.raises(IsMirror):
        conductor.register()
    assert conductor.work_once() == []
    assert called == []
    assert target.rows() == before
    own.dispose()


def test_the_standard_names_are_no_reason_not_to_serve(target: Target) -> None:
    target.run()
    own = Database(target.settings)
    prepare(own)
    own.dispose()


def test_earlier_releases_cannot_serve_a_mirror(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    target.run()
    state = schema.read_state(target.database.engine)
    assert state.is_mirror
    assert state.served_since == schema.head()
    importing.finish(target.database)
    state = schema.read_state(target.database.engine)
    assert not state.is_mirror
    assert state.served_since != schema.head()
    assert not issubclass(IsMirror, SchemaNotServed)


def test_a_move_is_finished_once(target: Target) -> None:
    with pytest.raises(ConflictError, match="nothing to finish"):
        importing.finish(target.database)
    target.run()
    importing.finish(target.database)
    with pytest.raises(ConflictError, match="nothing to finish"):
        importing.finish(target.database)
    with pytest.raises(ConflictError, match="was finished"):
        target.run()


def test_what_was_claimed_since_is_listed(target: Target) -> None:
    target.run()
    importing.finish(target.database)
    with Service(target.database.engine.url.render_as_string(False)) as service:
        service.database.schema.check()
        body = {
            "allocations": {name_of("other", 1): {"resources": {"VCPU": 1}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        service.placement("PUT", f"/allocations/{name_of('new', 0)}", body, status=204)
    from baremetal_sched.moving.importing import claims_since

    (line,) = target.database.snapshot(lambda session: list(claims_since(session)))
    assert line.endswith(f"consumer {name_of('new', 0)} of project p: vm-host")


def test_servers_of_nova_can_be_taken_over_afterwards(target: Target) -> None:
    """Their machines and claims are here already, so that nothing but the servers is new."""
    target.run()
    importing.finish(target.database)
    claims = target.rows()["allocations"]
    nodes = target.database.read(
        lambda session: session.execute(
            select(Node.uuid, Node.instance_uuid).where(
                Node.instance_uuid.is_not(None), Node.provision_state == states.ACTIVE
            )
        ).all()
    )
    assert nodes
    servers = [server_of(f"s{number}", node, id=instance) for number, (node, instance) in enumerate(nodes)]
    document = nova_documents.parse(orjson.dumps({"servers": servers, "flavors": [], "keypairs": []}))
    own = Database(target.settings)
    report = nova_import.import_document(own, target.settings, document)
    own.dispose()
    assert report.skipped == []
    assert report.imported["servers"] == len(nodes)
    assert target.rows()["allocations"] == claims
    assert target.audit() == []


def test_live_conductors_are_not_taken_by_surprise(target: Target) -> None:
    with Service(target.database.engine.url.render_as_string(False)) as service:
        service.add_conductor("c9")
        with pytest.raises(ConflictError, match="conductors are alive: c9"):
            target.run()
    target.database.change(lambda connection: connection.execute(text("DELETE FROM conductors")))


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(target: Target, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command with the databases of the target."""
    monkeypatch.setattr(logs, "configure", lambda settings: None)
    database = ("--database", target.database.engine.url.render_as_string(False))
    return lambda *words: CliRunner().invoke(cli, ["import", *words, *database])


def sources(cloud: Cloud) -> tuple[str, ...]:
    """The options that name the databases of a cloud."""
    return "--from-ironic-db", cloud.ironic.url, "--from-placement-db", cloud.placement.url


def test_from_the_first_look_to_the_last_day(target: Target, run: Any, tmp_path: Path) -> None:
    cloud, report = target.cloud, tmp_path / "report.txt"
    done: Result = run(*sources(cloud), "--dry-run", "--report", str(report))
    assert done.exit_code == 0, done.output
    assert "Would take: 3 nodes, 4 ports" in done.output
    assert report.read_text().splitlines()[-1].startswith("Would take")
    cloud.claim(name_of("stranger", 0), cloud.provider_of(name_of("node", 63)), "CUSTOM_SILVER_V2")
    done = run(*sources(cloud))
    assert done.exit_code == 1
    assert "1 findings must be resolved first. Nothing was written." in done.output
    done = run(*sources(cloud), "--adopt", "several-consumers")
    assert done.exit_code == 0, done.output
    assert f"adopted: several-consumers {name_of('node', 63)}: it is claimed by" in done.output
    assert instance_of(63) in done.output
    assert run(*sources(cloud), "--adopt", "several-consumers").output.splitlines()[-1] == "Rows written: 0."
    assert run("--finish").exit_code == 0
    assert run("--claims").exit_code == 0
    assert run("--finish").exit_code == 1


def test_mistakes_in_the_command_line(subtests: pytest.Subtests, run: Any) -> None:
    for words, message in [
        ((), "Give --from-ironic-db and --from-placement-db"),
        (("--from-ironic-db", "x", "--from-placement-db", "y"), "is not a database URL"),
        (
            ("--from-ironic-db", "sqlite:///a", "--from-placement-db", "sqlite:///b", "--adopt", "x"),
            "must begin with",
        ),
    ]:
        with subtests.test(words=words):
            done = run(*words)
            assert done.exit_code == 2
            assert message in done.output


def test_a_source_that_is_not_there(target: Target, run: Any) -> None:
    done = run("--from-ironic-db", target.cloud.ironic.url, "--from-placement-db", "sqlite:////nowhere/x.sqlite")
    assert done.exit_code == 1
    assert "there is no file /nowhere/x.sqlite" in str(done.exception)


def test_the_state_of_a_mirror(target: Target) -> None:
    read = target.database.select
    assert read(mirror.read) is None
    target.run()
    state = read(mirror.read)
    assert (state.phase, state.sources, state.until) == (mirror.COMPLETE, "somewhere", None)


def test_a_controller_gets_no_request_before_it_is_finished(target: Target) -> None:
    with RedfishService() as bmc:
        redfish = {f"{kind}_interface": name for kind, name in _REDFISH.items()}
        uuid = target.cloud.node(90, driver="redfish", driver_info=bmc.driver_info(), **redfish)
        assert target.run().blocking == []
        url = target.database.engine.url.render_as_string(False)
        own = Database(target.settings)
        conductor = ConductorHost("c1", own, target.settings)
        with Service(url, DEFAULT={"enabled_hardware_types": "redfish,fake-hardware"}) as service:
            service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"}, status=503)
            service.baremetal("GET", f"/nodes/{uuid}/management/boot_device", status="*")
            with pytest.raises(IsMirror):
                service.add_conductor("c1")
            for task in PERIODIC_TASKS:
                with suppress(IsMirror):
                    task.do(conductor)
            assert bmc.controller.journal == []
            importing.finish(target.database)
            service.database.schema.check()
            service.add_conductor("c1")
            service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power off"}, status=202)
            service.work()
            assert bmc.controller.journal != []
        own.dispose()
    target.database.change(lambda connection: connection.execute(text("DELETE FROM conductors")))


_REDFISH = {
    "bios": "no-bios",
    "boot": "redfish-virtual-media",
    "console": "no-console",
    "deploy": "direct",
    "firmware": "no-firmware",
    "inspect": "no-inspect",
    "management": "redfish",
    "power": "redfish",
    "raid": "no-raid",
    "rescue": "no-rescue",
    "storage": "noop",
    "vendor": "no-vendor",
}
