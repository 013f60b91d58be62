"""Which inspection hooks are enabled, and which settings they refuse."""

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baremetal_sched.baremetal.inspection.hooks import registry
from baremetal_sched.baremetal.inspection.hooks.hook import HookFailed
from baremetal_sched.baremetal.inspection.hooks.registry import HOOKS
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.conductor.process import check_registration
from baremetal_sched.db.types import dump_json
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import load
from tests.functional.fuzz.words import odd_values


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


def test_settings_that_stop_the_start(subtests: pytest.Subtests) -> None:
    for option, value, text in [
        ("hooks", "ramdisk-error,nosuch", "unknown hook 'nosuch'"),
        ("hooks", "ports", "ports needs validate-interfaces before it"),
        ("hooks", "ports,validate-interfaces", "ports needs validate-interfaces before it"),
        ("hooks", "physical-network", "needs validate-interfaces"),
        ("pci_device_alias", ["{}"], "pci_device_alias"),
        ("pci_device_alias", ["x"], "pci_device_alias"),
        ("physical_network_cidr_map", ["x:net"], "physical_network_cidr_map"),
        ("known_accelerators", "/nosuch", "known_accelerators: /nosuch cannot be read"),
    ]:
        with subtests.test(option=option, value=value), pytest.raises(InvalidValue, match=text):
            check_registration(load(overrides={"inspector": {option: value}}))


def test_files_that_name_no_accelerators(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for text in [
        "",
        "[]",
        "{",
        "\0",
        "devices: []",
        "pci_devices: 1",
        "pci_devices: [1]",
        'pci_devices: [{vendor_id: "1"}]',
        "pci_devices: [{vendor_id: 1, device_id: 2, since: 2026-01-01}]",
    ]:
        with subtests.test(text=text):
            file = tmp_path / "known.yaml"
            file.write_text(text)
            with pytest.raises(InvalidValue, match="known_accelerators"):
                check_registration(load(overrides={"inspector": {"known_accelerators": str(file)}}))


_ODD = odd_values
_INTERFACE = st.fixed_dictionaries(
    {"mac_address": st.sampled_from(["52:54:00:00:00:01", "52:54:00:00:00:02", "x"])},
    optional={
        "name": st.sampled_from(["eth0", "eth1", "lo", 5, [1]]),
        "lldp": st.lists(st.tuples(st.integers(0, 6), st.text("0123f")).map(list)) | _ODD,
        **dict.fromkeys(("ipv4_address", "ipv6_address", "client_id"), _ODD),
    },
)
_PARTS = {
    "boot": st.fixed_dictionaries({}, optional={"pxe_interface": _ODD, "current_boot_mode": _ODD}) | _ODD,
    "cpu": st.fixed_dictionaries({}, optional={"architecture": _ODD, "count": _ODD, "flags": _ODD}) | _ODD,
    "memory": st.fixed_dictionaries({}, optional={"physical_mb": _ODD}) | _ODD,
}
_DISK = st.fixed_dictionaries({}, optional=dict.fromkeys(("name", "size", "serial", "model", "rotational"), _ODD))
_PCI_DEVICE = st.fixed_dictionaries(
    {"vendor_id": st.just("10de") | _ODD, "product_id": st.just("1eb8") | _ODD}, optional={"bus": _ODD}
)
_PARTS |= {"disks": st.lists(_DISK | _ODD) | _ODD, "pci_devices": st.lists(_PCI_DEVICE | _ODD) | _ODD}
_PLUGIN_DATA = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("lldp_raw", "error"), _ODD),
        "pci_devices": st.lists(_PCI_DEVICE | _ODD) | _ODD,
        "root_disk": _DISK | _ODD,
        "data": st.lists(st.lists(_ODD, min_size=2, max_size=5) | _ODD) | _ODD,
    },
)
_INVENTORY = st.fixed_dictionaries({"interfaces": st.lists(_INTERFACE, min_size=1, max_size=4)}, optional=_PARTS)
_PROPERTIES = st.fixed_dictionaries(
    {}, optional={"root_device": st.just({"size": ">= 1", "serial": "x"}) | _ODD, "skip_block_devices": _ODD}
)
_OPTIONS = {"add_ports": "all", "keep_ports": "present", "physical_network_cidr_map": ["0.0.0.0/1:low"]}


@given(
    inventory=_INVENTORY,
    plugin_data=_PLUGIN_DATA,
    properties=_PROPERTIES,
    before=st.none() | _INVENTORY,
    name=st.sampled_from(sorted(HOOKS)),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_whatever_an_agent_reports_a_hook_fails_for_a_reason(
    inventory: Any, plugin_data: Any, properties: Any, before: Any, name: str
) -> None:
    reported = deepcopy(inventory)
    blank = {"extra": {}, "local_link_connection": {}, "pxe_enabled": True, "physical_network": None}
    subject = Subject({"properties": properties}, [], inventory, plugin_data, inventory_before=before, blank_port=blank)
    with suppress(HookFailed):
        registry.run(("validate-interfaces", "ports", name), subject, load(overrides={"inspector": _OPTIONS}))
    assert inventory == reported
    assert dump_json(subject.plugin_data)


def test_whatever_is_needed_is_a_hook() -> None:
    assert {needed for hook in HOOKS.values() for needed in hook.needs} <= set(HOOKS)
