"""Addresses as Nova writes them."""

import netaddr
import pytest

from baremetal_sched.compute.hosts.network_addresses import compact_ipv6


def test_addresses(subtests: pytest.Subtests) -> None:
    for text in [
        *("2001:DB8:0:0:1::1", "1:0:0:2:0:0:0:3", "0:0:0:0:0:0:0:1", "::", "1::", "1:0:2:3:4:5:6:7"),
        *("::ffff:1.2.3.4", "::1.2.3.4", "::12:3456", "::ffff:0:1.2.3.4", "64:ff9b::1.2.3.4", "FE80:0:0::1"),
    ]:
        with subtests.test(text=text):
            assert compact_ipv6(text) == netaddr.IPAddress(text, 6).format(netaddr.ipv6_compact)


def test_what_is_no_address_stays(subtests: pytest.Subtests) -> None:
    for text in ["", "2001:DB8", "^2001:db8::1$", "fe80::1%eth0", "1.2.3.4", "a\0b"]:
        with subtests.test(text=text):
            assert compact_ipv6(text) == text
