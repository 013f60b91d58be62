"""Real agents clean machines, and write images to their disks; each story is told in a sandbox."""

from pathlib import Path

import pytest

from tests.agents import isolation, sandbox
from tests.clients.environments import python_with

_AGENT = "ironic-python-agent==13.0.0"
_METALSMITH = "metalsmith==2.5.0"


@pytest.mark.parametrize(
    ("story", "machines"),
    [
        ("test_three_clients", 3),
        ("test_images_that_cannot_be_written", 1),
        ("test_an_image_of_a_partition", 1),
        ("test_how_an_agent_ends", 2),
        ("test_agents_that_wait", 1),
        ("test_cleaning_by_hand", 1),
    ],
)
def test_story(pytestconfig: pytest.Config, tmp_path: Path, story: str, machines: int) -> None:
    sandbox.require()
    agent = python_with(pytestconfig, "ironic-python-agent", _AGENT)
    metalsmith = python_with(pytestconfig, "metalsmith", _METALSMITH).with_name("metalsmith")
    sandbox.run(tmp_path, story, machines, agent_python=str(agent), metalsmith=str(metalsmith))


def test_a_machine_is_no_sandbox(tmp_path: Path) -> None:
    """The check finds everything that must be missing before an agent is started, where it is present."""
    (tmp_path / "reboot").write_text("")
    (tmp_path / "reboot").chmod(0o755)
    found = isolation.flaws(isolation.namespaces(), ["/dev/nosuch"], tmp_path)
    for flaw in ("net namespace", "pid namespace", "block devices are", "/ is not read-only", f"{tmp_path}/reboot"):
        assert any(flaw in each for each in found), found
