"""The guide's users of the database: each may do what its processes do, and cannot do what they never do.

The statements are those of the samples, in a database of its own. The settings, and the command that makes the schema,
are those of the guide.
"""

import os
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from baremetal_sched.cli import cli
from baremetal_sched.cli.db import prepare
from baremetal_sched.conductor.daemon import ConductorDaemon
from baremetal_sched.db import schema
from baremetal_sched.db.models import Base
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseDenied
from baremetal_sched.settings import load
from tests import applications
from tests.conftest import KINDS
from tests.service import Service

GUIDES = Path(__file__).parents[2] / "api-ref" / "guides"
SAMPLES = GUIDES / "samples"
PRODUCTION = (GUIDES / "production.rst").read_text()
USERS = ("migrate", "api", "conductor")
#: Written by migrations only.
OURS = {"schema_state"}
DATABASE = "baremetal_sched_users_test_" + os.environ.get("PYTEST_XDIST_WORKER", "main")
MAC = "52:54:00:00:00:01"


def statements(kind: str, part: str = "grants") -> list[str]:
    """The statements of a sample (``users``: what is run once, ``grants``: what is run after each upgrade), for another
    database, and users of other names."""
    sample = (SAMPLES / f"database-{part}-{kind.replace('mysql', 'mariadb')}.sql").read_text()
    sample = re.sub(r"^--.*$", "", sample, flags=re.MULTILINE)
    sample = re.sub(r"baremetal_(migrate|api|conductor)\b", rf"{DATABASE}_\1", sample)
    sample = re.sub(r"\bbaremetal_sched\b", DATABASE, sample)
    return [statement.strip() for statement in sample.split(";") if statement.strip()]


def writable(kind: str, user: str) -> set[str]:
    """The tables that a user may write."""
    granted = [
        statement
        for statement in statements(kind)
        if statement.startswith("GRANT INSERT") and statement.split(" TO ")[-1].strip().strip("'%@").endswith(user)
    ]
    tables = [re.sub(r"\s", "", re.split(r"\bON\b|\bTO\b", statement)[1]) for statement in granted]
    return {table.rpartition(".")[2] for listed in tables for table in listed.split(",")}


@pytest.mark.parametrize("user", ["api", "conductor"])
def test_both_samples_say_the_same(user: str) -> None:
    assert writable("postgresql", user) == writable("mariadb", user) != set()


def test_no_table_is_forgotten() -> None:
    known = writable("mariadb", "api") | writable("mariadb", "conductor")
    assert known | OURS == set(Base.metadata.tables)


class Split(Service):
    """The service whose conductors use the database as another user than its API."""

    def __init__(self, api_url: str, conductor_url: str) -> None:
        super().__init__(api_url)
        self.conductor_url = conductor_url
        self.used: list[Database] = []

    def add_conductor(self, host: str, group: str = "") -> ConductorDaemon:
        """A conductor with the connection of conductors."""
        own = {**self._overrides["database"], "connection": self.conductor_url}
        settings = load(overrides={**self._overrides, "DEFAULT": {"host": host}, "database": own})
        database = Database(settings)
        self.used.append(database)
        conductor = ConductorDaemon(database, settings)
        conductor.start()
        self.conductors[host] = conductor
        return conductor

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        for database in self.used:
            database.dispose()


def url_of(server: str, user: str | None, database: str | None = DATABASE) -> str:
    url = make_url(server)
    if database is not None:
        url = url.set(database=database)
    if user is not None:
        url = url.set(username=f"{DATABASE}_{user}", password="change me")
    return url.render_as_string(hide_password=False)


def database_of(server: str, user: str) -> Database:
    return Database(load(overrides={"database": {"connection": url_of(server, user)}}))


