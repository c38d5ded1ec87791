"""The `onmf` command; each subcommand is a module, imported when it is called."""

import errno
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from threading import current_thread, main_thread

import click
from click.shell_completion import CompletionItem

BAD_INPUT, NOT_CONVERGED, NO_MEMORY, NO_SPACE, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143
LOCKED, ALREADY_COUNTED, OTHER_CONTENT, CHANGED = 6, 7, 8, 9
EXIT_CODES = {
    0: "success",
    BAD_INPUT: "bad input, or a file that cannot be read or written",
    NOT_CONVERGED: "not converged; the result is written anyway",
    NO_MEMORY: "out of memory",
    NO_SPACE: "no space left on the disk",
    LOCKED: "another onmf command is writing to the folder",
    ALREADY_COUNTED: "update: the batch was counted before; nothing has changed",
    OTHER_CONTENT: "update: a batch of this name was counted with other content",
    CHANGED: "update --strict: counted, but a cluster turned or many samples wait",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}
COMMAND_LOG = logging.getLogger("onmf_app")  # silent without --log-file
COMMAND_LOG.propagate = False
COMMAND_LOG.setLevel(SILENT := logging.CRITICAL + 1)
DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
COMMANDS = {  # the first line of their help, without importing them
    "cluster": "Cluster the samples of a file.",
    "choose-k": "Recommend a number of clusters for the samples of a file.",
    "compare": "Compare methods on the samples of a file, from the same starts.",
    "explain": "Explain the clusters of a finished run.",
    "predict": "Assign new samples to the clusters of a model.",
    "update": "Add a batch of samples to the clusters of a finished run.",
    "rename": "Give a cluster of a finished run a name.",
    "merge": "Make one cluster of several in a finished run.",
    "split": "Split a cluster of a finished run.",
    "status": "Show the batches, clusters and model of a run.",
    "report": "Write report.html of a finished run again.",
    "demo": "Compare with K-means on three data sets, and write a page.",
    "reproduce": "Run the paper's tables and figures again.",
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str or None, default=None
        The arguments after `onmf`; None takes those of the process.

    Returns
    -------
    int

    Examples
    --------
    >>> from onmf_app import main
    >>> main(["--version"])
    onmf ...
    0
    """
    try:
        with leaving_when_terminated():
            return commands.main(args, prog_name="onmf", standalone_mode=False) or 0
    except click.ClickException as error:
        return failed(on_one_line(error.format_message()), error.exit_code)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        # About the input or the machine: one sentence is enough for the user.
        return failed(on_one_line(error_sentence(error)), exit_code(error))
    except (click.Abort, KeyboardInterrupt):
        return failed("Interrupted.", INTERRUPTED)
    finally:
        COMMAND_LOG.setLevel(SILENT)
        for handler in COMMAND_LOG.handlers[:]:
            COMMAND_LOG.removeHandler(handler)
            handler.close()


def failed(said: str, code: int) -> int:
    """Print the reason; return the exit code."""
    click.echo(said, err=True)
    COMMAND_LOG.error(said)
    return code


def on_one_line(said: str) -> str:
    """The message of an error for a terminal, without the password of an address."""
    from onmf.io.remote import without_secrets
    from onmf.io.table import one_line  # slow to import, and `onmf --help` does not need it

    return one_line(without_secrets(f"Error: {said}"))


def exit_code(error: Exception) -> int:
    """The exit code of an error."""
    from onmf.io.output import FolderInUseError  # slow to import

    if isinstance(error, FolderInUseError):
        return LOCKED
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return NO_MEMORY
    return NO_SPACE if number in DISK_FULL else BAD_INPUT


def error_sentence(error: Exception) -> str:
    """The message of an error; that of a system error starts with the file."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}."
        if error.filename is not None:
            said = f"{error.filename}: {said}"
    if isinstance(error, MemoryError):
        said = f"out of memory: {said or 'an array is too large'}"
    return said


@contextmanager
def leaving_when_terminated() -> Iterator[None]:
    """SIGTERM ends the process like an error, so no temporary file stays."""
    if current_thread() is not main_thread():
        yield
        return
    told: list[int] = []

    def leave(number: int, frame: object) -> None:
        told.append(number)
        sys.exit(TERMINATED)

    usual = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    except Exception:
        if told:  # what a library makes of it that is being imported
            sys.exit(TERMINATED)
        raise
    finally:
        signal.signal(signal.SIGTERM, usual)


class Commands(click.Group):
    """The subcommands: `cluster` is `run_cluster` in the module `cluster`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        # The paper's studies are a separate package.
        module = "onmf_paper.command" if name == "reproduce" else f"onmf_app.{name}"
        command: click.Command = getattr(import_module(module), f"run_{name}")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        items = (CompletionItem(name, help=help_) for name, help_ in COMMANDS.items())
        fitting = [item for item in items if item.value.startswith(incomplete)]
        return fitting + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


def show_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """The version, and whether the kernels are compiled."""
    if wanted and not context.resilient_parsing:
        from onmf.search.row_problems import kernel_sentence  # not for `onmf --help`

        click.echo(f"onmf {version('onmf')}, {kernel_sentence()}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version,
    help="Show the version and exit.",
)  # fmt: skip
@click.pass_context
def commands(context: click.Context) -> None:
    """Cluster the samples of tables, texts and arrays by orthogonal NMF.

    \b
    Example:
      onmf cluster tumours.csv

    For completion with the tab key, add the line of your shell to its start-up file:

    \b
      eval "$(_ONMF_COMPLETE=bash_source onmf)"
      eval "$(_ONMF_COMPLETE=zsh_source onmf)"
      _ONMF_COMPLETE=fish_source onmf | source
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
