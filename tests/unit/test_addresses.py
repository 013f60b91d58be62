"""Which hosts may be called by what others write."""

import pytest

from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts, is_public
from baremetal_sched.errors import InvalidValue

USUAL = ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1", "172.16.0.1"]
#: Of this machine, in all the ways in which it can be written.
LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
LINK_LOCAL = ["169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"]
OF_NO_MACHINE = ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1"]
OF_NO_MACHINE += ["::ffff:0.0.0.0", "::127.0.0.1", "64:ff9b:1::a00:1"]


def is_allowed(hosts: AllowedHosts, host: str, address: str) -> bool:
    try:
        hosts.require(host, address)
    except AddressRefused:
        return False
    return True


def test_every_usual_address_may_be_called_unless_some_are_listed() -> None:
    hosts = AllowedHosts([], loopback=False)
    assert all(is_allowed(hosts, "h", address) for address in USUAL)
    assert not any(is_allowed(hosts, "h", address) for address in LOOPBACK + LINK_LOCAL + OF_NO_MACHINE)


def test_loopback_may_be_called_where_it_is_all_there_is() -> None:
    hosts = AllowedHosts([], loopback=True)
    assert all(is_allowed(hosts, "h", address) for address in USUAL + LOOPBACK)
    assert not any(is_allowed(hosts, "h", address) for address in LINK_LOCAL + OF_NO_MACHINE)


def test_a_list_says_which_hosts() -> None:
    hosts = AllowedHosts(["cmdb.example.com", "*.Example.org.", "10.1.0.0/16", "2001:db8::5"], loopback=False)
    for host in ("cmdb.example.com", "CMDB.example.com.", "a.example.org", "a.b.example.org"):
        assert is_allowed(hosts, host, "192.0.2.1")
    for host in ("other", "example.org", "xexample.org", "cmdb.example.com.evil", "192.0.2.1"):
        assert not is_allowed(hosts, host, "192.0.2.1")
    assert is_allowed(hosts, "anything", "10.1.2.3")
    assert is_allowed(hosts, "10.1.2.3", "::ffff:10.1.2.3")
    assert is_allowed(hosts, "anything", "2001:db8::5")
    assert not is_allowed(hosts, "anything", "10.2.0.1")


def test_a_listed_name_does_not_lead_to_the_machine_itself_nor_to_its_link() -> None:
    hosts = AllowedHosts(["cmdb.example.com"], loopback=False)
    assert not any(is_allowed(hosts, "cmdb.example.com", address) for address in LOOPBACK + LINK_LOCAL + OF_NO_MACHINE)


def test_what_is_listed_by_its_address_may_be_called() -> None:
    hosts = AllowedHosts(["169.254.169.254", "127.0.0.0/8", "[::1]"], loopback=False)
    for address in ("169.254.169.254", "::ffff:169.254.169.254", "127.0.0.1", "::1"):
        assert is_allowed(hosts, "metadata", address)
    assert not is_allowed(hosts, "metadata", "169.254.1.1")


def test_an_entry_that_is_none_is_refused(subtests: pytest.Subtests) -> None:
    for entry in ["10.0.0.0/99", "http://h", "h:80", "a/b", ""]:
        with subtests.test(entry=entry), pytest.raises(InvalidValue, match="allowed_hosts"):
            AllowedHosts([entry], loopback=False)


def test_addresses_of_agents() -> None:
    hosts = AllowedHosts(["cmdb.example.com", "169.254.7.0/24"], loopback=False)
    for host in (*USUAL, "agent.example.com", "169.254.7.1"):
        hosts.require_literal(host)
    for host in (*LOOPBACK, *LINK_LOCAL, *OF_NO_MACHINE, "localhost", "LOCALHOST."):
        with pytest.raises(AddressRefused):
            hosts.require_literal(host)
    AllowedHosts([], loopback=True).require_literal("localhost")


# -- receivers of webhooks: public addresses, and what is listed -------------------------------------------------------

PUBLIC = ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1", "2002:101:101::"]
PRIVATE = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fec0::1", "198.18.0.1", "192.0.2.1"]
PRIVATE += ["::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001:db8::1", "2001:0:101:101::1"]


def of_webhooks(*entries: str, public: bool) -> AllowedHosts:
    return AllowedHosts(entries, loopback=False, option="[events] allowed_hosts", public=public)


def test_what_is_public() -> None:
    assert all(is_public(each) for each in PUBLIC)
    assert not any(is_public(each) for each in PRIVATE + LOOPBACK + LINK_LOCAL + OF_NO_MACHINE)


def test_public_addresses_only() -> None:
    hosts = of_webhooks(public=True)
    assert all(is_allowed(hosts, "h", each) and is_allowed(hosts, each, each) for each in PUBLIC)
    assert not any(is_allowed(hosts, "h", each) for each in PRIVATE + LOOPBACK + LINK_LOCAL + OF_NO_MACHINE)
    for host in (*PUBLIC, "hooks.example.com"):
        hosts.require_literal(host)
    for host in (*PRIVATE, *LOOPBACK, *LINK_LOCAL, "localhost"):
        with pytest.raises(AddressRefused, match=r"to allow it, list it in \[events\] allowed_hosts"):
            hosts.require_literal(host)


def test_a_list_adds_to_public_addresses() -> None:
    """A name that is listed may lead anywhere, except to this machine and its link."""
    hosts = of_webhooks("hooks.example.com", "10.1.0.0/16", public=True)
    assert all(is_allowed(hosts, "h", each) for each in [*PUBLIC, "10.1.2.3"])
    assert all(is_allowed(hosts, "hooks.example.com", each) for each in PUBLIC + PRIVATE)
    assert not any(is_allowed(hosts, "hooks.example.com", each) for each in LOOPBACK + LINK_LOCAL + OF_NO_MACHINE)
    assert not any(is_allowed(hosts, "h", each) for each in PRIVATE)
    hosts.require_literal("10.1.2.3")
    with pytest.raises(AddressRefused):
        hosts.require_literal("10.2.2.3")


def test_a_list_without_public_addresses() -> None:
    hosts = of_webhooks("hooks.example.com", public=False)
    assert all(is_allowed(hosts, "hooks.example.com", each) for each in PUBLIC + PRIVATE)
    assert not any(is_allowed(hosts, "h", each) for each in PUBLIC + PRIVATE)
    assert not any(is_allowed(of_webhooks(public=False), "h", each) for each in PUBLIC + PRIVATE)


def test_a_refusal_says_what_to_list_and_not_where_a_name_leads() -> None:
    hosts = of_webhooks(public=True)
    with pytest.raises(AddressRefused) as caught:
        hosts.require("hooks.example.com", "10.1.2.3")
    assert str(caught.value) == (
        "hooks.example.com does not lead to a public address; to allow it, list it in [events] allowed_hosts"
    )
