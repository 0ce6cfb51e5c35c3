"""``rankgate policy``: what a gate's policy may say, and what one demands."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver
from rankgate.console.terminal import styled, width
from rankgate.gating.documents.policy import FORMS, render, render_all
from rankgate.gating.policies import policy, vocabulary


@click.command("policy")
@click.argument("file", required=False, type=click.Path())
@options.form(*FORMS)
@options.output
def command(file: str | None, form: str, output: str | None) -> None:
    """Check the policy FILE and tell what it demands; without FILE, tell what policies may say.

    \b
    rankgate policy
    rankgate policy rankgate.toml
    rankgate policy --format schema -o rankgate.schema.json
    """
    if file is None:
        result = render_all(vocabulary(), form, width(output))
    else:
        result = render(policy(file), form, width(output))
    deliver(styled(result, form, output), output)
