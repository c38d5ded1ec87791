"""What the options of several commands have in common: words, `--set`, `--config`, their help."""

import ast
import tomllib
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click

PARTS = ("read", "prepare", "solver")  # of names that --set takes
OF_STEPS = ("log", "tfidf", "unit", "scale", "depth", "variable")  # former flags
LONGEST_VALUE = 1000  # characters


class Word(click.ParamType):
    """The word after an option, read by a function that raises ValueError if it is wrong."""

    def __init__(self, parse: Callable[[str], Any], name: str) -> None:
        self.parse, self.name = parse, name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            value = str(value)
        try:
            return self.parse(value)
        except ValueError:
            self.fail(f"{value!r} is not {self.name.replace('|', ' or ')}.", param, ctx)


def whole_number(word: str) -> int:
    """Digits of ours; int() takes 1_0 and digits of other scripts, too."""
    if not (word.isascii() and word.isdecimal()):
        raise ValueError
    return int(word)


class Command(click.Command):
    """A command that knows the nearest option, and lists its options under headings."""

    def __init__(self, *args: Any, sections: dict[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sections = sections or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            instead = self.instead(error.option_name)
            end = "?" if "did you" in instead else "."
            said = f"there is no option {error.option_name}{instead}{end}"
            raise click.UsageError(said, ctx) from error

    def instead(self, typed: str) -> str:
        """What was meant: the option with one dash, a setting, or the nearest name."""
        name = typed.lstrip("-")
        known = [flag for option in self.params for flag in (*option.opts, *option.secondary_opts)]
        if f"-{name}" in known:
            return f": write -{name}"
        if "--set" in known and (place := place_of(name.replace("-", "_"))):
            return f": write --set {place}=VALUE"
        if "--prepare" in known and name in OF_STEPS:
            return f": write --prepare {name}"
        near = get_close_matches(f"--{name}", known, 1, 0.5)
        return f": did you mean {near[0]}" if near else ""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        title = "Options"
        for option in self.get_params(ctx):
            title = self.sections.get(option.name or "", title)
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                rows.setdefault(title, []).append(record)
        for title, own in rows.items():
            with formatter.section(title):
                formatter.write_dl(own, col_max=26)


def place_of(name: str) -> str | None:
    """The full name of a setting, such as read.encoding."""
    if name in parameters_of_reading():
        return f"read.{name}"
    if name in {own for step in steps().values() for own in step().get_params()}:
        return f"prepare.{name}"
    if name in solver_parameters():
        return f"solver.{name}"
    return name if name in model_parameters() else None


def parameters_of_reading() -> dict[str, Any]:
    """What `read_input` takes, with the types."""
    import inspect

    from onmf_app.read import read_input

    given = inspect.signature(read_input).parameters
    return {n: own.annotation for n, own in given.items() if n not in ("path", "few", "progress")}


def steps() -> dict[str, Any]:
    """The preparation steps by name."""
    from onmf import prepare

    kinds = (getattr(prepare, name) for name in prepare.__all__)
    return {kind.name: kind for kind in kinds if hasattr(kind, "name")}


def solver_parameters() -> set[str]:
    from onmf import PALM, Fast

    return {*Fast().get_params(), *PALM().get_params()}


def model_parameters() -> set[str]:
    from onmf import ONMF

    own = {"n_clusters", "callback", "init", "loss", "outliers", "random_state", "n_jobs"}
    return {*ONMF().get_params(deep=False)} - own


class Settings(NamedTuple):
    """What --set says, by part: of reading, of the steps, of the solver, of the model."""

    read: dict[str, Any]
    prepare: dict[str, Any]
    solver: dict[str, Any]
    model: dict[str, Any]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Settings":
        """From words NAME=VALUE."""
        found = cls({}, {}, {}, {})
        for word in words:
            name, equals, value = word.partition("=")
            part, dot, own = name.rpartition(".")
            if not equals or (dot and part not in PARTS):
                raise click.UsageError(f"--set {word}: write NAME=VALUE, such as solver.passes=2.")
            known: Any = {
                "read": parameters_of_reading,
                "prepare": lambda: {name for step in steps().values()
                                    for name in step().get_params()},
                "solver": solver_parameters,
                "": model_parameters,
            }[part]()  # fmt: skip
            if own not in known:
                place = place_of(own) or next(iter(get_close_matches(own, known, 1)), None)
                place = place if place is None or "." in place or not dot else f"{part}.{place}"
                more = "" if place is None else f": did you mean {place}?"
                raise click.UsageError(f"there is no setting {name}{more}")
            kind = known[own] if part == "read" else None
            text = kind is str or str in get_args(kind) or own == "duplicates"
            found[(*PARTS, "").index(part)][own] = value if text else value_of(value)
        return found

    def parameters(self) -> dict[str, Any]:
        """Those of `ONMF`, with the solver as an object where it has any."""
        if not self.solver:
            return self.model
        from onmf import PALM, Fast

        kind: Any = PALM if self.model.get("solver") == "palm" else Fast
        if unknown := self.solver.keys() - kind().get_params().keys():
            raise click.UsageError(f"the solver {kind.name} has no {', '.join(sorted(unknown))}.")
        return self.model | {"solver": kind(**self.solver)}


def value_of(word: str) -> Any:
    """A number, true, false, none, numbers separated by commas, or the word itself."""
    plain = {"true": True, "false": False, "none": None}
    if word.lower() in plain:
        return plain[word.lower()]
    try:
        found = ast.literal_eval(word[:LONGEST_VALUE])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return tuple(word.split(",")) if "," in word else word
    return found if isinstance(found, int | float | tuple) else word


def read_config(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Options that are not typed have the values of a TOML file.

    k = 10                      # for every command that has the option
    [cluster]                   # for this command only
    text-column = "abstract"
    set = ["read.decimal=,"]
    """
    if path is None:
        return
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise click.UsageError(f"{path} is not TOML: {error}.") from error
    own = content.get(str(context.info_name), {})
    shared = {name: value for name, value in content.items() if not isinstance(value, dict)}
    known = {flag.lstrip("-"): one for one in context.command.params
             for flag in (*one.opts, *one.secondary_opts)}  # fmt: skip
    every = {
        name: value for name, value in shared.items() if name in known or not others(context, name)
    }
    values: dict[str, Any] = {}
    for name, value in (every | own).items():
        found = known.get(name)
        if not isinstance(found, click.Option) or name == "config":
            near = get_close_matches(name, known, 1)
            more = f": did you mean {near[0]!r}?" if near else ": see --help for their names."
            raise click.UsageError(
                f"{path} has {name!r}, which is no option of {context.command_path}{more}"
            )
        if found.is_flag and not isinstance(value, bool):
            raise click.UsageError(f"{path}: {name} is a flag: write {name} = true or false.")
        values[str(found.name)] = value
    context.default_map = {**(context.default_map or {}), **values}


def others(context: click.Context, name: str) -> bool:
    """Whether another command has an option of this name."""
    group = context.parent and context.parent.command
    if not isinstance(group, click.Group):
        return False
    commands = (group.get_command(context, own) for own in group.list_commands(context))
    flags: Iterable[str] = (flag for c in commands if c for p in c.params for flag in p.opts)
    return name in {flag.lstrip("-") for flag in flags}


CONFIG = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    callback=read_config,
    expose_value=False,
    help="TOML file with options by their long names; those typed come first.",
)
SET = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other parameter: of reading (read.encoding, .decimal, .thousands, .skip_rows, "
    ".duplicates, .follow_links), steps (prepare.min_df, .ngrams, ...), solver.passes, n_init, ...",
)
INPUT = click.Path(exists=True, path_type=Path, allow_dash=True)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
JSON = click.option("--json", "as_json", is_flag=True, help="Print run.json instead of a summary.")
