"""Requests to the APIs: addresses, flavors and images by name, and messages about failures."""

import argparse
import json
import re
from abc import abstractmethod
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.identity.base import BaseIdentityPlugin
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.osc.tables import plain, without_none

#: Where a service mounts its APIs, all beside each other.
_MOUNTS = ("scheduling", "placement", "baremetal", "compute", "image")

UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

#: The path of an endpoint may end with a version, and that of compute with a project behind it.
_VERSION = re.compile(r"/v\d+(\.\d+)?(/[0-9a-fA-F-]+)?$")


def without_version(url: str) -> str:
    """Return the address of an API without the version at its end, and without a slash there."""
    return _VERSION.sub("", url.rstrip("/"))


def path_of(*parts: str) -> str:
    """Return the path with these parts, which may be what a person has typed."""
    return "".join(f"/{quote(plain(part), safe='')}" for part in parts)


def sibling(url: str, mount: str) -> str:
    """Return the address of the API ``mount`` of the service that has another API at ``url``.

    Of an address that ends with no known name, it is assumed to be that of the service itself.
    """
    address = urlsplit(without_version(url))
    path = address.path.rstrip("/")
    before, _, last = path.rpartition("/")
    return urlunsplit((address.scheme, address.netloc, f"{before if last in _MOUNTS else path}/{mount}", "", ""))


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


NO_SCHEDULING_API = (
    "This service has no scheduling API; Ironic and Placement do not have one. "
    "No API was found at {url}. Set OS_SCHEDULING_ENDPOINT_OVERRIDE if it is elsewhere."
)

#: The first part of the path of each API, and the microversion that the commands are written for.
_VERSIONS = {"scheduling": "/v1", "baremetal": "/v1", "placement": "", "compute": "/v2.1", "image": "/v2"}
_HEADERS = {
    "baremetal": {"X-OpenStack-Ironic-API-Version": "1.65"},
    "placement": {"OpenStack-API-Version": "placement 1.39"},
}

Pairs = Sequence[tuple[str, Any]]


class RequestFailed(CommandError):
    """A request was answered with an error: ``status``, and ``code`` if it has one (placement, scheduling)."""

    def __init__(self, message: str, status: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UsageError(CommandError):
    """The command line is not valid."""


class Client:
    """The APIs of the service that the ``openstack`` command is configured for."""

    def __init__(self, session: Any, endpoints: Endpoints) -> None:
        self.session = session
        self._endpoints = endpoints

    def get(self, service: str, path: str, parameters: Pairs = ()) -> Any:
        """Return the document at ``path`` of an API. Raises like ``request``."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self.request(service, "GET", path + query)

    def pages(self, path: str, items: str, parameters: Sequence[tuple[str, str]], limit: int | None) -> Iterator[Any]:
        """Yield the ``items`` of a list of the scheduling API, of all its pages, at most ``limit``. Raises like
        ``request``."""
        marker: list[tuple[str, str]] = []
        left = limit
        while left is None or left > 0:
            size = [] if left is None else [("limit", str(left))]
            page = self.get("scheduling", path, [*parameters, *size, *marker])
            yield from page[items]
            left = None if left is None else left - len(page[items])
            if not (links := page.get(f"{items}_links")):
                return
            marker = [("marker", parse_qs(urlsplit(links[0]["href"]).query)["marker"][0])]

    def request(self, service: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the document of the answer, or None.

        Raises RequestFailed for an answer that is an error or not JSON, CommandError if the API does not exist, and
        errors of keystoneauth1 without an answer.
        """
        url = self._endpoints.url(service) + _VERSIONS[service]
        headers = {"Accept": "application/json", **_HEADERS.get(service, {})}
        sent = {} if body is None else {"json": body}
        response = self.session.request(url + path, method, headers=headers, raise_exc=False, **sent)
        document = _document(response)
        if response.status_code >= 400:
            if service == "scheduling" and response.status_code == 404 and _own_error(document) is None:
                raise CommandError(NO_SCHEDULING_API.format(url=url))
            raise _failure(response, document)
        if document is None and response.content:
            raise RequestFailed(f"What {url} answers is not JSON: is it the {service} API?", response.status_code)
        return document


def client_of(app: Any) -> Client:
    """Return the client of the ``openstack`` command that is running (a command's ``app``)."""
    client: Client = app.client_manager.scheduling
    return client


def _document(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _failure(response: Any, document: Any) -> RequestFailed:
    status = response.status_code
    said, code = _said(document)
    message = said or f"HTTP {status} {response.reason}"
    if status == 401:
        message = f"The service does not accept the login: {message} (HTTP 401)"
    elif status in (403, 503):
        retry = response.headers.get("Retry-After")
        # A message says itself whether trying again helps.
        message += f" Try again in {retry} seconds." if status == 503 and retry and not said else f" (HTTP {status})"
    return RequestFailed(message, status, code)


def _said(document: Any) -> tuple[str | None, str | None]:
    """Return the message of an error, whichever API it is of, and its code."""
    if not isinstance(document, Mapping):
        return None, None
    errors = document.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], Mapping):
        return str(errors[0].get("detail") or errors[0].get("title") or "").strip(), errors[0].get("code")
    ironic = document.get("error_message")
    if isinstance(ironic, str):
        try:
            ironic = json.loads(ironic)
        except ValueError:
            return ironic, None
    if isinstance(ironic, Mapping):
        return str(ironic.get("faultstring") or ironic.get("description") or ironic.get("title") or ""), None
    return (
        (_own_error(document), document["error"].get("code")) if _own_error(document) else (_of_others(document), None)
    )


