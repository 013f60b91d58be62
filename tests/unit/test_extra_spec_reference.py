"""The page about extra specs lists all that is refused by name, and its example is accepted."""

import re
from pathlib import Path

from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.image.properties import REFUSED

PAGE = (Path(__file__).parents[2] / "api-ref" / "compute" / "extra_specs.rst").read_text()


def test_what_is_refused_by_name_is_listed() -> None:
    for namespace in extra_specs.REFUSED_NAMESPACES:
        assert f"``{namespace}:*``" in PAGE
    listed = re.findall(r"``((?:hw|os)_\w+)``", PAGE.partition("Image properties that become")[2])
    assert listed[: len(REFUSED)] == list(REFUSED)


def test_the_example_is_a_flavor_for_bare_metal() -> None:
    specs = dict(re.findall(r"--property (\S+)=(\d)", PAGE))
    assert set(specs.values()) == {"0", "1"}
    extra_specs.check(specs)
