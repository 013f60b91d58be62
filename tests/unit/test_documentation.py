"""The documentation of options, commands and files is true, and complete."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from baremetal_sched import keystone_settings
from baremetal_sched.cli import cli
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import OPTIONS, load
from tests import pictures

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TESTS = (ROOT / "tests" / "README.md").read_text()
CONFIGURATION = (ROOT / "api-ref" / "configuration.rst").read_text()

#: How the page writes defaults that are no plain text.
_WORDS = {None: "none", "": "empty"}
TUTORIAL = (ROOT / "api-ref" / "tutorial.md").read_text()
_PAGES = {"README.md": README, "CONTRIBUTING.md": CONTRIBUTING, "tests/README.md": TESTS}
RECIPES = {page.stem: page.read_text() for page in sorted((ROOT / "api-ref" / "contributing").glob("*.rst"))}
DESIGN = {page.stem: page.read_text() for page in sorted((ROOT / "api-ref" / "design").glob("*.rst"))}


def documented_options() -> dict[str, dict[str, str]]:
    """The options of libraries on the configuration page, by group: each with what it says after "Default: "."""
    groups: dict[str, dict[str, str]] = {}
    sections = re.split(r"^\[(\w+)\]\n=+\n", CONFIGURATION, flags=re.MULTILINE)[1:]
    for group, text in zip(sections[::2], sections[1::2], strict=True):
        groups[group] = dict(re.findall(r"^``(\w+)``\n    Default: (.+)\n\n    \S", text, re.MULTILINE))
    return groups


#: These are there only if they are asked for.
WITH_KEYSTONE = {"api": {"auth_strategy": "keystone"}}
KEYSTONE = keystone_settings.register(load(), WITH_KEYSTONE)
OPTIONS_BY_NAME = [(group, option) for group, options in KEYSTONE.items() for option in options]


def test_every_option_of_keystonemiddleware_is_documented(subtests: pytest.Subtests) -> None:
    """With its default, which may be another than the library's."""
    for group, option in OPTIONS_BY_NAME:
        with subtests.test(group=group, option=option):
            said = documented_options()[group][option.dest]
            default = keystone_settings.DEFAULTS.get(option.dest, option.default)
            if isinstance(default, bool):
                default = str(default).lower()
            elif isinstance(default, list):
                default = ",".join(default)
            assert said == _WORDS.get(default, f"``{default}``")


def test_no_option_is_invented() -> None:
    settings = load()
    keystone_settings.register(settings, WITH_KEYSTONE)
    for group, options in documented_options().items():
        for option in options:
            assert option in settings[group]


def test_the_page_of_options_is_made_of_all_of_them() -> None:
    """By an entry point, which is how oslo.config finds them."""
    assert ".. show-options::\n\n   baremetal_sched\n" in CONFIGURATION
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = EntryPoint("", project["entry-points"]["oslo.config.opts"]["baremetal_sched"], "")
    listed = {group.name: options for group, options in named.load()()}
    assert listed == OPTIONS


def test_options_say_what_they_do(subtests: pytest.Subtests) -> None:
    """In full sentences, which link to pages that exist: a broken text does not stop the page from being made."""
    for group in sorted(OPTIONS):
        with subtests.test(group=group):
            for option in OPTIONS[group]:
                assert option.help.endswith("."), option.dest
                assert option.help.count("``") % 2 == 0, option.dest
                for page in re.findall(r":doc:`(?:.*<)?([\w/]+)>?`", option.help):
                    assert (ROOT / "api-ref" / f"{page}.rst").exists(), page


