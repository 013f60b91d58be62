"""The same stories with Ironic and with us, each with a machine of the same emulator that boots the same stub agent.

``IRONIC_PYTHON`` names a Python that has Ironic 39 and sushy, unless the benchmarks have installed one. Statuses, what
nodes and machines are, and the commands that agents get must be equal, except `differences.py`; ``-rP`` shows what
people are told by each side.
"""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.conformance.agents import stories
from tests.conformance.agents.differences import DIFFERENCES
from tests.conformance.agents.world import Agent, World
from tests.conformance.redfish.ironic import ironic
from tests.emulators import Emulator, ImageServer, fake_systems, image_server
from tests.originals import ironic_python
from tests.processes import OPEN, serve

pytestmark = pytest.mark.slow

_SETTINGS: dict[str, dict[str, Any]] = {
    **OPEN,
    "DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware"},
    "conductor": {"power_state_change_timeout": 20, "soft_power_off_timeout": 10, "sync_power_state_interval": 0},
    "deploy": {"erase_devices_priority": 0},
    "agent": {"post_deploy_get_power_state_retry_interval": 1},
}


#: Stories that are told at the same time. Ironic waits a lot.
_AT_ONCE = 24

Told = dict[str, tuple[Future[World], Future[World]]]


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """The stories that were chosen, each told to Ironic and to us, all at the same time."""
    python = ironic_python()
    if python is None:
        pytest.skip("IRONIC_PYTHON names no Python that has Ironic")
    folder = tmp_path_factory.mktemp("agents")
    chosen = {item.callspec.params["story"] for item in request.session.items if item.path == request.path}
    with (
        fake_systems(2 * len(stories.ALL)) as emulator,
        image_server() as images,
        ironic(python, folder / "theirs", images.url) as there,
        serve(folder, settings=_SETTINGS) as (_, here),
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        yield {
            story.__name__: (
                pool.submit(_tell, story, there, emulator, 2 * number, images),
                pool.submit(_tell, story, f"{here}/baremetal", emulator, 2 * number + 1, images),
            )
            for number, story in enumerate(stories.ALL)
            if story in chosen
        }


def _tell(story: stories.Story, url: str, emulator: Emulator, system: int, images: ImageServer) -> World:
    agent = Agent(lambda: world.shut_down())
    with agent.serve() as port:
        world = World(url, emulator, system, images, agent, port, story.__name__.replace("_", "-"))
        story(world)
    return world


@pytest.mark.parametrize("story", stories.ALL, ids=lambda story: story.__name__)
def test_story(told: Told, story: stories.Story) -> None:
    there, here = (each.result() for each in told[story.__name__])
    for name in sorted(there.told.keys() | here.told.keys()):
        print(f"{name}\n  there: {there.told.get(name)}\n  here:  {here.told.get(name)}")
    found = {
        name: (there.seen.get(name), here.seen.get(name))
        for name in [*there.seen, *(each for each in here.seen if each not in there.seen)]
        if there.seen.get(name) != here.seen.get(name)
    }
    known = [pattern for named, pattern, _ in DIFFERENCES if re.fullmatch(named, story.__name__)]
    unknown = [
        f"{name}\n  there: {one}\n  here:  {other}"
        for name, (one, other) in found.items()
        if not any(re.fullmatch(pattern, name) for pattern in known)
    ]
    assert not unknown, f"{len(unknown)} differences:\n" + "\n".join(unknown)
    unused = [pattern for pattern in known if not any(re.fullmatch(pattern, name) for name in found)]
    assert not unused, f"they do not differ any more: {unused}"
