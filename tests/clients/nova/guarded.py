"""The service with a real Keystone, and a Nova that logs in there."""

from pathlib import Path
from typing import Any

import requests

from tests.clients.keystone.cloud import Keystone
from tests.clients.nova.rig import SETTINGS, Access, Site
from tests.processes import Client, Values


class Guarded(Site):
    """Nova finds the services in Keystone's catalogue. At first it is the user with the role service, which may do
    more."""

    def __init__(self, python: Path, folder: Path, keystone: Keystone) -> None:
        self.keystone = keystone
        self._who, self._elevated = ("service", "service"), True
        super().__init__(python, folder)

    def use(self, ironic: str, placement: str = "service", *, elevated: bool = False) -> None:
        """Let Nova be these people of ``people.PEOPLE`` for its Ironic and for its Placement: another Nova, if it was
        others. ``elevated``: see ``elevate``."""
        if elevated != self._elevated:
            self.elevate(elevated)
        if (ironic, placement) != self._who:
            self._who = ironic, placement
            self.replace_nova()

    def elevate(self, elevated: bool) -> None:
        """Let the service role do more, or not, with ``rbac_service_role_elevated_access``. Nova goes on."""
        self._elevated = elevated
        self.restart()

    @property
    def settings(self) -> Values:
        option = {"rbac_service_role_elevated_access": self._elevated}
        return {**SETTINGS, **self.keystone.settings(), "DEFAULT": option}

    def _operator(self) -> Client:
        return _Operator(self.url, self.keystone.token("system-admin"), self.keystone.token("red-admin"))

    def _access(self) -> Access:
        self.keystone.offer({"baremetal": f"{self.url}/baremetal", "placement": f"{self.url}/placement"})
        groups = zip(("ironic", "placement"), self._who, strict=True)
        return {group: {"auth_type": "password", **self.keystone.cloud(name)["auth"]} for group, name in groups}


class _Operator(Client):
    """An administrator of the system, who uses another token for Placement: that knows projects only."""

    def __init__(self, url: str, for_system: str, for_project: str) -> None:
        super().__init__(url, {"X-Auth-Token": for_system})
        self._in_project = Client(url, {"X-Auth-Token": for_project})

    def placement(self, method: str, path: str, body: Any = None, version: str = "1.39") -> requests.Response:
        return self._in_project.placement(method, path, body, version)