def code(text: str, language: str) -> list[str]:
    """The blocks of code in a page of Markdown."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_readme_begins_with_its_two_commands() -> None:
    """One line each: .ci/run takes them from there, and runs them without a word added."""
    first, second = code(README, "sh")[:2]
    assert first == "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/baremetal-sched demo\n"
    assert second == "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest\n"
    assert README.index("```sh") < 200
    run = (ROOT / ".ci" / "run").read_text()
    assert 'bash -c "$first"\n' in run
    assert 'bash -c "$second"\n' in run


def calls() -> Iterator[tuple[str, list[str]]]:
    """Every call of our command in the pages, as the words after its name."""
    for page, text in (*_PAGES.items(), ("tutorial.md", TUTORIAL)):
        for block in (*code(text, "sh"), *code(text, "console")):
            for call in re.findall(r"(?:^|/| )baremetal-sched ([^&|;#>\n]*)", block, re.MULTILINE):
                yield f"{page}: {call.strip()}", call.split()


CALLS = list(calls())


def test_commands_and_their_options_exist(subtests: pytest.Subtests) -> None:
    for words in [words for _, words in CALLS]:
        with subtests.test(words=words):
            context = click.Context(cli)
            command: click.Command | None = cli
            words = [*words]
            while isinstance(command, click.Group):
                command = command.get_command(context, words.pop(0))
            assert command is not None
            options = {name: option for option in command.params for name in option.opts}
            for word in words:
                if word.startswith("--"):
                    assert word in options


def test_commands_are_in_the_readme(subtests: pytest.Subtests) -> None:
    for command in ["serve", "demo", "conductor", "db upgrade", "db check"]:
        with subtests.test(command=command):
            assert f"baremetal-sched {command}" in " ".join(README.split())


def test_shells_complete_commands(subtests: pytest.Subtests) -> None:
    """With the variable that the page of the command names."""
    for words, begun, offered in [
        ([], "d", {"db", "demo"}),
        (["db"], "up", {"upgrade"}),
        (["db", "upgrade"], "--f", {"--finish"}),
    ]:
        with subtests.test(words=words):
            variable = "_BAREMETAL_SCHED_COMPLETE"
            assert f"{variable}=bash_source baremetal-sched" in (ROOT / "api-ref" / "command_line.rst").read_text()
            completions = BashComplete(cli, {}, "baremetal-sched", variable).get_completions(words, begun)
            assert {each.value for each in completions} == offered


def test_every_message_is_on_the_page_for_troubleshooting() -> None:
    """The page is made of the classes of the errors: of all that say more than what they are given."""
    spec = spec_from_file_location("error_catalogue", ROOT / "api-ref" / "_extensions" / "error_catalogue.py")
    assert spec is not None
    assert spec.loader is not None
    extension = module_from_spec(spec)
    spec.loader.exec_module(extension)
    listed = {(each.name, each.text) for found in extension.catalogue().values() for each in found}
    known = {
        (error.__name__, error.template)
        for error in _subclasses(SchedulerError)
        if error.__module__.startswith("baremetal_sched.errors") and "template" in vars(error)
    }
    assert {each for each in known if re.sub(r"\{\w+[^}]*\}", "", each[1]).strip()} == listed
    assert len(listed) > 150
    page = (ROOT / "api-ref" / "troubleshooting.rst").read_text()
    assert ".. error_messages::" in page
    for quoted in re.findall(r'"([^"]+)"', " ".join(page.split())):
        words = quoted.split(":")[0]
        assert words in QUOTED_OTHERWISE or any(words in text for _, text in listed), quoted


def _subclasses(kind: type[SchedulerError]) -> Iterator[type[SchedulerError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


#: What the page for troubleshooting quotes besides messages of errors: states, and names of things.
QUOTED_OTHERWISE = {"power unknown", "fault", "deploy failed", "clean failed", "clean wait", "deploy wait", "schema"}


def test_variables_of_the_environment_name_options() -> None:
    named = re.findall(r"OS_([A-Z_]+?)__([A-Z_]+)", README + TESTS + CONFIGURATION + RECIPES["migration"])
    assert named
    for group, option in named:
        assert option.lower() in {known.dest for known in OPTIONS[group if group == "DEFAULT" else group.lower()]}


def test_links_lead_to_files(subtests: pytest.Subtests) -> None:
    for page in sorted(_PAGES):
        with subtests.test(page=page):
            links = re.findall(r"\]\((?!https?://)([^)#]+)\)", _PAGES[page])
            assert links
            for link in links:
                assert ((ROOT / page).parent / link).exists(), link


def test_folders_exist(subtests: pytest.Subtests) -> None:
    for page in sorted(_PAGES):
        with subtests.test(page=page):
            paths = re.findall(r"`((?:baremetal_sched|tests|migrations|api-ref|\.ci)/[\w./-]*)`", _PAGES[page])
            assert paths
            for path in paths:
                assert (ROOT / path).exists(), path


def test_modules_and_options_of_the_design_exist(subtests: pytest.Subtests) -> None:
    for page in sorted(DESIGN):
        with subtests.test(page=page):
            for module in re.findall(r"``((?:\w+/)*\w+\.py)``", DESIGN[page]):
                assert (ROOT / "baremetal_sched" / module).exists(), module
            for group, option in re.findall(r"\[(\w+)\] (\w+)", DESIGN[page]):
                assert option in {known.dest for known in OPTIONS[group]}


def test_pages_of_the_design_are_in_their_index() -> None:
    for page in DESIGN.keys() - {"index"}:
        assert f"   {page}\n" in DESIGN["index"]


def test_pages_for_contributors_are_short_and_name_what_there_is(subtests: pytest.Subtests) -> None:
    for page in sorted(RECIPES):
        with subtests.test(page=page):
            assert len(RECIPES[page].splitlines()) <= 150
            assert page == "index" or f"   {page}\n" in RECIPES["index"]
            text = re.sub(r"^\.\. code-block::.*\n(?:   .*\n|\n)*", "", RECIPES[page], flags=re.MULTILINE)
            for path in re.findall(r"``((?:\w+/)+[\w.]*)``", text):
                assert any((folder / path).exists() for folder in (ROOT, ROOT / "baremetal_sched")), path


def test_the_first_pages_for_contributors_are_short() -> None:
    assert len(CONTRIBUTING.splitlines()) <= 150
    assert len(TESTS.splitlines()) <= 120
    for page in RECIPES.keys() - {"index"}:
        assert f"api-ref/contributing/{page}.rst" in CONTRIBUTING


def test_linters_are_the_same_everywhere() -> None:
    """.ci/run, tox.ini and the page for contributors call the same ones."""
    for name in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert name in CONTRIBUTING
        assert name in (ROOT / "tox.ini").read_text()
        assert name.split()[-1] in (ROOT / ".ci" / "run").read_text()


def test_every_tier_is_run_and_described() -> None:
    run, extended = ((ROOT / ".ci" / name).read_text() for name in ("run", "extended"))
    assert "--tier ci" in run
    assert '-m "slow or not slow"' in extended
    for page in (README, CONTRIBUTING, TESTS):
        assert all(tier in page for tier in ("`pytest`", "`.ci/run`", "`.ci/extended PART`"))


def test_the_version_is_in_the_changelog() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_settings_are_in_one_folder_everywhere() -> None:
    samples = ROOT / "api-ref" / "guides" / "samples"
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "api-ref").rglob("*.rst"), *samples.iterdir()]
    named = [
        (file.name, path) for file in files for path in re.findall(r"/etc/baremetal-sched[\w./-]*", file.read_text())
    ]
    assert {file for file, _ in named} >= {"README.md", "production.rst", "Containerfile"}
    for file, path in named:
        assert re.fullmatch(
            r"/etc/baremetal-sched(/((baremetal-sched|migration|conductor)\.conf|htpasswd|roles\.yaml|secrets\.keys|controllers\.pem))?",
            path,
        ), (file, path)


def test_each_picture_of_a_page_has_a_place_and_can_be_made_again() -> None:
    """``python -m tests.pictures`` makes them."""
    there = {path.name for path in pictures.GUIDES.glob("*.png")}
    assert there == pictures.referred_to()
    assert there <= set(pictures.PICTURES)
