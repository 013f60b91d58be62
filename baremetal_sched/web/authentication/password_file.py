"""The files of users and roles: where they are, NAME:HASH as Apache's htpasswd -B writes it, and the roles of each."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bcrypt
import yaml
from oslo_config import cfg

from baremetal_sched import commands
from baremetal_sched.db.engine import database_url
from baremetal_sched.settings import Settings

#: Maximum number of bytes of a password that bcrypt uses.
LONGEST_PASSWORD = 72

#: Cost of a new hash; each step doubles the time. 12 takes about a quarter of a second.
COST = 12
#: Maximum cost of a hash: higher ones would block a thread for several seconds.
_HIGHEST_COST = 15

_HASH = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{53}")
_NAME = re.compile(r"(?![#\s])[^:\x00-\x1f\x7f]{1,255}(?<!\s)")


@dataclass(frozen=True)
class Users:
    """Users and the hashes of their passwords."""

    hashes: dict[str, bytes]
    #: A hash that no password matches, and whose check takes as long as those of most users.
    decoy: bytes


def parse_users(text: str) -> Users:
    """Return the users in ``text``. Empty lines, and lines that begin with ``#``, are ignored.

    Raises ValueError for any other line that is not ``NAME:HASH`` with a bcrypt hash, and for a duplicate user. The
    message has the number of the line and no hash.
    """
    hashes: dict[str, bytes] = {}
    costs: Counter[int] = Counter()
    for number, line in enumerate(text.split("\n"), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        name, colon, hashed = entry.partition(":")
        if not colon or not is_name(name):
            raise ValueError(f"line {number} is not NAME:HASH")
        match = _HASH.fullmatch(hashed)
        if match is None:
            raise ValueError(
                f"line {number}: the password of {name!r} must be hashed with bcrypt, as htpasswd -B does it. "
                f"Set a new one: {commands.ADD_USER.of(user=name)}"
            )
        cost = int(match["cost"])
        if not 4 <= cost <= _HIGHEST_COST:
            raise ValueError(f"line {number}: the cost of the hash of {name!r} must be from 4 to {_HIGHEST_COST}")
        if name in hashes:
            raise ValueError(f"line {number}: there is another line of {name!r} above")
        hashes[name] = hashed.encode()
        costs[cost] += 1
    usual = costs.most_common(1)[0][0] if costs else COST
    return Users(hashes, f"$2b${usual:02}${'.' * 53}".encode())


def is_name(text: str) -> bool:
    """Return whether ``text`` is a valid user name."""
    return _NAME.fullmatch(text) is not None


def hash_password(password: str) -> str:
    """Return the hash to write into the file. Raises ValueError for a password that bcrypt would truncate or refuse."""
    encoded = password.encode()
    if not encoded or b"\0" in encoded or len(encoded) > LONGEST_PASSWORD:
        raise ValueError(f"A password must have from 1 to {LONGEST_PASSWORD} bytes of UTF-8, and no NUL.")
    return bcrypt.hashpw(encoded, bcrypt.gensalt(COST)).decode()


#: Implied roles, as Keystone's bootstrap defines them.
_IMPLIED = {"admin": ("manager", "member", "reader"), "manager": ("member", "reader"), "member": ("reader",)}

_KEYS = frozenset({"roles", "project_id", "system_scope"})


@dataclass(frozen=True)
class Assignment:
    """The roles of one user. A user without an assignment has no role."""

    roles: tuple[str, ...] = ()
    project_id: str | None = None
    system_scope: str | None = None


def parse_roles(text: str) -> dict[str, Assignment]:
    """Return the assignments by user name. Implied roles are added: a member is a reader.

    Raises ValueError for anything but a mapping ``NAME: {roles: [ROLE, …], project_id: ID, system_scope: all}``.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"line {mark.line + 1} is not YAML" if mark else "it is not YAML") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ValueError("it must map user names to their roles")
    return {_text(name, "the name of a user"): _assignment(name, given) for name, given in document.items()}


def _assignment(name: str, given: Any) -> Assignment:
    if not isinstance(given, dict) or not given.keys() <= _KEYS:
        raise ValueError(f"{name}: a user has {', '.join(sorted(_KEYS))}, and nothing else")
    roles = given.get("roles", [])
    if not isinstance(roles, list):
        raise ValueError(f"{name}: roles must be a list")
    project_id, system_scope = given.get("project_id"), given.get("system_scope")
    if project_id is not None:
        _text(project_id, f"{name}: project_id")
    if system_scope not in (None, "all"):
        raise ValueError(f"{name}: system_scope can only be all")
    if project_id is not None and system_scope is not None:
        raise ValueError(f"{name}: project_id and system_scope cannot be combined")
    named = [_text(role, f"{name}: a role").lower() for role in roles]
    implied = [role for each in named for role in _IMPLIED.get(each, ())]
    return Assignment(tuple(dict.fromkeys([*named, *implied])), project_id, system_scope)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} must be a string, in quotation marks if it looks like a number: {value!r}")
    return value


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
