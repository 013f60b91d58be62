"""The file of roles: the roles of each user, and in which project."""

from dataclasses import dataclass
from typing import Any

import yaml

#: Implied roles, as Keystone's bootstrap defines them.
_IMPLIED = {"admin": ("manager", "member", "reader"), "manager": ("member", "reader"), "member": ("reader",)}

_KEYS = frozenset({"roles", "project_id", "system_scope"})


@dataclass(frozen=True)
class Assignment:
    """The roles of one user. A user without an assignment has no role."""

    roles: tuple[str, ...] = ()
    project_id: str | None = None
    system_scope: str | None = None


def parse(text: str) -> dict[str, Assignment]:
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
        raise ValueError(f"{name}: roles has to be a list")
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
