"""The same tests as in ``test_suites.py``, with the same users, against a real Ironic: they all pass there, too.

``pytest -n 0 tests/clients/keystone/ironic_suite.py``, where ``IRONIC_PYTHON`` names a Python that has Ironic 39,
unless the benchmarks have installed one. It is not collected otherwise.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.baremetal.original import SETTINGS
from tests.clients.keystone.cloud import Keystone
from tests.clients.keystone.suite import run_openstacksdk
from tests.originals import ironic_python, served_ironic

#: What is otherwise than in the benchmarks.
_OTHERWISE = {
    "auth_strategy = noauth": "auth_strategy = keystone",
    # A test creates a node with it.
    "enabled_firmware_interfaces = fake": "enabled_firmware_interfaces = fake, no-firmware",
    # A busy machine.
    "[conductor]": "[conductor]\nheartbeat_timeout = 600",
}


@pytest.fixture
def ironic(keystone: Keystone, tmp_path: Path) -> Iterator[str]:
    """Where an Ironic is that asks the Keystone, and has hardware that is not there."""
    python = ironic_python()
    assert python is not None, "IRONIC_PYTHON names no Python that has Ironic"
    settings = tmp_path / "ironic.conf"
    settings.write_text(_settings(keystone, tmp_path))
    with served_ironic(python, settings) as url:
        yield url


def _settings(keystone: Keystone, folder: Path) -> str:
    """API and conductor share a SQLite file: they must be patient with each other."""
    told = SETTINGS.format(folder=folder, connection=f"sqlite:///{folder}/ironic.sqlite?timeout=60")
    for one, other in _OTHERWISE.items():
        assert one in told
        told = told.replace(one, other)
    options = keystone.settings()["keystone_authtoken"].items()
    return f"{told}\n[keystone_authtoken]\n" + "".join(f"{name} = {value}\n" for name, value in options)


def test_openstacksdk(keystone: Keystone, ironic: str, tmp_path: Path) -> None:
    keystone.offer({"baremetal": ironic})
    outcomes = run_openstacksdk(keystone, tmp_path)
    outcomes.check(96, {})
