"""What a command says with --help, taken from the command itself: `.. onmf-help:: cluster`."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from onmf_app import program

WIDTH = 88  # columns


class Help(Directive):
    """The help of `onmf`, or of the subcommand that is named."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        asked: dict[str, Any] = {"resilient_parsing": True, "max_content_width": WIDTH}
        command: Any = program
        context = command.make_context("onmf", [], **asked)
        for name in self.arguments:
            command = program.get_command(context, name)
            context = command.make_context(name, [], parent=context, **asked)
        context.terminal_width = WIDTH
        text = command.get_help(context)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("onmf-help", Help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
