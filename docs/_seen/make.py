"""Pages as people see them, to be looked at before a release: ``python docs/_seen/make.py``.

Writes the rendered text of the pages with the most words in them, at 80 and at 160 columns, plain
and coloured (``.ansi``, for ``less -R``), and the console sessions of ``examples``. A test holds
that they are fresh.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from rankgate import services
from rankgate.cli import rankgate
from rankgate.cli.terminal import painted
from rankgate.report import conventions, passports, reconciliation

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
EXAMPLE = EXAMPLES / "product-search"
WIDTHS = (80, 160)

_CONSOLE = re.compile(r"```console\n\$ (.+)\n(?:(?!```).*\n)*```")


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with what stands in it."""
    data = EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run"
    results = {
        "reconcile": services.reconcile(*data, "nDCG@10"),
        "reconcile-from-to": services.bridge(*data, "nDCG@10", "trec", "rre"),
        "reconcile-value": services.reported(*data, "nDCG@10", "0.52"),
    }
    for width in WIDTHS:
        texts = {name: reconciliation.render(each, "text", width) for name, each in results.items()}
        texts["conventions"] = conventions.render_all(services.conventions(), "text", width)
        for name in ("trec", "searchtweak"):
            facts = services.convention_facts(name)
            texts[f"conventions-show-{name}"] = conventions.render(facts, "text", width)
        texts["conventions-axes"] = conventions.render_axes(services.axis_facts(), "text", width)
        texts["metrics-nDCG"] = passports.render(services.passport("nDCG"), "text", width)
        texts["metrics"] = passports.render_all(services.passports(), "text", width)
        for name, text in texts.items():
            yield HERE / f"{name}.{width}.txt", text
            yield HERE / f"{name}.{width}.ansi", painted(text)
    for page in sorted(EXAMPLES.glob("*/README.md")):
        yield page, _played(page)


def _played(page: Path) -> str:
    """The page with the output of each command below it."""
    before = Path.cwd()
    os.chdir(page.parent)
    try:
        return _CONSOLE.sub(lambda found: _session(found[1]), page.read_text())
    finally:
        os.chdir(before)


def _session(command: str) -> str:
    told = CliRunner().invoke(rankgate, command.split()[1:])
    if told.exit_code not in {0, 1, 3}:
        raise RuntimeError(f"{command}: {told.output}")
    return f"```console\n$ {command}\n{told.output}```"


def main() -> int:
    """Write what is not fresh."""
    for path, text in pages():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
