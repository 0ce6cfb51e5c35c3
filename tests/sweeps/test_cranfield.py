"""A sweep over FTS5 on cranfield: column weights, tokenizer, query form.

``make explore`` measures 72 points, other runs four of them.
"""

import gzip
import re
import sqlite3
from contextlib import closing

import pytest

import rankgate

pytestmark = [pytest.mark.slow, pytest.mark.separate]

FIELDS = ("docno", "title", "author", "text")
TOKENIZERS = {"words": "unicode61", "stems": "porter unicode61", "trigrams": "trigram"}
PLAN = """[sweep]
engine = "engine.toml"
queries = "queries.tsv"
qrels = "{qrels}"
metrics = ["nDCG@10", "AP"]
[dials]
"""
ALL = """title = [0.25, 0.5, 1, 2, 4, 8]
author = [0, 1]
table = ["words", "stems", "trigrams"]
match = ["or", "and"]
"""
FEW = """title = [1, 4]
table = ["words", "stems"]
"""


@pytest.fixture
def cranfield(shared, thorough, tmp_path):
    """The index, the engine and the sweep."""
    folder = shared / "cranfield"
    text = gzip.decompress((folder / "cran.all.1400.xml.gz").read_bytes()).decode()
    rows = [
        [_field(document, name) for name in FIELDS]
        for document in re.findall("<doc>(.*?)</doc>", text, re.DOTALL)
    ]
    with closing(sqlite3.connect(tmp_path / "cran.sqlite")) as database, database:
        for table, tokenizer in TOKENIZERS.items():
            database.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5(id UNINDEXED, title, author, body, "
                f"tokenize='{tokenizer}')"
            )
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)  # noqa: S608
    lines = (folder / "queries.renumbered.tsv").read_text().splitlines()
    queries = [line.split("\t") for line in lines]
    (tmp_path / "queries.tsv").write_text("".join(f"{q}\t{t}\n" for q, _, t in queries))
    (tmp_path / "engine.toml").write_text(
        '[engine]\nkind = "sqlite"\ndatabase = "cran.sqlite"\ntable = "words"\nid = "id"\n'
        'weights = [0, "{{title}}", "{{author}}", 1.0]\n'
        "[engine.parameters]\ntitle = 1.0\nauthor = 1.0\n"
    )
    file = tmp_path / "sweep.toml"
    plan = PLAN.format(qrels=folder / "cranqrel.graded.trec.txt")
    file.write_text(plan + (ALL if thorough else FEW))
    return file


def _field(document, name):
    match = re.search(f"<{name}>(.*?)</{name}>", document, re.DOTALL)
    return match[1].strip() if match else ""


def test_the_chosen_setting_stems_and_its_gain_is_honest(cranfield, thorough):
    result = rankgate.sweep(cranfield)
    assert result.finished
    assert len(result.points) == (72 if thorough else 4)
    assert result.queries == 225
    empty = [point.parameters for point in result.points if point.state == "empty"]
    assert all((parameters["table"], parameters["match"]) == ("trigrams", "and") for parameters in empty)
    setting = result.chosen
    assert (setting.parameters["table"], setting.parameters["title"]) == ("stems", 4)
    assert setting.metrics["nDCG@10"].mean == pytest.approx(0.3699, abs=5e-4)
    assert result.choice.same_queries.mean == pytest.approx(0.0240, abs=5e-4)
    assert 0 <= result.choice.optimism < 0.01
    assert 0 < result.choice.held_out.mean < 0.0245
    assert result.importance[0].dials == (("match",) if thorough else ("table",))
