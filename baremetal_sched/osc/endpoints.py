"""Where the APIs are: by an override, by the service catalog, or beside another of the same service."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.identity.base import BaseIdentityPlugin
from osc_lib.exceptions import CommandError

#: Where a service mounts its APIs, all beside each other.
_MOUNTS = ("scheduling", "placement", "baremetal", "compute", "image")

#: The path of an endpoint may end with a version, and that of compute with a project behind it.
_VERSION = re.compile(r"/v\d+(\.\d+)?(/[0-9a-fA-F-]+)?$")


def without_version(url: str) -> str:
    """Return the address of an API without the version at its end, and without a slash there."""
    return _VERSION.sub("", url.rstrip("/"))


def sibling(url: str, mount: str) -> str:
    """Return the address of the API ``mount`` of the service that has another API at ``url``.

    Of an address that ends with no known name, it is assumed to be that of the service itself.
    """
    parts = urlsplit(without_version(url))
    path = parts.path.rstrip("/")
    before, _, last = path.rpartition("/")
    return urlunsplit((parts.scheme, parts.netloc, f"{before if last in _MOUNTS else path}/{mount}", "", ""))


class Endpoints:
    """Finds the address of each API, from the configuration of the ``openstack`` command and its session."""

    def __init__(self, configuration: Mapping[str, Any], session: Any, interface: str | None, region: str | None):
        self._configuration = configuration
        self._session = session
        self._filter = {"interface": interface or "public", "region_name": region}

    def url(self, service: str) -> str:
        """Return the address of the API of this type, without a version. Raises CommandError if none is known."""
        found = self._known(service)
        if found:
            return without_version(found)
        for other in _MOUNTS[1:]:
            beside = self._known(other)
            if beside:
                return sibling(beside, service)
        fixed = None if self._has_catalog else self._session.get_endpoint()
        if not fixed:
            raise CommandError(
                f"The address of the {service} API is not known. "
                f"Set OS_{service.upper()}_ENDPOINT_OVERRIDE or OS_PLACEMENT_ENDPOINT_OVERRIDE."
            )
        return sibling(fixed, service)

    @property
    def _has_catalog(self) -> bool:
        return isinstance(self._session.auth, BaseIdentityPlugin)

    def _known(self, service: str) -> str | None:
        override = self._configuration.get(f"{service}_endpoint_override")
        if override or not self._has_catalog:
            return override
        try:
            found: str | None = self._session.get_endpoint(service_type=service, **self._filter)
        except keystone_errors.EndpointNotFound:
            return None
        return found
