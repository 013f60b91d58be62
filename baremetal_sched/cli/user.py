"""``baremetal-sched user``: the users of ``[api] auth_strategy = http_basic``."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from baremetal_sched import commands
from baremetal_sched.cli.options import configured, mistakes

if TYPE_CHECKING:
    from baremetal_sched.settings import Settings
    from baremetal_sched.web.authentication.password_file import Assignment


@click.group()
def user() -> None:
    """Manage users of the strategy http_basic. Running services pick up changes by themselves."""


@user.command()
@click.argument("name")
@click.option("--generate", is_flag=True, help="Generate a password and print it.")
@click.option("--password-stdin", is_flag=True, help="Read the password from the first line of standard input.")
@click.option("--role", "roles", multiple=True, help="Role to add to the file of roles; can be repeated.")
@click.option("--project", metavar="ID", help="Project in which the user has these roles.")
@click.option("--system", is_flag=True, help="Assign these roles in system scope.")
@configured
def add(
    name: str,
    generate: bool,
    password_stdin: bool,
    roles: tuple[str, ...],
    project: str | None,
    system: bool,
    settings: "Settings",
) -> None:
    """Add the user NAME, or change the password of an existing one. Prompts for the password by default."""
    from baremetal_sched.cli import user_files
    from baremetal_sched.web.authentication.password_file import Assignment, roles_path, users_path

    with mistakes():
        user_files.check_name(name)
    file = roles_path(settings)
    _check_options(generate and password_stdin, roles, project, system, file)
    password = _password(generate, password_stdin)
    line = user_files.line_of(name, password)
    path = users_path(settings)
    before = _roles(settings).get(name)
    # Roles first, so that a user with a password never lacks them.
    if file is not None and roles:
        user_files.put_roles(file, name, Assignment(roles, project, "all" if system else None), path)
    is_new = user_files.put_user(path, line, file)
    click.echo(f"{'Added' if is_new else 'Changed the password of'} {name} in {path}.")
    if generate:
        click.echo(f"Password: {password}")
    if file is not None and name not in _roles(settings):
        click.echo(f"{name} has no role: {file} says nothing of this user.", err=True)
    _warn(name, roles, project, settings)
    if _takes_away(before, _roles(settings).get(name)):
        _say_what_it_has(name, settings)


@user.command()
@click.argument("name")
@configured
def remove(name: str, settings: "Settings") -> None:
    """Remove the user NAME and its roles."""
    from baremetal_sched.cli import user_files
    from baremetal_sched.web.authentication.password_file import roles_path, users_path

    path, file = users_path(settings), roles_path(settings)
    user_files.remove_user(path, name)
    if file is not None:
        user_files.remove_roles(file, name)
    click.echo(f"Removed {name} from {path}.")
    _say_what_it_has(name, settings)


@user.command("list")
@configured
def list_users(settings: "Settings") -> None:
    """List the users and their roles."""
    from baremetal_sched.web.authentication import password_file

    path = password_file.users_path(settings)
    users = password_file.parse_users(path.read_text(encoding="utf-8")) if path.exists() else None
    if users is None:
        raise click.ClickException(f"There is no file {path}. Create it with: {commands.ADD_USER.of(user='NAME')}")
    roles = None if password_file.roles_path(settings) is None else _roles(settings)
    for name in sorted(users.hashes):
        click.echo(name if roles is None else f"{name}: {_described(roles.get(name))}")


def _check_options(
    has_two_passwords: bool, roles: tuple[str, ...], project: str | None, system: bool, file: Path | None
) -> None:
    if has_two_passwords:
        raise click.UsageError("--generate and --password-stdin cannot be combined.")
    if project is not None and system:
        raise click.UsageError("--project and --system cannot be combined.")
    if (project is not None or system) and not roles:
        raise click.UsageError("--project and --system need a --role.")
    if roles and file is None:
        raise click.UsageError(
            "Users have roles only if [DEFAULT] http_basic_auth_roles_file is set. Without it, every user can do "
            "everything. Set it in the settings of the service and of this command: http_basic_auth_roles_file = "
            "roles.yaml in the section [DEFAULT] of the file, or "
            "export OS_DEFAULT__HTTP_BASIC_AUTH_ROLES_FILE=roles.yaml in the environment."
        )


def _warn(name: str, roles: tuple[str, ...], project: str | None, settings: "Settings") -> None:
    """Warn of an administrator of a project who is one of all projects, and of roles that allow nothing."""
    from baremetal_sched.cli.policy import named_roles
    from baremetal_sched.suggestions import did_you_mean

    names = {role.lower() for role in roles}
    if "admin" in names and project is not None:
        click.echo(
            f"Warning: {name} is an administrator of all projects in the compute, image and placement APIs: as in "
            "OpenStack, their role admin is not limited to a project. For an administrator of the project only, use "
            "--role manager.",
            err=True,
        )
    known = named_roles(settings)
    for role in sorted(names - known):
        suggestion = did_you_mean(role, known)
        click.echo(f"Warning: no policy names the role {role}, so it allows nothing.{suggestion}", err=True)


def _takes_away(before: "Assignment | None", after: "Assignment | None") -> bool:
    """Return whether a user loses a role, the project or the system."""
    if before is None or after is None:
        return before is not None
    moves = (before.project_id, before.system_scope) != (after.project_id, after.system_scope)
    return moves or bool(set(before.roles) - set(after.roles))


def _say_what_it_has(name: str, settings: "Settings") -> None:
    """Print what of the user acts later, if the database can be reached: it need not be, from where the files are."""
    from baremetal_sched.db import schema
    from baremetal_sched.db.transaction import Database
    from baremetal_sched.errors import SchedulerError
    from baremetal_sched.scheduling import user_traces

    database = Database(settings)
    try:
        schema.require_served(database.engine)
        lines = database.read(partial(user_traces.of_user, name=name))
    except SchedulerError as error:
        lines = [f"What {name} has in the database is unknown: {error}"]
    finally:
        database.dispose()
    for line in lines:
        click.echo(line, err=True)


def _password(generate: bool, from_stdin: bool) -> str:
    from baremetal_sched.cli import user_files

    if generate:
        return user_files.new_password()
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal to enter a password on. Give --generate or --password-stdin.")
    entered: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return entered


def _roles(settings: "Settings") -> "Mapping[str, Assignment]":
    from baremetal_sched.web.authentication import password_file

    path = password_file.roles_path(settings)
    if path is None or not path.exists():
        return {}
    return password_file.parse_roles(path.read_text(encoding="utf-8"))


def _described(assignment: "Assignment | None") -> str:
    if assignment is None or not assignment.roles:
        return "no role"
    scope = "the system" if assignment.system_scope else f"project {assignment.project_id or 'none'}"
    return f"{', '.join(assignment.roles)} ({scope})"
