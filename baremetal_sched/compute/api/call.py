"""A request to the compute API, as its views see it."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

from flask import Response
from werkzeug.utils import cached_property

from baremetal_sched.compute.api.policies import IS_ADMIN, name_of
from baremetal_sched.compute.schemas.form import Form
from baremetal_sched.errors import AnswerTimeout, UnavailableError, baremetal
from baremetal_sched.errors.baremetal import (
    ChildLocked,
    NodeInMaintenance,
    NodeIsRetired,
    NodeLocked,
    NodeProtected,
    NoValidHost,
    ParentLocked,
)
from baremetal_sched.errors.compute import MachineRefuses
from baremetal_sched.image.access import ImageRequester
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import HttpError
from baremetal_sched.web.policy import Target
from baremetal_sched.web.responses import json_response

#: Where the resources are, below the mount.
PREFIX = "/v2.1"


class ComputeCall(Call):
    """Adds the common parts of the views of this API."""

    not_json = "Malformed request body: it is not JSON."
    #: The administrator's password of the server that the request is about, and what checks it, once they are made.
    server_password: str | None = None
    hashed_password: str | None = None

    #: The rule of the requested action, if it is one.
    action_rule: str | None = None

    @property
    def target(self) -> Target:
        # What the caller lacks is left out: nothing is equal to it. A view that is about what belongs to another
        # project or user asks again: see ``require_for``.
        own = {"project_id": self.caller.project_id, "user_id": self.caller.user_id}
        return {name: value for name, value in own.items() if value is not None}

    @property
    def project_id(self) -> str:
        """The caller's project. Administrators without a project, and all callers while there is no authentication,
        have the project of the settings. Other callers without a project have one that no row has."""
        if self.caller.project_id is not None:
            return self.caller.project_id
        fallback: str = self.settings.compute.project_id
        return fallback if self.is_admin else ""

    @property
    def user_id(self) -> str:
        """The caller; the user of the settings while there is no authentication."""
        fallback: str = self.settings.compute.user_id
        return self.caller.user_id or fallback

    @cached_property
    def is_admin(self) -> bool:
        """Return whether the caller is an administrator, who sees the resources of all projects."""
        return self.allows(IS_ADMIN)

    @cached_property
    def shows_extra_specs(self) -> bool:
        """Return whether the caller sees the extra specs of flavors in flavors."""
        return self.allows(name_of("os-flavor-extra-specs", "index"))

    @property
    def viewer(self) -> str | None:
        """The project whose view this is; None for an administrator, who sees everything."""
        return None if self.is_admin else self.project_id

    @property
    def image_requester(self) -> ImageRequester:
        """Return the caller as the image API knows it."""
        return ImageRequester(self.project_id, is_admin=self.is_admin)

    def require_for(self, project_id: str) -> None:
        """Raise NotAllowed unless the caller may do the requested action with a resource of a project.

        The project's own rights are checked before.
        """
        rule = self.action_rule or (None if self.route is None else self.route.policy)
        if rule is not None and project_id != self.caller.project_id:
            self.require(rule, {"project_id": project_id})

    def acting_for(self, project_id: str | None, policy: str) -> str:
        """Return the project that a request is about: the caller's, or that which it names.

        Raises NotAllowed if the caller names another project, and ``policy`` does not let it.
        """
        if project_id is None or project_id == self.project_id:
            return self.project_id
        self.require(policy)
        return project_id

    def acting_as(self, user_id: str | None, policy: str) -> str:
        """Return the user that a request is about: the caller, or the named one.

        Raises NotAllowed if the caller names another user, and ``policy`` does not let it.
        """
        if user_id is None or user_id == self.user_id:
            return self.user_id
        self.require(policy, {"user_id": user_id})
        return user_id

    def body(self, form: Form) -> Any:
        """Return the JSON body, if it fits ``form``. Raises BadRequest, InvalidValue."""
        form.check(self.json)
        return self.json

    def links(self, collection: str, ident: str) -> list[dict[str, str]]:
        """Return the links of a thing: with the version, and without it."""
        path = f"{collection}/{quote(ident, safe='')}"
        return [
            {"rel": "self", "href": f"{self.base_url}{PREFIX}/{path}"},
            {"rel": "bookmark", "href": f"{self.base_url}/{path}"},
        ]


def timestamp(moment: datetime) -> str:
    """Return a time as this API shows most of them: UTC, with microseconds and without a zone."""
    return moment.isoformat(timespec="microseconds")


#: What an error with each status is called; any other is a computeFault.
NAMES = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    415: "badMediaType",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}
FAULT = "computeFault"


class NotImplementedHere(HttpError):
    """Something that Nova has and this service does not, by name."""

    status = 501


#: Messages for projects, instead of errors whose own words may name nodes and conductors.
_OF_MACHINES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((NodeLocked, ParentLocked, ChildLocked), "its machine is being worked on. Try again when that is done."),
    (NodeInMaintenance, "its machine is in maintenance."),
    (NodeProtected, "its machine is protected."),
    (NodeIsRetired, "its machine is retired."),
    ((UnavailableError, NoValidHost), "its machine cannot be worked on now. Try again later."),
    (AnswerTimeout, "its machine did not answer in time. It may have been changed: look before you ask again."),
    (Exception, "its machine does not allow it now."),
)


def render(text: str, status: int) -> Response:
    """Return the answer to an error that reads ``text``."""
    return json_response({NAMES.get(status, FAULT): {"code": status, "message": text}}, status)


def is_of_machine(error: Exception) -> bool:
    """Return whether the words of ``error`` may name a node, or a conductor."""
    return isinstance(error, MachineRefuses) or type(error).__module__ == baremetal.__name__


def without_machine(error: Exception) -> str:
    """Return the message for projects about an error for which ``is_of_machine`` is true."""
    if isinstance(error, MachineRefuses):
        reason = _of_machine(error.__cause__ or error)
        return str(MachineRefuses(**{**error.details, "reason": reason}))
    return f"The server cannot be changed: {_of_machine(error)}"


def _of_machine(error: BaseException) -> str:
    return next(text for kinds, text in _OF_MACHINES if isinstance(error, kinds))
