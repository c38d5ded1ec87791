"""The headings of `--help`: input, preparation, model, output, and what few people need."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
PREPARATION, DOCUMENTS = "Preparation, in this order", "Documents (--text)"
SECTIONS = ("Input", PREPARATION, DOCUMENTS, "Model", "Output", "Options", "Advanced")
MAIN_OPTIONS = {
    **dict.fromkeys(("like", "time", "batch"), "Input"),
    "center_batches": PREPARATION,
    "describe": DOCUMENTS,
    **dict.fromkeys(("k", "seeds"), "Model"),
    **dict.fromkeys(("out", "images"), "Output"),
}
ADVANCED_OPTIONS = {
    *("--duplicates", "--decimal", "--thousands", "--skip-rows", "--encoding", "--follow-links"),
    *("--starts", "--passes"),
}


class SectionedCommand(click.Command):
    """A command whose `--help` lists its options in sections, those for most people first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = defaultdict(list)
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                rows[section_of(option)].append(record)
        for title in sorted(rows, key=SECTIONS.index):
            with formatter.section(title):
                formatter.write_dl(rows[title])


def section_of(option: click.Parameter) -> str:
    """The heading of an option in `--help`."""
    if ADVANCED_OPTIONS & {*option.opts}:
        return "Advanced"
    return str(getattr(option, "section", MAIN_OPTIONS.get(option.name or "", "Options")))


def section(title: str, *options: Decorator) -> Decorator:
    """Options under a heading of `--help`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
            command.__click_params__[-1].section = title  # type: ignore[attr-defined]
        return command

    return decorate
