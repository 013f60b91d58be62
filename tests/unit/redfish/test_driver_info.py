"""``driver_info`` of Redfish machines: accepted values, and the messages about others."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.drivers.redfish.driver_info import PROPERTIES, RedfishTarget
from baremetal_sched.errors import InvalidValue
from tests.recorder import Recorder
from tests.redfish import PASSWORD, machine, quick

ADDRESSES = [
    ("bmc1.example.com", "https://bmc1.example.com", "/redfish/v1/"),
    ("https://bmc1.example.com/", "https://bmc1.example.com", "/redfish/v1/"),
    ("HTTP://bmc1:8000", "http://bmc1:8000", "/redfish/v1/"),
    ("bmc1:8443", "https://bmc1:8443", "/redfish/v1/"),
    ("192.0.2.7", "https://192.0.2.7", "/redfish/v1/"),
    ("2001:db8::7", "https://[2001:db8::7]", "/redfish/v1/"),
    ("[2001:db8::7]:8443", "https://[2001:db8::7]:8443", "/redfish/v1/"),
    ("https://gate.example.com/bmc1/redfish/v1", "https://gate.example.com", "/bmc1/redfish/v1/"),
]


def test_addresses(subtests: pytest.Subtests) -> None:
    for said, address, root in ADDRESSES:
        with subtests.test(said=said):
            target = RedfishTarget.of(machine(said))
            assert (target.address, target.root) == (address, root)


WRONG: list[tuple[dict[str, Any], str]] = [
    *(
        ({"redfish_address": value}, "driver_info/redfish_address ")
        for value in (
            None,
            "",
            7,
            ["a"],
            {},
            "ftp://bmc",
            "https://",
            "https://a b",
            "https://bmc:99999",
            "http://[::1",
        )
    ),
    ({"redfish_address": "https://bmc1/?a=b"}, "driver_info/redfish_address "),
    ({"redfish_address": "https://bmc1\r\nX: y"}, "driver_info/redfish_address "),
    ({"redfish_address": f"https://root:{PASSWORD}@bmc1"}, "must not have a user or a password in it"),
    *(
        ({"redfish_system_id": value}, "driver_info/redfish_system_id ")
        for value in (
            7,
            True,
            ["/a"],
            "Systems/1",
            "//evil.example.com/1",
            "http://evil.example.com/",
            "/a/../b",
            "/\n",
        )
    ),
    *(({"redfish_username": value}, "driver_info/redfish_username ") for value in (7, {}, "a\nb", "a" * 1025)),
    *(({"redfish_password": value}, "driver_info/redfish_password ") for value in (7, ["a"], "a\nb")),
    *(
        ({"redfish_verify_ca": value}, "driver_info/redfish_verify_ca ")
        for value in (7, [], "/none", "/dev/zero", "", "a\0b")
    ),
    *(({"redfish_auth_type": value}, "driver_info/redfish_auth_type ") for value in (7, [], "", "Basic")),
    ({"redfish_password": 1234}, "is a number, and must be a text"),
    ({"redfish_auth_type": "session"}, "driver_info/redfish_username is missing"),
    ({"redfish_auth_type": "session", "redfish_username": "root"}, "driver_info/redfish_password is missing"),
]


def test_what_is_wrong_is_named(subtests: pytest.Subtests) -> None:
    for info, said in WRONG:
        with subtests.test(info=info):
            with pytest.raises(InvalidValue) as refused:
                RedfishTarget.of(machine(**info))
            assert said in str(refused.value)
            assert PASSWORD not in str(refused.value)


def test_verifying_certificates(subtests: pytest.Subtests) -> None:
    for value, verified in [
        (None, True),
        (True, True),
        (False, False),
        ("True", True),
        ("yes", True),
        ("0", False),
        ("off", False),
    ]:
        with subtests.test(value=value):
            assert RedfishTarget.of(machine(redfish_verify_ca=value)).verify_ca is verified


def test_certificates_of_authorities(tmp_path: Path) -> None:
    assert RedfishTarget.of(machine(redfish_verify_ca=str(tmp_path))).verify_ca == str(tmp_path)
    settings = quick(verify_ca="/etc/bmc-ca.pem")
    assert RedfishTarget.of(machine(settings=settings)).verify_ca == "/etc/bmc-ca.pem"
    assert RedfishTarget.of(machine(settings=settings, redfish_verify_ca=False)).verify_ca is False


def test_a_machine_is_named_or_the_only_one() -> None:
    assert RedfishTarget.of(machine()).system_id is None
    assert (
        RedfishTarget.of(machine(redfish_system_id="/redfish/v1/Systems/a b")).system_id == "/redfish/v1/Systems/a%20b"
    )


def test_the_password_is_not_shown() -> None:
    target = RedfishTarget.of(machine(redfish_username="root", redfish_password=PASSWORD))
    assert target.password == PASSWORD
    assert PASSWORD not in repr(target)


def test_null_is_as_if_it_were_not_there() -> None:
    info = dict.fromkeys(("system_id", "username", "password", "verify_ca", "auth_type"))
    known = machine()
    target = RedfishTarget.of(
        replace(known, driver_info=known.driver_info | {f"redfish_{name}": None for name in info})
    )
    assert target == RedfishTarget.of(known)


def test_each_property_that_is_read_is_described_and_no_other() -> None:
    info = Recorder(machine().driver_info)
    RedfishTarget.of(replace(machine(), driver_info=info))
    assert info.read == set(PROPERTIES)


WITHOUT_SUSHY = """
import sys
sys.modules["sushy"] = None
from baremetal_sched.conductor.process import check_registration
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import load
check_registration(load())
try:
    check_registration(load(overrides={"DEFAULT": {"enabled_hardware_types": "redfish,fake-hardware"}}))
except InvalidValue as error:
    print(error)
"""


@pytest.mark.ci
def test_without_its_library_it_says_what_to_install() -> None:
    """And everything else works."""
    ended = subprocess.run([sys.executable, "-c", WITHOUT_SUSHY], capture_output=True, text=True, check=True)
    assert "of hardware type redfish is enabled" in ended.stdout
    assert "Install 'baremetal-sched[redfish]', which has what it needs." in ended.stdout
