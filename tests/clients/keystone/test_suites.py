"""The functional tests that openstacksdk ships for bare metal, with users of a real Keystone."""

from pathlib import Path

from tests.clients.keystone.cloud import Keystone
from tests.clients.keystone.suite import run_openstacksdk

#: With these they would want flavors and images to be there.
OTHERS = {"placement": "/placement", "compute": "/compute/v2.1", "image": "/image"}


def test_openstacksdk(keystone: Keystone, url: str, tmp_path: Path) -> None:
    """All of them: without tokens one fails, which needs to know the project of its caller."""
    keystone.withdraw(*OTHERS)
    try:
        outcomes = run_openstacksdk(keystone, tmp_path)
    finally:
        keystone.offer({kind: f"{url}{path}" for kind, path in OTHERS.items()})
    outcomes.check(96, {})