def _own_error(document: Any) -> str | None:
    """Return the message of an error of the scheduling API, or None if the document is not one."""
    error = document.get("error") if isinstance(document, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) and "status" in error else None
    return str(message) if message is not None else None


def _of_others(document: Mapping[str, Any]) -> str | None:
    """Return the message of an error of the compute or the image API."""
    for value in (document, *document.values()):
        if isinstance(value, Mapping) and isinstance(value.get("message"), str):
            return str(value["message"])
    return None


def server(client: Client, flavor: str, image: str | None, boot_from_volume: bool) -> dict[str, Any]:
    """Return the request of the scheduling API for a server. Raises CommandError if the flavor or image does
    not exist."""
    body: dict[str, Any] = {"flavor": flavor_id(client, flavor)}
    if image is not None:
        body["image"] = image_id(client, image)
    if boot_from_volume:
        body["boot_from_volume"] = True
    return body


def flavor_id(client: Client, named: str) -> str:
    """Return the id of the flavor with this id or name. Raises CommandError if it does not exist."""
    if _exists(client, "compute", path_of("flavors", named)):
        return named
    parameters = [("is_public", "None"), ("limit", "1000")]
    marker: list[tuple[str, str]] = []
    while page := client.get("compute", "/flavors", [*parameters, *marker])["flavors"]:
        for flavor in page:
            if flavor["name"] == named:
                return str(flavor["id"])
        marker = [("marker", page[-1]["id"])]
    raise CommandError(f"There is no flavor {named!r}. This shows all flavors: {commands.LIST_FLAVORS}")


def image_id(client: Client, named: str) -> str:
    """Return the id of the image with this id or name. Raises CommandError unless exactly one exists."""
    try:
        if _exists(client, "image", path_of("images", named)):
            return named
    except RequestFailed as error:
        # Some callers of the scheduling API see no images in the image API.
        if error.status == 403 and UUID.fullmatch(named):
            return named
        raise
    found = client.get("image", "/images", [("name", named)])["images"]
    if len(found) > 1:
        raise CommandError(f"There are several images called {named!r}: give the id of one.")
    if not found:
        raise CommandError(f"There is no image {named!r}. This shows all images: {commands.LIST_IMAGES}")
    return str(found[0]["id"])


def _exists(client: Client, service: str, path: str) -> bool:
    try:
        client.get(service, path)
    except RequestFailed as error:
        if error.status in (400, 404):
            return False
        raise
    return True


#: Exit statuses: the command line is not valid, also where only the service could tell; nothing fits. An error is 1.
MISTAKE, NOTHING_FITS = 2, 3


class WithOptions(command.Command):
    """A command with options of its own. Messages name these, and not the members of the request.

    The exit status is 0, MISTAKE if the command line is not valid, and 1 for other errors.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command's options."""
        self._parser: argparse.ArgumentParser = super().get_parser(prog_name)
        self.add_options(self._parser)
        return self._parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command, and return its exit status."""
        try:
            status: int = super().run(parsed_args)
        except UsageError as error:
            self.log.error("%s", error)
            return MISTAKE
        except RequestFailed as error:
            message = self.in_options(str(error))
            if error.status != 400:
                raise RequestFailed(message, error.status, error.code) from None
            self.log.error("%s", message)
            return MISTAKE
        return status

    def in_options(self, message: str) -> str:
        """Return the message with the options of the command instead of the members of the API with their names."""
        options = set(re.findall(r"--[a-z][a-z-]+", self._parser.format_help()))
        return re.sub(r"\b[a-z]+(_[a-z]+)+\b", lambda found: _option(found[0], options), message)

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, data: Any) -> int:
        """Print what the command returns. In a table nothing stands for None, and no row is no output."""
        if parsed_args.formatter == "table":
            data = [without_none(each) for each in data]
            if not data:
                return 0
        status: int = super().produce_output(parsed_args, column_names, data)  # type: ignore[misc] # of listers and so on
        return status

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""


def _option(member: str, options: Container[str]) -> str:
    option = f"--{member.replace('_', '-')}"
    return option if option in options else member


class FitsOrNot(WithOptions):
    """A command whose exit status is 0 only if something fits (``fits``), and NOTHING_FITS if not."""

    fits = True

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command, and return its exit status."""
        return super().run(parsed_args) or (0 if self.fits else NOTHING_FITS)