def run(url: str, *commands: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            for command in commands:
                connection.exec_driver_sql(command.replace("%", "%%"))
    finally:
        engine.dispose()


def remove(server: str, kind: str) -> None:
    """Remove database and users, if they are there."""
    applications.forget()
    if kind == "postgresql":
        run(server, f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        run(server, *(f"DROP ROLE IF EXISTS {DATABASE}_{user}" for user in USERS))
    else:
        run(server, f"DROP DATABASE IF EXISTS {DATABASE}")
        run(server, *(f"DROP USER IF EXISTS '{DATABASE}_{user}'@'%'" for user in USERS))


def configure(folder: Path, address: str) -> None:
    """Write the guide's files of settings into ``folder``, for this server."""
    blocks = re.findall(r"code-block:: ini\n\n((?:   .*\n|\n)+)", PRODUCTION)
    for name, block in zip(("baremetal-sched.conf", "migration.conf"), blocks, strict=True):
        text = textwrap.dedent(block)
        (user,) = re.findall(r"^connection = postgresql://baremetal_(\w+):secret@db\.example\.com/", text, re.MULTILINE)
        given = re.findall("^connection = (.*)$", text, re.MULTILINE)
        (folder / name).write_text(text.replace(*given, url_of(address, user)))


def follow(folder: Path, command: str) -> Result:
    """Run the guide's only command that begins so, with the settings in ``folder``."""
    unwrapped = re.sub(r" \\\n +", " ", PRODUCTION)
    (line,) = re.findall(rf"^    baremetal-sched ({command} .*)$", unwrapped, re.MULTILINE)
    return CliRunner().invoke(cli, line.replace("/etc/baremetal-sched", str(folder)).split())


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the users of the sample, and the schema."""
    kind: str = request.param
    address = KINDS[kind]
    try:
        remove(address, kind)
        run(address, *statements(kind, "users"))
    except DBAPIError as error:
        pytest.skip(f"the user of TEST_DATABASE_URLS may not make databases and users: {error.orig}")
    folder = tmp_path_factory.mktemp("etc")
    configure(folder, address)
    done = follow(folder, "db upgrade")
    assert done.exit_code == 0, done.output
    run(url_of(address, None), *statements(kind))
    yield address
    remove(address, kind)


@pytest.fixture
def service(server: str) -> Iterator[Split]:
    with Split(url_of(server, "api"), url_of(server, "conductor")) as running:
        running.add_conductor("c1")
        yield running


def ask(service: Service, verb: str, state: str, **more: Any) -> None:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb, **more})
    service.work()
    assert service.node("n1")["provision_state"] == state


def test_what_the_service_does(service: Split) -> None:
    """Machines are enrolled, inspected, cleaned, booted, given back and removed."""
    body = {"driver": "fake-hardware", "name": "n1", "driver_info": {"fake_inventory": {"cpu": {"count": 3}}}}
    uuid = service.baremetal("POST", "/nodes", body).json["uuid"]
    service.baremetal("POST", "/chassis", {"description": "c"})
    service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})
    target = {"node_uuid": uuid, "volume_type": "iscsi", "boot_index": 0, "volume_id": "v"}
    service.baremetal("POST", "/volume/targets", target)
    rule = {"actions": [{"op": "add-trait", "args": {"name": "CUSTOM_SEEN"}}], "conditions": []}
    service.baremetal("POST", "/inspection_rules", rule)
    ask(service, "manage", "manageable")
    ask(service, "inspect", "manageable")
    assert service.baremetal("GET", "/nodes/n1/traits").json == {"traits": ["CUSTOM_SEEN"]}
    settings = [{"name": "BootMode", "value": "Uefi"}]
    step = {"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}}
    ask(service, "clean", "manageable", clean_steps=[step])
    assert service.baremetal("GET", "/nodes/n1/bios/BootMode").json["BootMode"]["value"] == "Uefi"
    service.patch("n1", ("add", "/resource_class", "gold"))
    ask(service, "provide", "available")
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"})
    service.work()
    service.baremetal("POST", "/deploy_templates", {"name": "CUSTOM_A", "steps": [{**step, "priority": 1}]})
    service.baremetal("POST", "/runbooks", {"name": "CUSTOM_A", "steps": [{**step, "order": 1}]})
    service.baremetal("POST", "/allocations", {"name": "a", "resource_class": "gold"})
    service.work()
    service.baremetal("DELETE", "/allocations/a")
    boot(service)
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "x"})
    service.baremetal("DELETE", "/nodes/n1")
    assert service.http.get("/healthcheck").status_int == 200
    for _, conductor in service.conductors.items():
        conductor.beat()
        conductor.sign_off()


def boot(service: Service) -> None:
    """A server, which is deleted again."""
    specs = {"resources:CUSTOM_GOLD": "1", **dict.fromkeys(("resources:VCPU", "resources:MEMORY_MB"), "0")}
    flavor = service.add_flavor("f", specs={**specs, "resources:DISK_GB": "0"})
    image = {"name": "i", "disk_format": "raw", "container_format": "bare"}
    image_id = service.http.post_json("/image/v2/images", image).json["id"]
    server = {"name": "s", "flavorRef": flavor, "imageRef": image_id, "networks": "none"}
    created = service.compute("POST", "/servers", {"server": server}).json["server"]["id"]
    service.work()
    assert service.compute("GET", f"/servers/{created}").json["server"]["status"] in ("ACTIVE", "ERROR")
    service.compute("DELETE", f"/servers/{created}")
    service.work()


def test_what_they_cannot_do(server: str, service: Split) -> None:
    for user, tables in (
        ("api", ("conductors", "bios_settings", *OURS, "alembic_version")),
        ("conductor", ("images", "keypairs", "flavors", "runbooks", "inspection_rules", *OURS, "alembic_version")),
    ):
        engine = create_engine(url_of(server, user))
        for table in tables:
            with engine.connect() as connection:
                assert is_refused(connection, f"DELETE FROM {table}"), (user, table)
        with engine.connect() as connection:
            assert is_refused(connection, "DROP TABLE nodes")
            assert is_refused(connection, "CREATE TABLE mine (id INTEGER)")
        engine.dispose()


@pytest.mark.parametrize("user", ["api", "conductor"])
def test_migrations_need_the_migration_user(server: str, user: str) -> None:
    database = database_of(server, user)
    with pytest.raises(DatabaseDenied, match="lacks privileges"):
        schema.downgrade(database.engine, "base")
    database.dispose()


def test_the_migration_user_owns_what_there_is(server: str) -> None:
    """It can undo all migrations and repeat them. The others may work again once the grants have been repeated."""
    database = database_of(server, "migrate")
    schema.downgrade(database.engine, "base")
    prepare(database)
    if database.engine.dialect.name == "postgresql":
        with database.engine.connect() as connection:
            owners = connection.execute(text("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"))
            assert owners.scalars().all() == [f"{DATABASE}_migrate"]
    database.dispose()
    run(url_of(server, None), *statements(make_url(server).get_backend_name()))
    with Split(url_of(server, "api"), url_of(server, "conductor")) as service:
        service.add_conductor("c2")
        service.add_node("n2")


def is_refused(connection: Connection, statement: str) -> bool:
    with suppress(DBAPIError):
        connection.execute(text(statement))
        return False
    return True
