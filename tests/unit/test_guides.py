"""The guides are right about our commands."""

import re
from pathlib import Path

import click
import pytest

from baremetal_sched.cli import cli
from baremetal_sched.cli.compute import BAD_ARGUMENTS, FAILED, NOTHING_FOUND, SEVERAL_SERVERS, migrate_flavors
from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.compute.migration.upgrade_checks import Result
from baremetal_sched.image import properties as image_properties
from baremetal_sched.placement.names import resource_class_of

API_REF = Path(__file__).parents[2] / "api-ref"
GUIDES = {path.stem: path.read_text() for path in sorted((API_REF / "guides").glob("*.rst"))}
CALLS = [
    (name, call.split())
    for name, text in GUIDES.items()
    for call in re.findall(r"^    baremetal-sched (.*)$|``baremetal-sched ([^`]*)``", text, re.MULTILINE)
    for call in call
    if call
]


def test_guides_are_in_the_index() -> None:
    index = (API_REF / "index.rst").read_text()
    for name in GUIDES:
        assert index.count(f"   guides/{name}\n") == 1


def test_commands_and_their_options_exist(subtests: pytest.Subtests) -> None:
    for guide, words in CALLS:
        with subtests.test(guide=guide, words=words):
            context = click.Context(cli)
            command: click.Command | None = cli
            rest = [*words]
            while isinstance(command, click.Group):
                command = command.get_command(context, rest.pop(0))
            assert command is not None, guide
            options = {name for option in command.params for name in option.opts}
            assert {word for word in rest if word.startswith("--")} <= options


def test_no_command_lacks_the_settings() -> None:
    """Commands to copy name the file of settings: it is not where they are run that decides about the database."""
    context = click.Context(cli)
    for name, text in GUIDES.items():
        for line in re.findall(r"^    baremetal-sched (.*)$", re.sub(r" \\\n +", " ", text), re.MULTILINE):
            command: click.Command | None = cli
            words = line.split()
            while isinstance(command, click.Group):
                command = command.get_command(context, words.pop(0))
            assert command is not None, line
            needs = any("--config-file" in option.opts for option in command.params) and command.name != "serve"
            assert ("--config-file" in words) == needs, f"{name}: {line}"


def test_options_of_the_migration() -> None:
    own = {"--all", "--host", "--node", "--resource-class", "--dry-run"}
    assert own < {name for option in migrate_flavors.params for name in option.opts}
    documented = set(re.findall(r"^``(--[a-z-]+)", GUIDES["custom_classes"], re.MULTILINE))
    assert documented == own


def test_exit_codes() -> None:
    tables = re.split(r"^Exit code .*$", GUIDES["custom_classes"], flags=re.MULTILINE)[1:]
    migration, status = (re.findall(r"^(\d+) ", table, re.MULTILINE) for table in tables)
    codes = (0, NOTHING_FOUND, SEVERAL_SERVERS, BAD_ARGUMENTS, FAILED)
    assert [int(code) for code in migration] == list(codes)
    assert [int(code) for code in status] == [*Result, BAD_ARGUMENTS, FAILED]


def test_classes_of_nodes_in_flavors() -> None:
    rows = re.findall(r"^``([^`]+)`` +``(CUSTOM_[^`]+)``$", GUIDES["flavors"], re.MULTILINE)
    assert len(rows) == 3
    for given, shown in rows:
        assert resource_class_of(given) == shown


def properties(words: str) -> dict[str, str]:
    """The properties that a guide's calls of a command of the client set."""
    calls = "\n".join(GUIDES.values()).replace("\\\n", " ")
    found = [call for call in calls.splitlines() if call.strip().startswith(f"openstack {words} ")]
    assert found
    return dict(pair.split("=", 1) for call in found for pair in re.findall(r"--property (\S+)", call))


def test_extra_specs_are_accepted() -> None:
    found = properties("flavor create") | properties("flavor set")
    extra_specs.check(found)
    assert {"resources:VCPU", "resources:MEMORY_MB", "resources:DISK_GB"} < found.keys()


def test_properties_of_images_are_accepted() -> None:
    image_properties.check(properties("image create") | properties("image set"))
