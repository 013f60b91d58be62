"""Databases that a real Ironic and a real Placement have filled: imported, every answer is the original's.

``IRONIC_PYTHON`` and ``IRONIC_35_PYTHON`` name Pythons with Ironic 39 and 35; without them nothing is compared. What
the originals fill stays in the cache for the next run.
"""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import originals
from tests.moving import sources
from tests.moving.moving_nodes import STATES, state_of
from tests.moving.sources import HandMade
from tests.moving.test_import import Target
from tests.service import Service

_HERE = Path(__file__).parent
_PYTHONS = {"ironic-39": originals.ironic_python(), "ironic-35": os.environ.get("IRONIC_35_PYTHON")}
_VERSIONS = {"ironic-39": "1.115", "ironic-35": "1.111"}
_SETTINGS = "[DEFAULT]\nauth_strategy = noauth\nlog_file = /dev/null\n[database]\nconnection = sqlite:///{path}\n"

pytestmark = pytest.mark.slow


def of_ironic(version: str) -> dict[str, str]:
    """Headers of a request with this microversion."""
    return {"X-OpenStack-Ironic-API-Version": version}


def of_placement(version: str) -> dict[str, str]:
    """Headers of a request with this microversion."""
    return {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {version}"}


class Originals:
    """An Ironic of one release and a Placement, with the databases that they have filled."""

    def __init__(self, release: str, python: str, folder: Path) -> None:
        self.release, self._folder = release, folder
        self.ironic, self.placement = folder / f"{release}.sqlite", folder / "placement.sqlite"
        settings = folder / f"{release}.conf"
        settings.write_text(_SETTINGS.format(path=self.ironic))
        self._of_ironic = [python, str(_HERE / "fill_ironic.py"), str(settings)]
        self._of_placement = [sys.executable, str(_HERE / "fill_placement.py"), f"sqlite:///{self.placement}"]
        dbsync = [str(Path(python).with_name("ironic-dbsync")), "--config-file", str(settings), "create_schema"]
        self._made(self.ironic, dbsync, self._of_ironic)
        self._made(self.placement, self._of_placement)

    def _made(self, path: Path, *commands: list[str]) -> None:
        """Fill a database, or take the one that the same commands have filled before."""
        text = "".join((_HERE / f"{name}.py").read_text() for name in ("fill_ironic", "fill_placement", "moving_nodes"))
        cached = (
            originals.CACHE.parent / "moving" / f"{path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.sqlite"
        )
        if not cached.exists():
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, done.stderr[-3000:]
            cached.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, cached)
        shutil.copy(cached, path)

    def ask_ironic(self, paths: list[str], version: str = "") -> dict[str, tuple[int, Any]]:
        """Ironic's answers to GET."""
        return self._ask(self._of_ironic, paths, of_ironic(version or _VERSIONS[self.release]))

    def ask_placement(self, paths: list[str], version: str = "1.39") -> dict[str, tuple[int, Any]]:
        """Placement's answers to GET."""
        return self._ask(self._of_placement, paths, of_placement(version))

    @staticmethod
    def _ask(command: list[str], paths: list[str], headers: dict[str, str]) -> dict[str, tuple[int, Any]]:
        text = json.dumps({"headers": headers, "paths": paths}) + "\n"
        done = subprocess.run([*command, "answer"], input=text, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        found: dict[str, tuple[int, Any]] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture(scope="module", params=[*_PYTHONS])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Originals:
    """The originals of one release."""
    python = _PYTHONS[request.param]
    if python is None:
        pytest.skip(f"there is no Python with {request.param}")
    return Originals(request.param, python, tmp_path_factory.mktemp(request.param))


# -- the generator, and the databases that are made by hand ------------------------------------------------------------

#: Tables and columns that stay empty: nothing writes them, or they are about conductors, which are not taken.
_EMPTY = {
    "node_tags": "no API has written them for years",
    "alembic_version": "it is about the schema",
    "consumer_types.updated_at": "",
    "conductors.updated_at": "",
}
_NEVER_CHANGED = "updated_at"
_OF_STEPS = re.compile(r"(deploy_template_steps|runbook_steps|runbook_traits|node_traits|conductor\w*)\.version")


def found_columns(path: Path) -> Iterator[tuple[str, str, str]]:
    """Table, column and declared type of a database."""
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for _, name, kind, required, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                yield table, name, kind + ("!" if required else "")


def test_databases_made_by_hand_have_the_columns_of_the_originals(filled: Originals) -> None:
    for path, schema in ((filled.ironic, filled.release), (filled.placement, "placement-16")):
        found: dict[str, list[str]] = {}
        for table, name, kind in found_columns(path):
            found.setdefault(table, []).append(f"{name} {kind}")
        del found["alembic_version"]
        assert found == sources.columns(schema)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(sources.head(schema),)]


