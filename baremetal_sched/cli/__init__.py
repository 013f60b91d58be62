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
        if cmd_name == "version":  # as other programs have it; --version is the option for it
            return _version
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(_imported(f"{__name__}.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from baremetal_sched.suggestions import did_you_mean

            ctx.fail(f"No such command '{args[0]}'.{did_you_mean(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.command("version")
def _version() -> None:
    """Print the version."""
    click.echo(f"baremetal-sched, version {__version__}")


def _imported(module: str) -> ModuleType:
    """Import a module and all that it needs; modules are no garbage, so no garbage is collected during the import."""
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.enable()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
        click.echo(f"Error: {refusal}", err=True)
        sys.exit(1)
