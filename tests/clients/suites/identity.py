"""As much of Identity (Keystone v3) as a client needs to log in somewhere: it believes everybody.

It knows the users and projects of NAMES. Its tokens are such as ``[api] auth_strategy`` ``noauth2`` understands.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any

from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

REGION = "RegionOne"
_DOMAIN = {"id": "default", "name": "Default"}
NAMES = ("admin", "demo", "alt_demo")
_PATHS = Map(
    [
        Rule("/v3", methods=["GET"], endpoint="version"),
        Rule("/v3/auth/tokens", methods=["POST"], endpoint="log_in"),
        Rule("/v3/users", methods=["GET"], endpoint="users"),
        Rule("/v3/projects", methods=["GET"], endpoint="projects"),
        Rule("/v3/projects/<ident>", methods=["GET"], endpoint="project"),
        Rule("/volume/v3", methods=["GET"], endpoint="volumes"),
        Rule("/volume/v3/volumes/detail", methods=["GET"], endpoint="volume_list"),
    ],
    strict_slashes=False,
)


@contextmanager
def identity(services: dict[str, str]) -> Iterator[str]:
    """Identity on a free port, with a catalogue of ``services`` (URL by type); yields the address to log in at.

    Its catalogue has volumes too, which there are none of: there are clients that do nothing without.
    """
    application = _Identity(dict(services))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    own = f"http://127.0.0.1:{server.server_port}"
    application.services |= {"identity": f"{own}/v3", "block-storage": f"{own}/volume/v3"}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v3"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cloud(url: str, user: str, **scope: str) -> dict[str, Any]:
    """An entry of clouds.yaml for ``user``, whose tokens are for ``scope``: ``project_name`` or ``system_scope``."""
    domains = {"user_domain_id": "default"} | ({"project_domain_id": "default"} if "project_name" in scope else {})
    auth = {"auth_url": url, "username": user, "password": user, **domains, **scope}
    return {"auth": auth, "region_name": REGION, "identity_api_version": "3"}


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Who logs in is of no interest."""


class _Identity:
    """The WSGI application."""

    def __init__(self, services: dict[str, str]) -> None:
        self.services = services

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        try:
            endpoint, arguments = _PATHS.bind_to_environ(environ).match()
            response = getattr(self, f"_{endpoint}")(request, **arguments)
        except HTTPException as error:
            response = _reply(
                {"error": {"code": error.code, "title": error.name, "message": error.description}}, error.code
            )
        return response(environ, start_response)

    def _version(self, request: Request) -> Response:
        links = [{"rel": "self", "href": f"{request.host_url}v3/"}]
        return _reply({"version": {"id": "v3.14", "status": "stable", "links": links}}, 200)

    def _log_in(self, request: Request) -> Response:
        asked = request.get_json()["auth"]
        name = asked["identity"]["password"]["user"]["name"]
        now = datetime.now(UTC)
        token = {
            "methods": ["password"],
            "user": {"id": _id(name), "name": name, "domain": _DOMAIN},
            "issued_at": _time(now),
            "expires_at": _time(now + timedelta(hours=1)),
            "roles": [{"id": _id(role), "name": role} for role in ("admin", "member", "reader")],
            "catalog": [_service(kind, url) for kind, url in self.services.items()],
            **_scope(asked.get("scope", {})),
        }
        response = _reply({"token": token}, 201)
        project = token.get("project", {"id": ""})
        response.headers["X-Subject-Token"] = f"{name}:{project['id']}".rstrip(":")
        return response

    def _users(self, request: Request) -> Response:
        users = [{"id": _id(name), "name": name, "domain_id": "default", "enabled": True} for name in NAMES]
        return _reply({"users": users, "links": {"next": None}}, 200)

    def _projects(self, request: Request) -> Response:
        wanted = request.args.get("name")
        projects = [_project(name) for name in NAMES if wanted in (None, name)]
        return _reply({"projects": projects, "links": {"next": None}}, 200)

    def _project(self, request: Request, ident: str) -> Response:
        for name in NAMES:
            if ident == _id(name):
                return _reply({"project": _project(name)}, 200)
        raise NotFound

    def _volumes(self, request: Request) -> Response:
        links = [{"rel": "self", "href": request.base_url}]
        version = {"id": "v3.0", "status": "CURRENT", "version": "3.71", "min_version": "3.0", "links": links}
        return _reply({"versions": [version]}, 200)

    def _volume_list(self, request: Request) -> Response:
        return _reply({"volumes": []}, 200)


def _project(name: str) -> dict[str, Any]:
    return {"id": _id(name), "name": name, "domain_id": "default", "enabled": True}


def _scope(asked: dict[str, Any]) -> dict[str, Any]:
    if "project" in asked:
        name = asked["project"]["name"]
        return {"project": {"id": _id(name), "name": name, "domain": _DOMAIN}}
    return {"system": {"all": True}} if "system" in asked else {}


def _service(kind: str, url: str) -> dict[str, Any]:
    endpoint = {"id": _id(url), "interface": "public", "region": REGION, "region_id": REGION, "url": url}
    return {"id": _id(kind), "type": kind, "name": kind, "endpoints": [endpoint]}


def _id(name: str) -> str:
    """Always the same for a name, as Identity writes its ids."""
    return md5(name.encode(), usedforsecurity=False).hexdigest()


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _reply(document: dict[str, Any], status: int | None) -> Response:
    return Response(json.dumps(document), status=status, mimetype="application/json")