def test_the_originals_have_something_in_every_column(filled: Originals) -> None:
    empty = []
    for path in (filled.ironic, filled.placement):
        with closing(sqlite3.connect(path)) as connection:
            for table, name, _ in found_columns(path):
                count = f'SELECT count("{name}") FROM {table}'
                if not connection.execute(count).fetchone()[0]:
                    empty.append(f"{table}.{name}")
    unexplained = {
        name
        for name in empty
        if name not in _EMPTY
        and name.partition(".")[0] not in _EMPTY
        and not name.endswith(_NEVER_CHANGED)
        and not _OF_STEPS.fullmatch(name)
    }
    assert unexplained == set()


def test_every_state_is_there_twice() -> None:
    numbers = [state_of(number) for number in range(120)]
    assert min(numbers.count(state) for state in STATES) >= 2


# -- the comparison ----------------------------------------------------------------------------------------------------

_OF_NODE = (
    *("states", "traits", "bios?detail=True", "bios/boot_order", "firmware", "history?detail=True", "inventory"),
    *("ports?detail=True", "portgroups?detail=True", "volume/connectors?detail=True", "volume/targets?detail=True"),
    *("allocation", "children"),
)
_LISTS = {
    "nodes/detail?limit=1000": "nodes",
    "ports?detail=True&limit=1000": "ports",
    "portgroups/detail?limit=1000": "portgroups",
    "volume/connectors?detail=True": "connectors",
    "volume/targets?detail=True": "targets",
    "allocations": "allocations",
    "deploy_templates?detail=True": "deploy_templates",
    "runbooks?detail=True": "runbooks",
    "inspection_rules?detail=True": "inspection_rules",
    "chassis/detail": "chassis",
}
_OF_PROVIDER = ("", "/inventories", "/traits", "/aggregates", "/usages", "/allocations")
_FRACTION = re.compile(r"(\d\d:\d\d:\d\d)\.\d+")

