"""Strategy ``keystone``: callers have Keystone tokens, which keystonemiddleware validates.

Only its checks are used. The values that it would write into headers for an application are read from its objects, so
that only the headers with the tokens matter.
"""

import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import structlog
from cachetools import TTLCache
from flask import Request
from keystonemiddleware.auth_token import AuthProtocol, BaseAuthProtocol

from baremetal_sched import keystone_settings
from baremetal_sched.errors import NotAuthenticated
from baremetal_sched.settings import Settings
from baremetal_sched.web.authentication.identity import BoundedIdentity
from baremetal_sched.web.authentication.keystone_client import KeystoneClient
from baremetal_sched.web.authentication.strategy import Strategy
from baremetal_sched.web.caller import Caller

log = structlog.get_logger(__name__)

#: Maximum number of cached tokens; beyond it, the least recently used ones are removed.
MOST = 4096


class TokenCache:
    """Replaces keystonemiddleware's own cache, which scans all its tokens at every access. Thread-safe. It holds
    digests instead of tokens."""

    def __init__(self, seconds: float, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep values for ``seconds``; if that is not positive, keep nothing."""
        self._lock = threading.Lock()
        self._entries: TTLCache[bytes, Mapping[str, Any]] = TTLCache(most, max(seconds, 0), clock)

    def initialize(self, environ: Mapping[str, Any]) -> None:
        """Do nothing. keystonemiddleware calls it before it uses a cache."""

    def get(self, token: str) -> Mapping[str, Any] | None:
        """Return the cached description of the token; None if it is missing or expired."""
        with self._lock:
            return self._entries.get(_digest(token))

    def set(self, token: str, said: Mapping[str, Any]) -> None:
        """Cache the description of the token."""
        with self._lock:
            self._entries[_digest(token)] = said


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


#: Maximum length of a token. Keystone would refuse longer ones in various ways.
LONGEST_TOKEN = 4096
#: Characters of a path that are not escaped when compared with rules of application credentials.
_SAFE = "/~!$&'()*+,;=:@"


class Keystone(Strategy):
    """The token is in ``X-Auth-Token``; that of a service that calls on behalf of its user is in
    ``X-Service-Token``."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._url = url = keystone_settings.auth_url(settings)
        self.challenge = f'Keystone uri="{url}"' if url else "Keystone"
        self._checks = _Checks(settings)
        self._service_roles = frozenset(settings.keystone_authtoken.service_token_roles)

    def authenticate(self, http: Request) -> Caller:
        request = _TokenRequest(http)
        if not request.is_worth_asking:
            raise NotAuthenticated
        self._checks.process_request(request)
        if not (request.user_token_valid and request.service_token_valid):
            self._log_missing_role(request)
            raise NotAuthenticated
        return _caller(request.token_auth.user, request.token_auth.service)

    def as_client(self) -> KeystoneClient:
        """Return what asks this Keystone for tokens."""
        url: str = getattr(self._checks._auth, "auth_url", None) or self._url or ""
        return KeystoneClient(self._checks._session, url, self.settings.api.authentication_timeout)

    def _log_missing_role(self, request: "_TokenRequest") -> None:
        """Log that a service has none of the roles that its token needs: its operator sees only 401."""
        service = None if request.token_auth is None else request.token_auth.service
        if request.service_token_valid or service is None or self._service_roles & set(service.role_names or ()):
            return
        log.warning(
            "a service token was refused: its user has none of the roles in [keystone_authtoken] service_token_roles",
            user_id=service.user_id,
            project_id=service.project_id,
            roles=sorted(service.role_names or ()),
            service_token_roles=sorted(self._service_roles),
        )


class _TokenRequest:
    """The parts of a request that keystonemiddleware reads, and its results."""

    def __init__(self, http: Request) -> None:
        environ = http.environ
        self.user_token: str | None = environ.get("HTTP_X_AUTH_TOKEN")
        self.service_token: str | None = environ.get("HTTP_X_SERVICE_TOKEN")
        self.user_token_valid = False
        self.service_token_valid = True  # unless a service token is sent
        self.token_auth: Any = None
        self.token_info: Any = None
        self.method = http.method
        self.auth_type = (environ.get("AUTH_TYPE") or "").lower() or None
        self.remote_user = environ.get("REMOTE_USER")
        self._mount: str = environ.get("SCRIPT_NAME", "")
        self._path: str = environ["PATH_INFO"]

    @property
    def is_worth_asking(self) -> bool:
        """Return whether the tokens have a form that Keystone could accept."""
        given = (self.user_token or "", *((self.service_token,) if self.service_token else ()))
        return all(_is_token(token.strip()) for token in given)

    @property
    def path(self) -> str:
        """Return the path including the API's mount, as rules of application credentials are written."""
        return quote((self._mount + self._path).encode("latin-1"), _SAFE)

    @property
    def service_type(self) -> str:
        """Return the service's type in Keystone's catalogue, which is the API's mount."""
        return self._mount.rstrip("/").rpartition("/")[2]


class _Checks(AuthProtocol):  # type: ignore[misc]
    """keystonemiddleware's token checks, with our own cache and connection to Keystone."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(None, {"oslo_config_config": settings})
        # Checked at the start instead of in the first request: memcached's packages may be missing.
        self._token_cache.initialize({})

    def process_request(self, request: _TokenRequest) -> None:
        """Validate the tokens, and store the results in ``request``. Raises AuthenticationUnavailable."""
        # The base method would also create headers.
        BaseAuthProtocol.process_request(self, request)

    def validate_allowed_request(self, request: _TokenRequest, token: dict[str, Any]) -> None:
        """Raise InvalidToken if the application credential of the token does not allow this request."""
        if (token.get("application_credential") or {}).get("access_rules") is not None:
            _rules_of(request.service_type).validate_allowed_request(request, {"catalog": [], **token})

    def _create_identity_server(self) -> BoundedIdentity:
        settings: Settings = self._conf.oslo_conf_obj
        return BoundedIdentity(super()._create_identity_server(), settings.api.authentication_timeout)

    def _token_cache_factory(self) -> Any:
        if self._conf.get("memcached_servers"):
            return super()._token_cache_factory()
        return TokenCache(self._conf.get("token_cache_time"))


@lru_cache(maxsize=32)
def _rules_of(service_type: str) -> Any:
    """Return the matcher of requests to the service against rules of application credentials. As there are several
    APIs, one configured type would not do."""
    return BaseAuthProtocol(None, service_type=service_type or None)


def _is_token(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TOKEN and text.isascii() and text.isprintable() and " " not in text


def _caller(user: Any, service: Any) -> Caller:
    return Caller(
        user.user_id,
        user.project_id,
        tuple(user.role_names),
        "all" if user.system_scoped and user.system.get("all") else None,
        user_name=user.username,
        user_domain_id=user.user_domain_id,
        project_name=user.project_name,
        project_domain_id=user.project_domain_id,
        domain_id=user.domain_id,
        is_admin_project=user.is_admin_project,
        service_user_id=service and service.user_id,
        service_project_id=service and service.project_id,
        service_project_name=service and service.project_name,
        service_roles=tuple(service.role_names) if service else (),
    )
