"""Access to the APIs of ``serve``: the authentication strategy, the log-in, and TLS."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import structlog

from baremetal_sched import commands
from baremetal_sched.auth_settings import is_open, names_strategy
from baremetal_sched.cli import user_files
from baremetal_sched.cli.clients import ClientLogin
from baremetal_sched.server.tls import doubts_about, is_self_signed, load_first, make_context
from baremetal_sched.settings import Settings
from baremetal_sched.web import authentication
from baremetal_sched.web.authentication import password_file
from baremetal_sched.web.authentication.password_file import Assignment, roles_path, users_path
from baremetal_sched.web.listener import is_loopback

log = structlog.get_logger(__name__)

#: Name of the user that is created if there are no users.
FIRST_USER = "admin"


def choose_strategy(settings: Settings, host: str) -> None:
    """Set the strategy for an address that is not loopback: http_basic, unless the settings name another.

    Raises ClickException if the strategy is ``none`` without an explicit permission, and oslo.config's ``cfg.Error`` if
    no users can be stored or their file is not valid.
    """
    is_safe = is_loopback(host) or settings.api.insecure
    if not is_safe and not names_strategy(settings):
        settings.set_override("auth_strategy", "http_basic", group="api")
    if settings.api.auth_strategy == "http_basic" and users_path(settings).exists():
        authentication.make(settings)
    if not is_safe and is_open(settings):
        raise click.ClickException(
            f"{host} is not loopback, and with [api] auth_strategy = none everyone who reaches it can do everything. "
            "Choose another strategy (by default, serve creates a file of users), or confirm with --insecure or "
            "[api] insecure = true that this is intended."
        )


def prepare_login(settings: Settings) -> ClientLogin:
    """Return how clients log in. With ``http_basic``, a missing file of users is created.

    Raises oslo.config's ``cfg.Error`` if the settings do not name that file, and ValueError if it cannot be created.
    """
    match settings.api.auth_strategy:
        case "http_basic":
            return _basic_login(settings)
        case "keystone":
            return ClientLogin(auth_type=None, remark="Add these to a cloud entry with your Keystone credentials.")
        case _:
            return ClientLogin()


def _basic_login(settings: Settings) -> ClientLogin:
    path = users_path(settings).absolute()
    password = user_files.put_first_user(path, FIRST_USER)
    roles = roles_path(settings)
    if password is not None:
        if roles is not None:
            user_files.put_roles(roles, FIRST_USER, Assignment(("admin",), None, "all"), path)
        return ClientLogin(
            "http_basic", FIRST_USER, password, f"The password is shown only once; its hash is in {path}."
        )
    names = list(password_file.parse_users(path.read_text(encoding="utf-8")).hashes)
    name = FIRST_USER if FIRST_USER in names or not names else names[0]
    remark = (
        f"Users are those of {path}. OS_PASSWORD, or password in clouds.yaml, is what was given to {name}. This sets "
        f"another: {commands.ADD_USER.of(user=name)}"
    )
    return ClientLogin("http_basic", name, remark=remark)


def warn_of_clear_text(settings: Settings) -> None:
    """Log a warning if clients send passwords in clear text."""
    if settings.api.auth_strategy == "http_basic":
        log.warning("passwords travel in clear text: use TLS, or a proxy with TLS and --host 127.0.0.1 here")


@dataclass(frozen=True)
class Tls:
    """Usable files of a certificate and its key."""

    certificate: Path
    key: Path
    #: The certificate that clients need; None if a certificate authority has signed it.
    cacert: Path | None

    def options(self) -> dict[str, Any]:
        """Return the corresponding settings of gunicorn."""
        return {"certfile": str(self.certificate), "keyfile": str(self.key)}


def check_tls(certificate: str | None, key: str | None) -> Tls | None:
    """Return the files to use; None without TLS. Logs validity dates for which clients will refuse the certificate.

    Raises UsageError if only one of the files is given, and UnusableCertificate.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-cert and --tls-key must be given together.")
    make_context(certificate, key)
    loaded = load_first(certificate)
    if doubts := doubts_about(loaded):
        log.warning("clients will refuse the certificate", certificate=certificate, reason=doubts)
    path = Path(certificate).absolute()
    return Tls(path, Path(key).absolute(), path if is_self_signed(loaded) else None)