#: What differs in answers, by path of the member: why. Paths end with these.
_EXPECTED: Mapping[str, str] = {
    "/conductor": "no conductor is alive here",
    "/driver_internal_info/agent_url": "agents never speak with us",
    "/driver_internal_info/agent_secret_token": "agents never speak with us",
    "/href": "addresses of documents, compared by the tests of each API",
    "/error_message": "the words of refusals are compared elsewhere",
    "/bios/*/value": "secrets among BIOS settings are masked here",
    "/admin_password/value": "secrets among BIOS settings are masked here",
    "/properties/auth_password": "Ironic 35 shows the secrets of volumes",
    "/generation": "one more where Nova's copy was corrected",
    "/resource_provider_generation": "one more where Nova's copy was corrected",
    "/reserved": "the node decides; Nova's copy lags",
}
#: Ironic shows these at every microversion.
_SHOWN_TOO_EARLY = re.compile(r" /portgroups/\*/(category|physical_network|dynamic_portgroup): ")
#: Of nodes and allocations whose work was in flight.
_IN_FLIGHT = re.compile(
    r"/(provision_state|target_provision_state|target_power_state|last_error|reservation|state"
    r"|(clean|deploy|service)_step.*)$"
)
#: Of providers whose node is held by an allocation of Ironic, which makes no consumer in Placement.
_CLAIMED_HERE = re.compile(r"/(allocations/[0-9a-f-]{36}|usages/(CUSTOM_\w+|BAREMETAL_ALLOCATION))$")


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys()):
            if name not in theirs or name not in ours:
                yield f"{path}/{name}", theirs.get(name), ours.get(name)
            else:
                yield from differences(theirs[name], ours[name], f"{path}/{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        if all(isinstance(item, str) for item in theirs):
            theirs, ours = sorted(theirs), sorted(ours)
        for one, other in zip(theirs, ours, strict=True):
            yield from differences(one, other, f"{path}/*")
    elif theirs != ours and not (isinstance(theirs, str) and _FRACTION.sub(r"\1", theirs) == ours):
        yield path, theirs, ours


@pytest.fixture(scope="module")
def imported(filled: Originals, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service over what was imported."""
    from baremetal_sched.cli.db import prepare

    url = f"sqlite:///{tmp_path_factory.mktemp('target')}/target.sqlite"
    cloud = sources.Cloud.__new__(sources.Cloud)
    cloud.ironic, cloud.placement = (HandMade.__new__(HandMade) for _ in range(2))
    cloud.ironic.path, cloud.placement.path = filled.ironic, filled.placement
    target = Target(url, cloud)
    prepare(target.database)
    refused = target.run()
    assert {finding.kind.word for finding in refused.blocking} == {"in-flight"}
    assert target.run(failed=True).blocking == []
    assert target.audit() == []
    assert target.run(failed=True).written.total() == 0
    with Service(url) as service:
        yield service
    target.close()


def ours(service: Service, path: str, headers: dict[str, str]) -> tuple[int, Any]:
    """Our answers to GET."""
    answer = service.http.get(path, headers=headers, expect_errors=True)
    return answer.status_int, json.loads(answer.body) if answer.body else None


def compare(found: Mapping[str, tuple[int, Any]], service: Service, prefix: str, headers: dict[str, str]) -> list[str]:
    """Return what differs, unless it is expected."""
    wrong = []
    for path, (status, document) in found.items():
        own_status, own = ours(service, prefix + path, headers)
        if status != own_status:
            wrong.append(f"{path}: {status}, not {own_status}")
            continue
        text = json.dumps(own).replace(f"{prefix}/", "/") if prefix == "/placement" else json.dumps(own)
        for where, one, other in differences(document, json.loads(text)):
            expected = any(where.endswith(end) for end in _EXPECTED) or _IN_FLIGHT.search(where)
            if not expected and not (prefix == "/placement" and _CLAIMED_HERE.search(where)):
                wrong.append(f"{path} {where}: {one!r}, not {other!r}")
    return wrong


def test_every_answer_of_ironic_is_the_same(filled: Originals, imported: Service) -> None:
    lists = filled.ask_ironic([f"/v1/{path}" for path in _LISTS])
    paths = ["/v1/nodes?limit=1000", "/v1/nodes?fields=uuid,name,traits&limit=1000", "/v1/shards"]
    for path, name in _LISTS.items():
        for row in lists[f"/v1/{path}"][1][name]:
            own = f"/v1/{path.split('?')[0].removesuffix('/detail')}/{row['uuid']}"
            paths.append(own)
            if name == "nodes":
                paths += [f"{own}/{part}" for part in _OF_NODE]
    found = lists | filled.ask_ironic(paths)
    assert len(found) > 120 * len(_OF_NODE)
    assert compare(found, imported, "/baremetal", of_ironic(_VERSIONS[filled.release])) == []


@pytest.mark.parametrize("version", ["1.1", "1.11", "1.33", "1.52", "1.77", "1.95"])
def test_lists_of_ironic_are_the_same_at_older_microversions(
    filled: Originals, imported: Service, version: str
) -> None:
    since = {"portgroups": 26, "volume": 32, "allocations": 52, "deploy_templates": 55, "runbooks": 92}
    paths = [
        f"/v1/{path}"
        for path in ("nodes?limit=1000", *_LISTS)
        if since.get(path.split("/")[0].split("?")[0], 1) <= int(version.removeprefix("1."))
        and not path.startswith("inspection_rules")
    ]
    paths = [path.replace("ports?detail=True&", "ports/detail?") for path in paths]
    found = compare(filled.ask_ironic(paths, version), imported, "/baremetal", of_ironic(version))
    assert [line for line in found if not _SHOWN_TOO_EARLY.search(line)] == []


def test_every_answer_of_placement_is_the_same(filled: Originals, imported: Service) -> None:
    (listed,) = filled.ask_placement(["/resource_providers"]).values()
    providers = [row["uuid"] for row in listed[1]["resource_providers"]]
    of_providers = filled.ask_placement(
        [f"/resource_providers/{uuid}{part}" for uuid in providers for part in _OF_PROVIDER]
    )
    consumers = {
        uuid
        for path, (_, document) in of_providers.items()
        if path.endswith("/allocations")
        for uuid in document["allocations"]
    }
    rest = [f"/allocations/{uuid}" for uuid in sorted(consumers)]
    rest += [
        "/resource_providers",
        "/resource_classes",
        "/traits?name=startswith:CUSTOM_",
        "/usages?project_id=project-1",
    ]
    found = of_providers | filled.ask_placement(rest)
    assert len(consumers) > 50
    assert compare(found, imported, "/placement", of_placement("1.39")) == []


@pytest.mark.parametrize("version", ["1.0", "1.12", "1.19", "1.28"])
def test_placement_is_the_same_at_older_microversions(filled: Originals, imported: Service, version: str) -> None:
    (listed,) = filled.ask_placement(["/resource_providers"], version).values()
    providers = [row["uuid"] for row in listed[1]["resource_providers"]][::6]
    parts = ("", "/inventories", "/usages", "/allocations")
    paths = ["/resource_providers", *(f"/resource_providers/{uuid}{part}" for uuid in providers for part in parts)]
    assert compare(filled.ask_placement(paths, version), imported, "/placement", of_placement(version)) == []
