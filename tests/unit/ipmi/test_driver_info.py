"""``driver_info`` of an IPMI controller."""

import pytest

from baremetal_sched.drivers.ipmi.driver_info import PROPERTIES, IpmiTarget
from baremetal_sched.errors import InvalidValue
from tests.recorder import Recorder
from tests.unit.ipmi.machines import machine

ADDRESS = {"ipmi_address": "10.0.0.1"}
PLAIN = ("-I", "lanplus", "-H", "10.0.0.1", "-L", "ADMINISTRATOR")
BRIDGE = {"ipmi_bridging": "single", "ipmi_target_channel": 7, "ipmi_target_address": "0x72"}


def test_what_ipmitool_is_told(subtests: pytest.Subtests) -> None:
    for info, options in [
        ({}, PLAIN),
        ({"ipmi_port": "6230", "ipmi_username": "ADMIN"}, (*PLAIN, "-p", "6230", "-U", "ADMIN")),
        ({"ipmi_port": 6230, "ipmi_username": ""}, (*PLAIN, "-p", "6230")),
        ({"ipmi_priv_level": "OPERATOR"}, (*PLAIN[:5], "OPERATOR")),
        ({"ipmi_protocol_version": 1.5}, ("-I", "lan", *PLAIN[2:])),
        ({"ipmi_protocol_version": "2.0", "ipmi_cipher_suite": "17"}, (*PLAIN, "-C", "17")),
        ({"ipmi_bridging": "no", "ipmi_target_channel": "nonsense"}, PLAIN),
        (BRIDGE, (*PLAIN, "-b", "7", "-t", "0x72")),
        ({**BRIDGE, "ipmi_local_address": "0x20"}, (*PLAIN, "-m", "0x20", "-b", "7", "-t", "0x72")),
        (
            {**BRIDGE, "ipmi_bridging": "dual", "ipmi_transit_channel": 0, "ipmi_transit_address": 255},
            (*PLAIN, "-B", "0", "-T", "255", "-b", "7", "-t", "0x72"),
        ),
        ({"ipmi_address": "bmc-1.example.com"}, (*PLAIN[:3], "bmc-1.example.com", *PLAIN[4:])),
        ({"ipmi_address": "fe80::1%eth0"}, (*PLAIN[:3], "fe80::1%eth0", *PLAIN[4:])),
    ]:
        with subtests.test(info=info):
            assert IpmiTarget.of(machine({**ADDRESS, **info})).options == options


def test_passwords_and_flags() -> None:
    target = IpmiTarget.of(machine({**ADDRESS, "ipmi_password": "-pässword", "ipmi_hex_kg_key": "4142430000"}))
    assert (target.password, target.kg_key, target.port) == ("-pässword", b"ABC", 623)
    assert "pässword" not in repr(target)
    assert "ABC" not in repr(target)
    assert IpmiTarget.of(machine({**ADDRESS, "ipmi_password": 12345678})).password == "12345678"
    assert (target.forces_boot_device, target.disables_boot_timeout) == (False, True)
    flags = {"ipmi_force_boot_device": "True", "ipmi_disable_boot_timeout": "off"}
    target = IpmiTarget.of(machine({**ADDRESS, **flags}))
    assert (target.forces_boot_device, target.disables_boot_timeout) == (True, False)
    assert not IpmiTarget.of(machine(ADDRESS, disable_boot_timeout=False)).disables_boot_timeout


def test_what_is_refused_and_by_which_name(subtests: pytest.Subtests) -> None:
    for info, said in [
        ({"ipmi_address": None}, "ipmi_address is missing"),
        ({"ipmi_address": ["10.0.0.1"]}, "ipmi_address must be a text"),
        ({"ipmi_address": "-oProxy"}, "ipmi_address must not begin with a hyphen"),
        ({"ipmi_address": "a b"}, "ipmi_address must be an IP address or a host name"),
        ({"ipmi_address": "10.0.0.999"}, "ipmi_address must be an IP address or a host name"),
        ({"ipmi_address": "10.0.0.1\n-v"}, "ipmi_address has characters that cannot be printed"),
        ({"ipmi_address": "a" * 254}, "ipmi_address must be a text of up to 253"),
        ({"ipmi_port": 0}, "ipmi_port must be a number from 1 to 65535"),
        ({"ipmi_port": True}, "ipmi_port"),
        ({"ipmi_port": "²"}, "ipmi_port"),
        ({"ipmi_port": {"a": 1}}, "ipmi_port"),
        ({"ipmi_username": "-L USER"}, "ipmi_username must not begin with a hyphen"),
        ({"ipmi_username": "a" * 17}, "ipmi_username must be a text of up to 16 bytes"),
        ({"ipmi_username": "a\0b"}, "ipmi_username has characters"),
        ({"ipmi_password": "Secret1\nSecret2"}, "ipmi_password has characters that cannot be printed"),
        ({"ipmi_password": "S" * 21}, "ipmi_password must be a text of up to 20 bytes"),
        ({"ipmi_password": "S" * 17, "ipmi_protocol_version": "1.5"}, "ipmi_password must be a text of up to 16"),
        ({"ipmi_password": ["Secret1"]}, "ipmi_password must be a text"),
        ({"ipmi_hex_kg_key": "abc"}, "ipmi_hex_kg_key must be an even number of up to 40 hexadecimal digits"),
        ({"ipmi_hex_kg_key": "ab cd"}, "ipmi_hex_kg_key must be"),
        ({"ipmi_hex_kg_key": "ab" * 21}, "ipmi_hex_kg_key must be"),
        ({"ipmi_hex_kg_key": 7}, "ipmi_hex_kg_key must be"),
        ({"ipmi_hex_kg_key": "ab00cd"}, "ipmi_hex_kg_key has a zero byte"),
        ({"ipmi_priv_level": "administrator"}, "ipmi_priv_level must be one of ADMINISTRATOR, CALLBACK"),
        ({"ipmi_priv_level": ["USER"]}, "ipmi_priv_level"),
        ({"ipmi_protocol_version": 3}, "ipmi_protocol_version must be one of 2.0, 1.5"),
        ({"ipmi_cipher_suite": "three"}, "ipmi_cipher_suite must be a number"),
        ({"ipmi_cipher_suite": 3, "ipmi_protocol_version": "1.5"}, "ipmi_cipher_suite cannot be used with"),
        ({"ipmi_bridging": "triple"}, "ipmi_bridging must be one of no, single, dual"),
        ({"ipmi_bridging": "single", "ipmi_target_channel": 1}, "ipmi_target_address is missing"),
        ({**BRIDGE, "ipmi_bridging": "dual"}, "ipmi_transit_channel is missing"),
        ({**BRIDGE, "ipmi_target_channel": 256}, "ipmi_target_channel must be a number from 0 to 255"),
        ({**BRIDGE, "ipmi_target_address": "-1"}, "ipmi_target_address must be"),
        ({"ipmi_force_boot_device": "perhaps"}, "ipmi_force_boot_device must be true or false"),
    ]:
        with subtests.test(info=info):
            with pytest.raises(InvalidValue) as error:
                IpmiTarget.of(machine({**ADDRESS, **info}))
            assert f"driver_info/{said}" in str(error.value)
            assert "Secret" not in str(error.value)


def test_each_property_that_is_read_is_described_and_no_other() -> None:
    bridged = {**ADDRESS, **BRIDGE, "ipmi_bridging": "dual", "ipmi_transit_channel": 0, "ipmi_transit_address": 255}
    info = Recorder(bridged)
    known = machine(bridged)
    known.driver_info = info
    IpmiTarget.of(known)
    assert info.read == set(PROPERTIES)
