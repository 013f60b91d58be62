"""The command line: one module per group of commands."""

import gc
import importlib
import sys
from keyword import iskeyword
from types import ModuleType

import click

from baremetal_sched import __version__
from baremetal_sched.cli.options import refusal_of

#: The commands. Each is in the module of its name, which is imported on use, so that every command starts fast.
_COMMANDS = ("serve", "conductor", "db", "node", "user", "secrets", "compute", "policy", "import", "demo")


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(_imported(f"{__name__}.{name}"), name)
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
