"""``baremetal-sched policy``: the access rules of all APIs."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from baremetal_sched.cli.options import configured, opened

if TYPE_CHECKING:
    from oslo_policy import policy as oslo

    from baremetal_sched.settings import Settings
    from baremetal_sched.web.api import Api

_MEANINGS = {
    "nodes": "Nodes without an owner, visible only to system-scoped callers",
    "allocations": "Allocations without an owner, visible only to system-scoped callers",
    "servers": "Servers of the project in [compute] project_id, visible only to administrators",
    "images": "Images of that project or without a project, visible only to administrators unless public",
    "consumers": "Placement consumers of that project or without a project, not counted in any project's usage",
}


def _apis() -> Mapping[str, "type[Api]"]:
    """Return the APIs with rules, by name. The one at the root has those of the service as a whole."""
    from baremetal_sched.app import APIS
    from baremetal_sched.web.health import RootApi

    every: tuple[type[Api], ...] = (*APIS, RootApi)
    return {api.name: api for api in every}


class _ApiName(click.ParamType[str]):
    """The name of an API. Which there are is looked up when one is given: help is there at once."""

    name = "api"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        names = list(_apis())
        if value not in names:
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return value


_one_api = click.option("--api", type=_ApiName(), help="Only the rules of this API: baremetal, or root, for example.")


@click.group()
def policy() -> None:
    """Show and check the access rules of all APIs."""


@policy.command("list")
@_one_api
def list_(api: str | None) -> None:
    """List each rule with its default check and its scopes."""
    apis = _apis()
    for name, rules in _rules(api):
        click.echo(f"# {name}")
        for rule in rules:
            scopes = f"  ({', '.join(rule.scope_types)})" if rule.scope_types else ""
            click.echo(f'"{rule.name}": "{rule.check_str}"{scopes}')
        for optional in apis[name].optional_rules:
            click.echo(f'#"{optional.form}": not set by default')


@policy.command()
@_one_api
def sample(api: str | None) -> None:
    """Print a sample file for [oslo_policy] policy_file, with every rule commented out."""
    apis = _apis()
    for name, rules in _rules(api):
        click.echo(f"# The {name} API\n")
        routes = _routes(apis[name])
        for rule in rules:
            if rule.description:
                click.echo(f"# {' '.join(rule.description.split())}")
            for route in routes.get(rule.name, ()):
                click.echo(f"# {route}")
            click.echo(f'#"{rule.name}": "{rule.check_str}"\n')
        for optional in apis[name].optional_rules:
            click.echo(f'# {optional.description}\n# "{optional.form}": "role:admin"\n')


def named_roles(settings: "Settings") -> frozenset[str]:
    """Return the roles that rules name, in lower case: no other grants anything."""
    from baremetal_sched.web import policy_file

    return policy_file.named_roles(settings, [rule for api in _apis().values() for rule in api.rules])


def known_rules() -> frozenset[str]:
    """Return the names of all rules."""
    return frozenset(rule.name for api in _apis().values() for rule in api.rules)


@policy.command()
@configured
def check(settings: "Settings") -> None:
    """Check the policy file, and count resources that belong to no project.

    Exits 1 if the file has errors. Resources without a project are not an error: they were created before callers were
    authenticated, and only administrators see them.
    """
    found = _problems(settings)
    for problem in found:
        click.echo(problem)
    for meaning in _unowned(settings):
        click.echo(meaning)
    if found:
        raise click.exceptions.Exit(1)
    click.echo("ok")


def _rules(api: str | None) -> Iterator[tuple[str, "list[oslo.RuleDefault]"]]:
    for name, each in _apis().items():
        if api in (None, name):
            yield name, list(each.rules)


def _routes(api: "type[Api]") -> dict[str, list[str]]:
    """Return the methods and paths of the routes that use each rule."""
    lines = {(route.policy, f"{route.method} /{api.name}{route.path}") for route in getattr(api, "routes", ())}
    named = sorted((rule, line) for rule, line in lines if rule is not None)
    return {rule: [line for _, line in group] for rule, group in groupby(named, key=lambda pair: pair[0])}


def _problems(settings: "Settings") -> list[str]:
    """Return the errors of the configured policy file; an empty list if no file is configured and the default one does
    not exist."""
    from oslo_config.cfg import Locations

    from baremetal_sched.web import policy_file

    name: str = settings.oslo_policy.policy_file
    path: Any = settings.find_file(name)
    if path is None:
        location = settings.get_location("policy_file", "oslo_policy")
        if location is None or location.location in (Locations.opt_default, Locations.set_default):
            return []
        return [f"There is no file {name}, which [oslo_policy] policy_file names."]
    checks = {api: {rule.name: rule.check_str for rule in rules} for api, rules in _rules(None)}
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [f"The file {path} cannot be read: {error}"]
    return policy_file.problems(text, checks, {name: api.optional_rules for name, api in _apis().items()})


def _unowned(settings: "Settings") -> list[str]:
    from baremetal_sched.compute.migration import upgrade_checks

    with opened(settings) as database:
        counts = database.read(lambda session: upgrade_checks.count_unowned(session, settings))
    return [f"{_MEANINGS[kind]}: {number}" for kind, number in counts.items() if number]
