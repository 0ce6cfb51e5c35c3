"""``rankgate completion``: the script that completes words in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_RANKGATE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    r"""Write the script that completes commands, options, metrics and conventions in SHELL.

    \b
    rankgate completion bash >> ~/.bashrc
    rankgate completion zsh >> ~/.zshrc
    rankgate completion fish > ~/.config/fish/completions/rankgate.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    program = click.get_current_context().find_root().command
    made = found(program, {}, "rankgate", _VARIABLE)
    click.echo(made.source_template % made.source_vars())
