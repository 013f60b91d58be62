"""Where the files of users and roles are."""

from pathlib import Path

from oslo_config import cfg

from baremetal_sched.db.engine import database_url
from baremetal_sched.settings import Settings

#: The file of users beside a SQLite database, unless the settings name another.
BESIDE_DATABASE = "htpasswd"


def users_path(settings: Settings) -> Path:
    """Return the file of users: the one that the settings name, or the one beside the SQLite database.

    Raises oslo.config's ``cfg.Error`` if there is neither.
    """
    if settings.http_basic_auth_user_file:
        return Path(settings.http_basic_auth_user_file)
    url = database_url(settings.database.connection)
    if url.get_backend_name() != "sqlite" or not url.database or "uri" in url.query:
        raise cfg.Error("[DEFAULT] http_basic_auth_user_file must name the file of users")
    return Path(url.database).absolute().with_name(BESIDE_DATABASE)


def roles_path(settings: Settings) -> Path | None:
    """Return the file of roles, if the settings name one."""
    named: str | None = settings.http_basic_auth_roles_file
    return Path(named) if named else None
