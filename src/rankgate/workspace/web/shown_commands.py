"""Commands of rankgate that pages show, in the words of their help; tests run every one of them."""

from __future__ import annotations

_STORE = "--store STORE --project PROJECT"

COMMANDS = {
    "eval": f"rankgate eval QRELS RUN... {_STORE} --record",
    "gate": f"rankgate gate QRELS BASELINE CANDIDATE {_STORE} --record",
    "holes": "rankgate holes QRELS BASELINE CANDIDATE --judge-next 50 --format pool -o pool.csv",
    "pool": "rankgate pool RUN... --qrels QRELS -o pool.csv",
    "rate": "rankgate rate POOL --queries QUERIES --documents DOCUMENTS --llm MODEL -o FILE",
    "record": f"rankgate record RESULT.json... {_STORE}",
    "serve": "rankgate serve --store STORE --llm endpoints.toml",
}
"""The commands by name, with the words for what a reader puts in."""


def command_text(name: str, project: str = "") -> str:
    """A command as a page shows it.

    >>> command_text("gate", "shop")
    'rankgate gate QRELS BASELINE CANDIDATE --store STORE --project shop --record'
    """
    return COMMANDS[name].replace("PROJECT", project or "PROJECT")
