"""What a command says with --help, taken from the command itself: `.. onmf-help:: cluster`."""

from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive

from onmf.cli import commands


class Help(Directive):
    """The help of `onmf`, or of the subcommand that is named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        context = click.Context(commands, info_name="onmf", max_content_width=92)
        command: Any = commands
        if self.arguments:
            command = commands.get_command(context, self.arguments[0])
            context = click.Context(command, context, self.arguments[0], max_content_width=92)
        text = command.get_help(context)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("onmf-help", Help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
