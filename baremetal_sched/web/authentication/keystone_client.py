"""Tokens for people: Keystone is asked for them, for the projects of a person, and to revoke them. Each call has a
time limit."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog
from keystoneauth1.exceptions import ClientException, HTTPClientError, MissingAuthMethods
from keystoneauth1.identity import v3

from baremetal_sched.errors import AuthenticationUnavailable, NotAuthenticated
from baremetal_sched.web.authentication.identity import within

log = structlog.get_logger(__name__)
T = TypeVar("T")


class LogInRefused(NotAuthenticated):
    """Keystone gives no token for these credentials, or for this scope."""

    template = (
        "Keystone refuses this log-in. Check the name, the domain and the password, or the ID and the secret. It also "
        "refuses users who are disabled, and users who must change their password."
    )


class SecondFactorNeeded(LogInRefused):
    """Keystone wants more than a password."""

    template = "Keystone asks this user for a second factor, which these pages do not have."


@dataclass(frozen=True)
class IssuedToken:
    """A token, and when it expires, in seconds since 1970."""

    value: str
    expires_at: float


@dataclass(frozen=True)
class TokenScope:
    """A scope in which a person has roles: a project, or the system, which has no id."""

    id: str
    name: str
    domain_id: str | None


class KeystoneClient:
    """Keystone at ``url``, with or without its version; empty if it is unknown. ``session`` is keystoneauth's.

    Every method raises AuthenticationUnavailable if Keystone cannot be reached, has an error, or does not answer within
    ``seconds``.
    """

    def __init__(self, session: Any, url: str, seconds: float) -> None:
        self._session = session
        self.url = url and f"{url.rstrip('/').removesuffix('/v3')}/v3"
        self._seconds = seconds

    def by_password(self, name: str, domain: str, password: str) -> IssuedToken:
        """Return a token without a scope. Raises LogInRefused, SecondFactorNeeded."""
        return self._issue(
            v3.Password(
                self.url,
                password,
                username=name,
                user_domain_name=domain,
                unscoped=True,
                include_catalog=False,
            )
        )

    def by_application_credential(self, ident: str, secret: str) -> IssuedToken:
        """Return a token for the project of an application credential. Raises LogInRefused."""
        return self._issue(
            v3.ApplicationCredential(self.url, secret, application_credential_id=ident, include_catalog=False)
        )

    def in_scope(self, token: str, project_id: str | None) -> IssuedToken:
        """Return a token of the same user for a project, or for the system (None). Raises LogInRefused."""
        system = "all" if project_id is None else None
        return self._issue(v3.Token(self.url, token, project_id=project_id, system_scope=system, include_catalog=False))

    def scopes(self, token: str) -> list[TokenScope]:
        """Return the scopes in which the user has roles: the system first, then projects by name. Raises
        LogInRefused."""
        headers = {"X-Auth-Token": token, "Accept": "application/json"}

        def ask(what: str) -> list[dict[str, Any]]:
            return list(self._session.get(f"{self.url}/auth/{what}", headers=headers, authenticated=False).json()[what])

        projects, system = self._bounded(lambda: (ask("projects"), ask("system")))
        enabled = [TokenScope(each["id"], each["name"], each["domain_id"]) for each in projects if each["enabled"]]
        whole = [TokenScope("", "the system", None) for each in system if each.get("all")]
        return [*whole, *sorted(enabled, key=lambda each: (each.name.lower(), each.id))]

    def revoke(self, tokens: Iterable[str]) -> None:
        """Revoke tokens, all within the time limit. What Keystone does not do is logged, and otherwise ignored: they
        expire."""

        def revoke_all() -> None:
            for token in tokens:
                headers = {"X-Auth-Token": token, "X-Subject-Token": token}
                with suppress(HTTPClientError):  # it is no longer valid
                    self._session.delete(f"{self.url}/auth/tokens", headers=headers, authenticated=False)

        try:
            self._bounded(revoke_all)
        except AuthenticationUnavailable as error:
            log.warning("tokens of a session could not be revoked", reason=str(error))

    def _issue(self, plugin: Any) -> IssuedToken:
        issued = self._bounded(lambda: plugin.get_auth_ref(self._session))
        return IssuedToken(issued.auth_token, issued.expires.timestamp())

    def _bounded(self, work: Callable[[], T]) -> T:
        try:
            return within(self._seconds, work)
        except MissingAuthMethods:
            raise SecondFactorNeeded from None
        except HTTPClientError as error:
            log.info("Keystone refused a log-in", status=error.http_status)
            raise LogInRefused from None
        except TimeoutError:
            log.error("Keystone did not answer in time", seconds=self._seconds)
            raise AuthenticationUnavailable(reason="Keystone does not answer") from None
        except (ClientException, KeyError, ValueError) as error:
            log.error("Keystone cannot be asked", reason=f"{type(error).__name__}: {error}")
            raise AuthenticationUnavailable(reason="Keystone cannot be asked") from None
