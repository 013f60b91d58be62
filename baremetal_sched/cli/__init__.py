"""The command line: one module per group of commands."""

import gc
import importlib
import sys
from types import ModuleType

import click

from baremetal_sched import __version__
from baremetal_sched.cli.options import refusal_of

#: Modules of the commands, by name; imported on use, so that every command starts fast.
_COMMANDS = {
    "serve": "baremetal_sched.cli.serve:serve",
    "conductor": "baremetal_sched.cli.conductor:conductor",
    "db": "baremetal_sched.cli.db:db",
    "node": "baremetal_sched.cli.node:node",
    "user": "baremetal_sched.cli.user:user",
    "secrets": "baremetal_sched.cli.secrets:secrets",
    "compute": "baremetal_sched.cli.compute:compute",
    "policy": "baremetal_sched.cli.policy:policy",
    "demo": "baremetal_sched.cli.demo:demo",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(_imported(module), name)
        return command


def _imported(module: str) -> ModuleType:
    """Import a module and all that it needs; modules are no garbage, so that none is looked for meanwhile."""
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.enable()


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="baremetal-sched")
def cli() -> None:
    """A bare metal scheduler: OpenStack's bare metal and Placement APIs, one service, one database."""


def main() -> None:
    """Run a command. Expected failures are reported in one line, with exit status 1."""
    try:
        cli(prog_name="baremetal-sched")
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        click.echo(f"baremetal-sched: {refusal}", err=True)
        sys.exit(1)
