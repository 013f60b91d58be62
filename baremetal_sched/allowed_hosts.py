"""Which hosts the service may contact at addresses that clients supply: in inspection rules and webhooks, and through
agents."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings

Address = IPv4Address | IPv6Address

#: IPv4 addresses that are embedded in IPv6, as address translators use them.
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(InvalidValue):
    """A host that must not be called."""


class AllowedHosts:
    """The hosts that may be contacted.

    ``entries`` are host names, names that begin with ``*.``, addresses and networks. ``public`` says which hosts may be
    contacted besides: those with public addresses, or none; by default all if there are no entries, or else none.
    Loopback, link-local and multicast addresses and the like are refused unless an entry is the address itself or a
    network that contains it. ``loopback``: loopback is allowed in any case. ``option``: the name of the list, for
    messages.
    """

    def __init__(
        self,
        entries: Iterable[str],
        *,
        loopback: bool,
        option: str = "[inspection_rules] allowed_hosts",
        public: bool | None = None,
    ) -> None:
        self._option = option
        self._public = public
        self._names: set[str] = set()
        self._suffixes: list[str] = []
        self._networks: list[IPv4Network | IPv6Network] = []
        self._loopback = loopback
        for entry in entries:
            self._add(entry.strip().rstrip(".").lower())
        self.lists_some = bool(self._names or self._suffixes or self._networks)

    def _add(self, entry: str) -> None:
        try:
            self._networks.append(ip_network(entry.strip("[]"), strict=False))
        except ValueError:
            if not entry or "/" in entry or ":" in entry:
                raise InvalidValue(
                    message=f"{self._option}: {entry!r} is not a name, an address or a network."
                ) from None
            if entry.startswith("*."):
                self._suffixes.append(entry[1:])
            else:
                self._names.add(entry)

    def require(self, host: str, address: str) -> None:
        """Raise AddressRefused unless the host, which resolves to ``address``, may be contacted."""
        found = _plain(address)
        if self._lists(found):
            return
        self._require_usual(host, found)
        if not self._is_listed(host):
            self._require_besides(host, found)

    def require_literal(self, host: str) -> None:
        """Raise AddressRefused if ``host`` is a loopback or link-local address, or not that of a single machine; with
        ``public``, if it is an address that ``require`` refuses."""
        try:
            found = _plain(host)
        except ValueError:
            if host.rstrip(".").lower() == "localhost" and not self._loopback:
                raise self._refused(f"{host} is this machine itself") from None
            return
        if self._public is not None:
            self.require(host, host)
        elif not self._lists(found):
            self._require_usual(host, found)

    def _lists(self, address: Address) -> bool:
        return any(address in network for network in self._networks)

    def _is_listed(self, host: str) -> bool:
        name = host.rstrip(".").lower()
        return name in self._names or any(name.endswith(suffix) for suffix in self._suffixes)

    def _require_usual(self, host: str, address: Address) -> None:
        if address.is_loopback:
            if not self._loopback:
                raise self._refused(f"{host} ({address}) is this machine itself")
        elif address.is_link_local:
            raise self._refused(f"{host} ({address}) is a link-local address")
        elif address.is_unspecified or address.is_multicast or address.is_reserved:
            raise AddressRefused(message=f"{host} ({address}) is not the address of a machine")

    def _require_besides(self, host: str, address: Address) -> None:
        if self._public is None:
            if self.lists_some:
                raise AddressRefused(message=f"{host} ({address}) is not in {self._option}")
        elif not self._public:
            raise AddressRefused(message=f"{host} is not in {self._option}")
        elif not _is_public(address):
            # Clients need not know where a name leads in the operator's network.
            verb = "is not" if _is_address(host) else "does not lead to"
            raise self._refused(f"{host} {verb} a public address")

    def _refused(self, reason: str) -> AddressRefused:
        return AddressRefused(message=f"{reason}; to allow it, list it in {self._option}")


def _plain(text: str) -> Address:
    """Return the address in ``text`` without its zone, as IPv4 if IPv4 is embedded in it. Raises ValueError."""
    address = ip_address(text.partition("%")[0].strip("[]"))
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def _is_address(host: str) -> bool:
    try:
        return bool(_plain(host))
    except ValueError:
        return False


def is_public(text: str) -> bool:
    """Return whether the address can be reached from everywhere: it is that of a machine, and neither private nor
    shared nor of a site. Raises ValueError."""
    return _is_public(_plain(text))


def _is_public(address: Address) -> bool:
    is_of_site = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (is_of_site or address.is_multicast or address.is_reserved)


def allowed_hosts(settings: Settings) -> AllowedHosts:
    """Return the hosts that the settings allow. Raises InvalidValue for an entry that names no host."""
    options = settings.inspection_rules
    return AllowedHosts(options.allowed_hosts, loopback=bool(options.allow_loopback))
