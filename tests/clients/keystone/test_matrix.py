"""The matrix of ``tests/conformance/policies`` with tokens of a real Keystone: every route, caller and kind of node."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.keystone.cloud import Keystone
from tests.conformance.policies.matrix import RESOURCES, Services, services, tokens
from tests.conformance.policies.ours import build


@pytest.fixture(scope="module")
def both(keystone: Keystone, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Our services, which ask Keystone about each token once: every request puts the world back."""
    folder = tmp_path_factory.mktemp("world")
    template = build(sqlite_template, folder / "world.sqlite", keystone.project_ids)
    with services(template, folder, tokens(keystone), **keystone.settings()) as running:
        yield running


@pytest.mark.parametrize("resource", RESOURCES)
def test_every_caller_gets_what_the_rules_say(both: Services, resource: str) -> None:
    wrong = list(both.wrong(resource))
    assert not wrong, f"{len(wrong)} of the answers:\n" + "\n".join(wrong)
