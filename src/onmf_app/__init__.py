"""The `onmf` command: files in, a folder out. Each subcommand is imported when it is called."""

import errno
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from threading import current_thread, main_thread

import click
from click.shell_completion import CompletionItem

BUG, BAD_INPUT, NOT_CONVERGED, NO_MEMORY, NO_SPACE, LOCKED = 1, 2, 3, 4, 5, 6
INTERRUPTED, TERMINATED = 130, 143
EXIT_CODES = {
    0: "success",
    BUG: "a bug in onmf; a file has the details",
    BAD_INPUT: "bad input, or a file that cannot be read or written",
    NOT_CONVERGED: "not converged; the result is written anyway",
    NO_MEMORY: "out of memory",
    NO_SPACE: "no space left on the disk",
    LOCKED: "another onmf command is writing to the folder",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}
DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
COMMANDS = {  # the first line of their help, without importing them
    "cluster": "Cluster the samples of a file.",
    "predict": "Assign new samples to the clusters of a run.",
    "update": "Cluster the samples of a finished run together with new ones.",
    "edit": "Rename, merge and split clusters of a finished run.",
    "demo": "Compare with K-means on three data sets, and write a page.",
}
COMMANDS_OF_OTHERS = "onmf.commands"  # group of entry points: name = "module:command"


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
            return program.main(args, prog_name="onmf", standalone_mode=False) or 0
    except click.ClickException as error:
        return failed(on_one_line(error.format_message()), error.exit_code)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        # About the input or the machine: one sentence is enough for the user.
        return failed(on_one_line(error_sentence(error)), exit_code(error))
    except (click.Abort, KeyboardInterrupt):
        return failed("Interrupted.", INTERRUPTED)
    except Exception as error:
        return failed(on_one_line(bug_sentence(error)), BUG)


def failed(said: str, code: int) -> int:
    """Print the reason; return the exit code."""
    click.echo(said, err=True)
    return code


def bug_sentence(error: Exception) -> str:
    """What to do about an error that is ours; its traceback goes into a file."""
    import traceback
    from tempfile import NamedTemporaryFile

    kind = {"mode": "w", "encoding": "utf-8", "prefix": "onmf-bug-", "suffix": ".txt"}
    with NamedTemporaryFile(**kind, delete=False) as file:  # type: ignore[call-overload]
        file.write("".join(traceback.format_exception(error)))
    return f"this is a bug in onmf ({type(error).__name__}): please report {file.name}."


def on_one_line(said: str) -> str:
    """The message of an error for a terminal."""
    from onmf.rows import one_line  # slow to import, and `onmf --help` does not need it

    return one_line(f"Error: {said}")


def exit_code(error: Exception) -> int:
    """The exit code of an error."""
    from onmf.files import FolderInUseError  # slow to import

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


def commands_of_others() -> dict[str, EntryPoint]:
    """The commands that other packages provide, such as the paper's studies."""
    return {entry.name: entry for entry in entry_points(group=COMMANDS_OF_OTHERS)}


class Commands(click.Group):
    """The subcommands: `cluster` is `run_cluster` in the module `cluster`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *commands_of_others()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module = import_module(f"onmf_app.commands.{cmd_name}")
            command: click.Command = getattr(module, f"run_{cmd_name}")
            return command
        entry = commands_of_others().get(cmd_name)
        return None if entry is None else entry.load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`onmf FILE` is `onmf cluster FILE`."""
        known = self.list_commands(ctx)
        if args[0] not in known and (args[0] == "-" or Path(args[0]).exists()):
            args = ["cluster", *args]
        elif args[0] not in known and not args[0].startswith("-"):
            what = "file" if "." in args[0] or "/" in args[0] else "command or file"
            folder = Path(args[0]).parent
            files = map(str, folder.iterdir()) if folder.is_dir() else ()
            near = get_close_matches(args[0], [*known, *files], 1)
            more = f": did you mean {near[0]!r}?" if near else "."
            raise click.UsageError(f"there is no {what} {args[0]!r}{more}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        items = (CompletionItem(name, help=help_) for name, help_ in self.first_lines().items())
        fitting = [item for item in items if item.value.startswith(incomplete)]
        return fitting + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*self.first_lines().items()])

    def first_lines(self) -> dict[str, str]:
        """What each command does, in a line."""
        others = {name: f"See onmf {name} --help." for name in commands_of_others()}
        return COMMANDS | others

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])


def show_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """The version, and whether the kernels are compiled."""
    if wanted and not context.resilient_parsing:
        from onmf.search.numpy_kernels import kernel_sentence  # not for `onmf --help`

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
def program(context: click.Context) -> None:
    """Cluster the samples of tables, texts and arrays by orthogonal NMF.

    \b
    Example:
      onmf tumours.csv

    A file or folder alone is clustered: `onmf FILE` is `onmf cluster FILE`.

    For completion with the tab key, add the line of your shell to its start-up file:

    \b
      eval "$(_ONMF_COMPLETE=bash_source onmf)"
      eval "$(_ONMF_COMPLETE=zsh_source onmf)"
      _ONMF_COMPLETE=fish_source onmf | source
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
