"""Which hosts and addresses a service may be sent to by what others write: rules of inspections, and agents."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

Address = IPv4Address | IPv6Address

_HOW = "to call it all the same, list it in [inspection_rules] allowed_hosts"
#: IPv4 addresses within IPv6, as translators of networks have them.
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(InvalidValue):
    """A host that must not be called."""


class AllowedHosts:
    """The hosts that may be called.

    ``entries`` are names, names with ``*.`` before them, addresses and networks; without any, every host is
    allowed. Addresses that lead to this machine, to its own link or to no single machine are refused unless an entry is
    a network with them, or the address itself; ``loopback`` says whether this machine may be called all the same.
    """

    def __init__(self, entries: Iterable[str], *, loopback: bool) -> None:
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._networks: list[IPv4Network | IPv6Network] = []
        self._loopback = loopback
        for entry in entries:
            self._add(entry.strip().rstrip(".").lower())
        self._lists_some = bool(self._names or self._suffixes or self._networks)

    def _add(self, entry: str) -> None:
        try:
            self._networks.append(ip_network(entry.strip("[]"), strict=False))
        except ValueError:
            if not entry or "/" in entry or ":" in entry:
                raise InvalidValue(
                    message=f"[inspection_rules] allowed_hosts: {entry!r} is not a name, an address or a network."
                ) from None
            if entry.startswith("*."):
                self._suffixes.append(entry[1:])
            else:
                self._names.add(entry)

    def require(self, host: str, address: str) -> None:
        """Raise AddressRefused unless the host, which is at ``address``, may be called."""
        found = _plain(address)
        if any(found.version == network.version and found in network for network in self._networks):
            return
        self._require_usual(host, found)
        if self._lists_some and not self._is_listed(host):
            raise AddressRefused(message=f"{host} ({found}) is not in [inspection_rules] allowed_hosts")

    def require_literal(self, host: str) -> None:
        """Raise AddressRefused if ``host`` is an address that leads to this machine, its link or no single machine."""
        try:
            found = _plain(host)
        except ValueError:
            if host.rstrip(".").lower() == "localhost" and not self._loopback:
                raise AddressRefused(message=f"{host} is this machine itself; {_HOW}") from None
            return
        if not any(found.version == network.version and found in network for network in self._networks):
            self._require_usual(host, found)

    def _is_listed(self, host: str) -> bool:
        name = host.rstrip(".").lower()
        return name in self._names or any(name.endswith(suffix) for suffix in self._suffixes)

    def _require_usual(self, host: str, address: Address) -> None:
        if address.is_loopback:
            if not self._loopback:
                raise AddressRefused(message=f"{host} ({address}) is this machine itself; {_HOW}")
        elif address.is_link_local:
            raise AddressRefused(message=f"{host} ({address}) is a link-local address; {_HOW}")
        elif address.is_unspecified or address.is_multicast or address.is_reserved:
            raise AddressRefused(message=f"{host} ({address}) is not the address of a machine")


def _plain(text: str) -> Address:
    """The address in ``text``, without a zone; that of IPv4 if one of IPv6 stands for it. Raises ValueError."""
    address = ip_address(text.partition("%")[0].strip("[]"))
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def allowed_hosts(settings: Settings) -> AllowedHosts:
    """The hosts that the settings allow. Raises InvalidValue for an entry that names no host."""
    options = settings.inspection_rules
    return AllowedHosts(options.allowed_hosts, loopback=bool(options.allow_loopback))
