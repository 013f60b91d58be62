"""``baremetal-sched policy``."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from baremetal_sched.app import APIS
from baremetal_sched.baremetal.api.policies import RULES
from baremetal_sched.cli import cli
from tests.service import Service


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["policy", *arguments])


@pytest.fixture
def configuration(service: Service, tmp_path: Path) -> Path:
    """A configuration file beside which a file of policies may lie."""
    path = tmp_path / "service.conf"
    path.write_text(
        f"[database]\nconnection = {service.database_url}\n[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n"
    )
    return path


def test_list_shows_the_rules_of_all_apis() -> None:
    lines = _run("list").output.splitlines()
    assert [line for line in lines if line.startswith("# ")] == [*(f"# {api.name}" for api in APIS), "# root"]
    assert '"baremetal:node:delete": "role:admin and system_scope:all"  (system, project)' in lines
    assert '#"baremetal:step:execute:<interface>.<step>": not set by default' in lines


def test_sample_becomes_the_defaults_without_its_marks() -> None:
    sample = _run("sample", "--api", "baremetal").output
    assert yaml.safe_load(sample) is None
    rules = "\n".join(line.removeprefix("#") for line in sample.splitlines() if line.startswith('#"'))
    assert yaml.safe_load(rules) == {rule.name: rule.check_str for rule in RULES}
    assert "# Delete a node\n# DELETE /baremetal/v1/nodes\n# DELETE /baremetal/v1/nodes/<ident>\n" in sample
    assert '# "baremetal:step:execute:<interface>.<step>": "role:admin"\n' in sample


def test_check_says_what_is_wrong(configuration: Path) -> None:
    (configuration.parent / "policy.yaml").write_text('"baremetal:node:gett": "@"\n')
    result = _run("check", "--config-file", str(configuration))
    assert (result.exit_code, result.stdout) == (
        1,
        "Nothing asks for the rule baremetal:node:gett. Did you mean 'baremetal:node:get'?\n",
    )


def test_check_knows_rules_for_single_steps(configuration: Path) -> None:
    file = configuration.parent / "policy.yaml"
    file.write_text('"baremetal:step:execute:bios.factory_reset": "role:admin"\n')
    assert _run("check", "--config-file", str(configuration)).stdout == "ok\n"
    file.write_text('"baremetal:step:execute:bio.factory_reset": "role:admin"\n')
    result = _run("check", "--config-file", str(configuration))
    assert result.stdout.startswith("Nothing asks for the rule baremetal:step:execute:bio.factory_reset.")


def test_check_misses_a_file_that_is_named(configuration: Path) -> None:
    result = _run("check", "--config-file", str(configuration))
    assert result.exit_code == 1
    assert result.stdout.startswith("There is no file ")


def test_check_counts_what_belongs_to_no_project(service: Service, configuration: Path) -> None:
    (configuration.parent / "policy.yaml").write_text('"baremetal:node:get": "role:reader"\n')
    assert _run("check", "--config-file", str(configuration)).stdout == "ok\n"
    service.add_conductor("host")
    service.add_node("ownerless")
    service.set_columns(service.add_node("owned"), owner="a-project")
    service.baremetal("POST", "/allocations", {"resource_class": "nothing"})
    result = _run("check", "--config-file", str(configuration))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Nodes without an owner, visible only to system-scoped callers: 1",
        "Allocations without an owner, visible only to system-scoped callers: 1",
        "ok",
    ]
