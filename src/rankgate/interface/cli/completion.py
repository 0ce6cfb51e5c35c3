"""``rankgate completion``: the script that completes words in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_RANKGATE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Write the script that completes commands, options and names, also those in files, in SHELL.

    \b
    rankgate completion bash >> ~/.bashrc
    rankgate completion zsh >> ~/.zshrc
    rankgate completion fish > ~/.config/fish/completions/rankgate.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    program = click.get_current_context().find_root().command
    completion = completion_class(program, {}, "rankgate", _VARIABLE)
    click.echo(completion.source_template % completion.source_vars())
