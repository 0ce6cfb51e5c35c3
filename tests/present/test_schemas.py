"""What commands write with ``--format json`` follows the published schemas."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
FILES = "qrels.txt old.run new.run"
COMMANDS = (
    f"eval {FILES} -m RR -m nDCG@10",
    f"eval {FILES} -m P@1 --bounds",
    f"compare {FILES} -m RR",
    f"gate {FILES}",
    f"blindspots {FILES} -m RR@10",
    f"holes {FILES} -m RR@10 --draws 2",
    f"advise {FILES}",
    f"stages {FILES} -m nDCG@10",
    f"scorecard {FILES} -m nDCG@10 --resamples 2",
    f"describe {FILES}",
    f"validate {FILES}",
    "explain qrels.txt old.run --query q1 -m RR",
    "reconcile qrels.txt old.run -m RR",
    "rank-similarity old.run new.run",
    "rank-similarity old.run new.run third.run",
    "fuse old.run new.run -o fused.run",
    "convert qrels.txt out.csv",
    "metrics",
    "metrics nDCG",
    "conventions",
    "conventions show trec",
    "conventions axes",
    "formats",
    "formats trec",
    "engines list",
    "policy",
    "config",
    "doctor",
    "plugins",
    "init started",
)


@pytest.fixture
def _folder(tmp_path, monkeypatch):
    """Judgments and two runs."""
    monkeypatch.chdir(tmp_path)
    queries = [f"q{i}" for i in range(24)]
    grades = "".join(f"{q} 0 a 1\n{q} 0 b 0\n{q} 0 c 2\n" for q in queries)
    Path("qrels.txt").write_text(grades)
    for name, docs in (("old", "bac"), ("new", "acb"), ("third", "cab")):
        lines = [f"{q} Q0 {d} {r} {9 - r} t\n" for q in queries for r, d in enumerate(docs)]
        Path(f"{name}.run").write_text("".join(lines))


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_json_of_a_command_follows_its_schema(run, command):
    result = json.loads(run(*command.split(), "--format", "json").out)
    schema = json.loads((SCHEMAS / f"{result['kind']}.json").read_text())
    jsonschema.validate(result, schema)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_a_schema_is_valid_and_says_its_kind(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["kind"] == {"const": path.stem}
    assert {"schema_version", "kind"} <= set(schema["properties"])
