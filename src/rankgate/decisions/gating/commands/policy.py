"""``rankgate policy``: every key of a gate's policy, and the demands of one policy."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result
from rankgate.core.console.places import write_output
from rankgate.core.present.forms import as_json
from rankgate.core.present.write import FORMS
from rankgate.decisions.gating.policies import policy_keys
from rankgate.decisions.gating.policy import policy


@click.command("policy")
@click.argument("file", required=False, type=click.Path())
@options.form(*FORMS, "schema")
@options.output
def command(file: str | None, form: str, output: str | None) -> None:
    """Check the policy FILE and show what it demands; without FILE, show every key.

    \b
    rankgate policy
    rankgate policy rankgate.toml
    rankgate policy --format schema -o rankgate.schema.json
    """
    if file is not None:
        print_result(policy(file), "json" if form == "schema" else form, output)
    elif form == "schema":
        write_output(as_json.to_json(dict(policy_keys().schema)), output)
    else:
        print_result(policy_keys(), form, output)
