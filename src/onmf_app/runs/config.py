"""`--config`: options from a TOML file.

clusters = 10               # for every command that has the option
[cluster]                   # for this command only
text-column = "abstract"
drop = ["id", "date"]
"""

import tomllib
from pathlib import Path
from typing import Any

import click


def read_config(context: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Options that are not typed have the values of the file."""
    if path is None:
        return
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise click.UsageError(f"{path} is not TOML: {error}.") from error
    own = content.get(str(context.info_name), {})
    shared = {name: value for name, value in content.items() if not isinstance(value, dict)}
    every = {name: value for name, value in shared.items() if not only_of_others(context, name)}
    values: dict[str, Any] = {}
    for name, value in (every | own).items():
        values |= option_value(context, path, name, value)
    context.default_map = {**(context.default_map or {}), **values}


def options_of(command: click.Command | None) -> dict[str, click.Parameter]:
    """The parameters of a command by their long names."""
    params = [] if command is None else command.params
    return {flag.lstrip("-"): one for one in params for flag in one.opts}


def only_of_others(context: click.Context, name: str) -> bool:
    """Whether other commands have an option of this name, and this one has not."""
    group = context.parent and context.parent.command
    if name in options_of(context.command) or not isinstance(group, click.Group):
        return False
    others = (group.get_command(context, other) for other in group.list_commands(context))
    return any(name in options_of(command) for command in others)


def option_value(context: click.Context, path: Path, name: str, value: Any) -> dict[str, Any]:
    """The parameter that an option sets, and its value; nothing for a flag that is false."""
    found = options_of(context.command).get(name)
    if not isinstance(found, click.Option) or name == "config":
        raise click.UsageError(
            f"{path} has {name!r}, which is no option of {context.command_path}: see --help for "
            "their names."
        )
    if not found.is_flag:
        return {str(found.name): value}
    if not isinstance(value, bool):
        raise click.UsageError(f"{path}: {name} is a flag: write {name} = true or false.")
    shared = isinstance(found.flag_value, str)  # one of several flags of a parameter
    if shared and not value:
        return {}
    return {str(found.name): found.flag_value if shared else value}


CONFIG = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    callback=read_config,
    expose_value=False,
    help="TOML file with options, by their long names; those typed here come first.",
)
