"""Which inspection hooks are enabled, and which settings they refuse."""

from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.baremetal.hooks import registry
from baremetal_sched.baremetal.hooks.registry import HOOKS
from baremetal_sched.cli.conductor import check_registration
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import load


def enabled(**inspector: Any) -> list[str]:
    return list(registry.enabled(load(overrides={"inspector": inspector})))


DEFAULT = ["ramdisk-error", "validate-interfaces", "ports", "architecture"]


def test_the_default_hooks() -> None:
    assert enabled() == DEFAULT


def test_hooks_around_the_default_ones(tmp_path: Path) -> None:
    file = tmp_path / "x.conf"
    file.write_text("[inspector]\nhooks = memory,$default_hooks, cpus ,\n")
    assert registry.enabled(load([str(file)])) == ["memory", *DEFAULT, "cpus"]
    assert enabled(default_hooks="memory") == ["memory"]
    assert enabled(hooks="") == []


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("hooks", "ramdisk-error,nosuch", "there is no hook 'nosuch'"),
        ("hooks", "ports", "ports needs validate-interfaces before it"),
        ("hooks", "ports,validate-interfaces", "ports needs validate-interfaces before it"),
        ("hooks", "physical-network", "needs validate-interfaces"),
        ("pci_device_alias", ["{}"], "pci_device_alias"),
        ("pci_device_alias", ["x"], "pci_device_alias"),
        ("physical_network_cidr_map", ["x:net"], "physical_network_cidr_map"),
    ],
)
def test_settings_that_stop_the_start(option: str, value: Any, text: str) -> None:
    settings = load(overrides={"inspector": {option: value}})
    with pytest.raises(InvalidValue, match=text):
        check_registration(settings)


def test_whatever_is_needed_is_a_hook() -> None:
    assert {needed for hook in HOOKS.values() for needed in hook.needs} <= set(HOOKS)
