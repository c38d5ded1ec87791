"""The `onmf` command: parse, call, print; one file a subcommand, imported when it is called.

What the exit codes mean is in `EXIT_CODES`, and in `onmf --help`.
"""

import errno
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from threading import current_thread, main_thread

try:
    import click
    import rich  # noqa: F401  (here, so that every command may count on it)
    from click.shell_completion import CompletionItem
except ImportError as missing:
    raise SystemExit(
        f'The onmf command needs {missing.name}, which `pip install "onmf[cli]"` installs.'
    ) from missing

BAD_INPUT, NOT_CONVERGED, NO_MEMORY, NO_SPACE, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143
EXIT_CODES = {
    0: "good",
    BAD_INPUT: "bad input, or a file that cannot be read or written",
    NOT_CONVERGED: "not converged; the result is written all the same",
    NO_MEMORY: "out of memory",
    NO_SPACE: "no space left on the disk",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}
LOG = logging.getLogger("onmf.cli")  # what --log-file writes down; without it nothing is
LOG.propagate = False
LOG.setLevel(SILENT := logging.CRITICAL + 1)
FULL = {errno.ENOSPC, errno.EDQUOT}
COMMANDS = {  # what `onmf --help` says of each, without importing it
    "cluster": "Cluster the samples of a file.",
    "choose-k": "Recommend a number of clusters for the samples of a file.",
    "compare": "Compare methods on the rows of a file, from the same starts.",
    "explain": "Say what makes the clusters of a finished run.",
    "predict": "Give new samples the clusters of a model.",
    "update": "Take one batch more into the clusters of a finished run.",
    "report": "Make report.html of a finished run again.",
    "demo": "Cluster digits and the paper's synthetic data, beside K-means.",
    "reproduce": "Run the paper's tables and figures again.",
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str or None, default=None
        The words after `onmf`; None takes those of the process.

    Returns
    -------
    int

    Examples
    --------
    >>> from onmf.cli import main
    >>> main(["--version"])
    onmf ...
    0
    """
    try:
        with leaving_when_terminated():
            return commands.main(args, prog_name="onmf", standalone_mode=False) or 0
    except click.ClickException as error:
        return failed(f"Error: {error.format_message()}", error.exit_code)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        # About the input or the machine: what the user can put right takes one sentence.
        return failed(f"Error: {error_sentence(error)}", exit_code(error))
    except (click.Abort, KeyboardInterrupt):
        return failed("Interrupted.", INTERRUPTED)
    finally:
        LOG.setLevel(SILENT)
        for handler in LOG.handlers[:]:
            LOG.removeHandler(handler)
            handler.close()


def failed(said: str, code: int) -> int:
    """Say why, on one line in which no name can steer the terminal; return the exit code."""
    from onmf.io.table import one_line  # not for `onmf --help`, which is to be quick

    said = one_line(said)
    click.echo(said, err=True)
    LOG.error(said)
    return code


def exit_code(error: Exception) -> int:
    """By what the user can do about it."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError) or number == errno.ENOMEM:
        return NO_MEMORY
    return NO_SPACE if number in FULL else BAD_INPUT


def error_sentence(error: Exception) -> str:
    """What an error says; those of the system begin with their file."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.strerror}."
        if error.filename is not None:
            said = f"{error.filename}: {said}"
    if isinstance(error, MemoryError):
        said = f"out of memory: {said or 'an array could not be had'}"
    return said


@contextmanager
def leaving_when_terminated() -> Iterator[None]:
    """SIGTERM ends the process as an error does, so that nothing half done stays."""
    if current_thread() is not main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
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
        # The paper's studies are a package of their own, which nothing else loads.
        module = "onmf_paper.command" if name == "reproduce" else f"onmf.cli.{name}"
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
    """Cluster non-negative data by orthogonal NMF.

    \b
    Example:
      onmf cluster tumours.csv -k 10 -o result

    To complete commands, options and files with the tab key, put the line of your shell into its
    start-up file:

    \b
      eval "$(_ONMF_COMPLETE=bash_source onmf)"
      eval "$(_ONMF_COMPLETE=zsh_source onmf)"
      _ONMF_COMPLETE=fish_source onmf | source
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
