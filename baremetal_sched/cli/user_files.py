"""Changes of the files of users and roles: atomic, one at a time, and readable only by their owner."""

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from baremetal_sched.web.authentication import password_file
from baremetal_sched.web.authentication.password_file import Assignment

#: Bits of a file's mode that are kept: a service may read it as a member of its group.
_KEPT = 0o640


def new_password() -> str:
    """Return a random password of letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", secrets.token_urlsafe(48))[:32]


def check_name(name: str) -> None:
    """Raise ValueError for an invalid name of a user."""
    if not password_file.is_name(name):
        raise ValueError(
            f"{name!r} is not a valid user name: a name has no colon and no control character, does not begin with "
            "# or a blank, and does not end with a blank."
        )


def line_of(name: str, password: str) -> str:
    """Return the line of a user. Raises ValueError for an invalid name or password."""
    check_name(name)
    return f"{name}:{password_file.hash_password(password)}"


def put_user(path: Path, line: str, roles: Path | None = None) -> bool:
    """Write the line of a user, replacing an existing one. Return whether the user is new.

    A new file takes the owner and mode of the file ``roles``.

    Raises ValueError for a file that is not valid.
    """
    name = line.partition(":")[0]
    with _changed(path, roles) as file:
        is_new = name not in password_file.parse_users(file.text).hashes
        more = [line] if is_new else []
        file.text = _lines(file.text, lambda old: line if _is_of(old, name) else old, *more)
    return is_new


def put_first_user(path: Path, name: str) -> str | None:
    """Create the file with one user, and return the user's password; None if the file exists already."""
    if path.exists():
        return None
    password = new_password()
    line = line_of(name, password)
    with _changed(path) as file:
        if file.is_new:
            file.text = f"{line}\n"
    return password if file.is_new else None


def remove_user(path: Path, name: str) -> None:
    """Remove a user. Raises ValueError if the user does not exist."""
    with _changed(path) as file:
        if name not in password_file.parse_users(file.text).hashes:
            raise ValueError(f"There is no user {name} in {path}.")
        file.text = _lines(file.text, lambda old: None if _is_of(old, name) else old)


def put_roles(path: Path, name: str, assignment: Assignment, users: Path | None = None) -> None:
    """Set the roles of a user. A new file takes the owner and mode of the file ``users``.

    Raises ValueError for a file that is not valid.
    """
    entry = {
        "roles": list(assignment.roles),
        **({"project_id": assignment.project_id} if assignment.project_id else {}),
        **({"system_scope": assignment.system_scope} if assignment.system_scope else {}),
    }
    line = yaml.safe_dump({name: entry}, default_flow_style=None, allow_unicode=True, width=10_000, sort_keys=False)
    with _changed(path, users) as file:
        file.text = _lines(_without(file.text, name), str, line.rstrip("\n"))
        password_file.parse_roles(file.text)


def remove_roles(path: Path, name: str) -> None:
    """Remove the roles of a user, if any. Raises ValueError for a file that is not valid."""
    if path.exists() and name in password_file.parse_roles(path.read_text(encoding="utf-8")):
        with _changed(path) as file:
            file.text = _without(file.text, name)
            password_file.parse_roles(file.text)


@dataclass
class _File:
    """A file that is being changed."""

    text: str
    is_new: bool


@contextmanager
def _changed(path: Path, like: Path | None = None) -> Iterator[_File]:
    """Replace the text of a file atomically, at the end of the block: readers see the old or the new text.

    The file keeps its owner. A new file takes the owner and mode of the file ``like``, if there is one; otherwise it is
    readable only by its owner. Raises ValueError if it cannot be written.
    """
    try:
        resolved = path.resolve()
        with _locked(resolved.parent):
            before = _status(resolved)
            text = "" if before is None else resolved.read_text(encoding="utf-8")
            file = _File(text, before is None)
            yield file
            if file.is_new or file.text != text:
                _replace(resolved, file.text, _status(like) if file.is_new and like is not None else before)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror or error}") from None


def _replace(path: Path, text: str, model: os.stat_result | None) -> None:
    """Replace the text of a file, which gets the owner and mode of ``model``."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if model is not None:
                own = os.fstat(file.fileno())
                if (model.st_uid, model.st_gid) != (own.st_uid, own.st_gid):
                    os.fchown(file.fileno(), model.st_uid, model.st_gid)
                os.fchmod(file.fileno(), model.st_mode & _KEPT)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against concurrent changes. The folder itself is locked, so that no lock file is left behind."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        with suppress(OSError):  # not supported by every file system
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lines(text: str, edit: Callable[[str], str | None], *more: str) -> str:
    lines = [edited for line in text.splitlines() if (edited := edit(line)) is not None]
    return "".join(f"{line}\n" for line in (*lines, *more))


def _is_of(line: str, name: str) -> bool:
    return line.strip().partition(":")[0] == name


def _without(text: str, name: str) -> str:
    """Return YAML without the entry of ``name``; comments and other entries are kept."""
    password_file.parse_roles(text)
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(document, yaml.MappingNode):
        return text  # it is empty
    if document.flow_style:
        raise ValueError(
            "The file of roles has all its users in braces, {…}. "
            "Put each user on a separate line, or edit the file by hand."
        )
    lines = text.splitlines(keepends=True)
    for key, value in reversed(document.value):
        if key.value == name:
            del lines[key.start_mark.line : _last_line(value) + 1]
    return "".join(lines)


def _last_line(node: yaml.Node) -> int:
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    line: int = node.end_mark.line
    return line
