"""The same stories with Ironic's own Redfish driver and with ours, each with a system of the same emulator.

``pytest -n 0 tests/conformance/redfish/beside_ironic.py``, where ``IRONIC_PYTHON`` names a Python that has Ironic 39
and sushy. It is not collected otherwise: it takes some minutes. Statuses, what nodes and systems are after each
request, and whether there is an error must be equal, except `differences.py`. ``STORIES`` is a regular expression
for some of the stories; ``-rP`` shows what people are told by each side.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.redfish import stories
from tests.conformance.redfish.differences import DIFFERENCES
from tests.conformance.redfish.ironic import ironic
from tests.conformance.redfish.world import Story, World
from tests.emulators import Emulator, fake_systems, image_server, libvirt_systems
from tests.originals import ironic_python
from tests.processes import serve

_DOMAIN = """<domain type='test'><name>domain-{0}</name><uuid>0000000{0}-0000-4000-8000-0000000000aa</uuid>
<memory>4194304</memory><vcpu>2</vcpu><os><type arch='x86_64'>hvm</type><boot dev='hd'/></os>
<devices><interface type='network'><mac address='52:54:00:00:00:0{0}'/><source network='default'/></interface></devices>
</domain>"""
_POOL = "<pool type='dir'><name>default</name><target><path>/nonexistent</path></target></pool>"
#: The only ones that are told, if it is given.
ONLY = re.compile(os.environ.get("STORIES", ""))
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware"},
    "conductor": {"power_state_change_timeout": 20, "soft_power_off_timeout": 10, "sync_power_state_interval": 0},
    "redfish": {
        "connection_attempts": 1,
        "connection_retry_interval": 0.1,
        "firmware_update_status_interval": 1,
        "firmware_update_validation_interval": 1,
        "firmware_update_bmc_version_check_interval": 1,
    },
}


@pytest.mark.parametrize("story", [each for each in stories.FAKE if ONLY.search(each.__name__)])
def test_fake_systems(story: Story, tmp_path: Path) -> None:
    users = {"admin": stories.PASSWORD}
    with fake_systems(2, users=users) as emulator:
        _compare(story, emulator, "fake", tmp_path)


@pytest.mark.parametrize("story", [each for each in stories.LIBVIRT if ONLY.search(each.__name__)])
def test_libvirt_systems(story: Story, tmp_path: Path) -> None:
    xml = tmp_path / "domains.xml"
    xml.write_text(f"<node>{_DOMAIN.format(1)}{_DOMAIN.format(2)}{_POOL}</node>")
    with libvirt_systems(xml) as emulator:
        _compare(story, emulator, "libvirt", tmp_path)


def _compare(story: Story, emulator: Emulator, kind: str, folder: Path) -> None:
    """Tell the story to both; what differs must be known."""
    with image_server() as images:
        worlds = []
        for number, api in enumerate((_theirs(folder, images.url), _ours(folder))):
            with api as url:
                world = World(url, emulator, number, images)
                worlds.append(world)
                story(world)
    there, here = worlds
    for name in sorted(there.told.keys() | here.told.keys()):
        print(f"{name}\n  there: {there.told.get(name)}\n  here:  {here.told.get(name)}")
    known = DIFFERENCES.get(f"{kind} {story.__name__}", {})
    found = {
        name: (there.seen.get(name), here.seen.get(name))
        for name in [*there.seen, *(each for each in here.seen if each not in there.seen)]
        if there.seen.get(name) != here.seen.get(name)
    }
    unknown = [
        f"{name}\n  there: {one}\n  here:  {other}"
        for name, (one, other) in found.items()
        if not any(re.fullmatch(pattern, name) for pattern in known)
    ]
    assert not unknown, f"{len(unknown)} differences:\n" + "\n".join(unknown)
    unused = [pattern for pattern in known if not any(re.fullmatch(pattern, name) for name in found)]
    assert not unused, f"they do not differ any more: {unused}"


@contextmanager
def _ours(folder: Path) -> Iterator[str]:
    (folder / "ours").mkdir()
    with serve(folder / "ours", settings=SETTINGS) as (_, url):
        yield f"{url}/baremetal"


@contextmanager
def _theirs(folder: Path, images: str) -> Iterator[str]:
    python = ironic_python()
    assert python is not None, "IRONIC_PYTHON names no Python that has Ironic"
    with ironic(python, folder / "theirs", images) as url:
        yield url
