"""`makegood`: the command line's front door."""

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches

import click

from makegood.cli import act, app, audit, check, completion, doctor, graph, look, output, rehearse, watch
from makegood.cli.completion import complete_arguments
from makegood.cli.connect import group_store_option
from makegood.cli.examples import show_examples
from makegood.errors import MakegoodError

ALIKE = 0.75
"""How much an option must be like what was typed, from 0 to 1, to be proposed in its place."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    invoke_without_command=True,
)
@click.version_option(package_name="makegood", message="makegood %(version)s")
@group_store_option
@click.pass_context
def makegood(ctx: click.Context) -> int:
    """Jobs of several remote calls that complete, or are undone, or stand in plain sight.

    Exit codes: 0 ok; 2 the command or its input is malformed; 1 it could not be done. Where a command waits
    for a task: 0 Completed, 10 Compensated, 20 Failed (parked), 30 not ended in time. `up`: 75 something
    in it could not be stopped. 130: interrupted.

    All times that are shown are UTC.
    """
    if ctx.invoked_subcommand is None:
        output.say(ctx.get_help())
        return output.MALFORMED
    return output.OK


for part in (app, check, graph, rehearse, look, audit, watch, act, doctor, completion):
    for command in part.COMMANDS:
        show_examples(command)
        complete_arguments(command)
        makegood.add_command(command)


def _message(error: click.UsageError) -> str:
    """In click's words; of the options that it proposes only those that may have been meant."""
    if isinstance(error, click.NoSuchOption):
        alike = get_close_matches(error.option_name, error.possibilities or (), cutoff=ALIKE)
        error = click.NoSuchOption(error.option_name, possibilities=alike, ctx=error.ctx)
    return error.format_message()


def _command(arguments: Sequence[str] | None) -> str:
    """The command that was typed: click's parser does not say of which one an option lacks its value."""
    words = sys.argv[1:] if arguments is None else arguments
    return " ".join(["makegood", *[word for word in words if word in makegood.commands][:1]])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answers its exit code. Errors are a line on stderr, never a traceback."""
    try:
        code = makegood.main(args=arguments, prog_name="makegood", standalone_mode=False)
    except click.UsageError as error:
        return output.misused(_message(error), error.ctx.command_path if error.ctx else _command(arguments))
    except click.ClickException as error:
        return output.misused(error.format_message(), "makegood")
    except click.Abort:
        return output.INTERRUPTED
    except MakegoodError as error:
        return output.failed(error)
    except Exception as error:
        if isinstance(error, OSError) and output.is_of_stream(error):  # click writes help by itself
            return output.failed(output.unwritten(error))
        if os.environ.get("MAKEGOOD_DEBUG"):
            raise
        return output.broke(error)
    return code if isinstance(code, int) else output.OK
