"""A file of another schema version is refused with one error, by every reader of files of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankgate
from rankgate import online
from rankgate.core.errors import InputError
from rankgate.decisions.comparison.query_groups import MetricNames
from rankgate.decisions.comparison.score_cells import score_cells
from rankgate.decisions.gating.ramps.ramp_steps import read_earlier_stages
from rankgate.decisions.gating.rule import RuleSources
from rankgate.decisions.gating.rules.judgment_rules import read_admission
from rankgate.decisions.gating.saved.baseline_file import load_baseline
from rankgate.online.events.ingest import read_manifest
from rankgate.store.records.records import NewRecord
from rankgate.workspace.records.storages.folder_storage import FolderStorage
from rankgate.workspace.reports.report_results import read_result
from support.wording import raises

TESTS = Path(__file__).parent
RESULTS = TESTS / "present" / "stored"
BASELINE = TESTS / "gating" / "stored" / "baseline.json"
RECORD = next((TESTS / "records" / "stored" / "history").glob("*.json"))
CLICK = {"action_name": "click", "query_id": "s", "timestamp": "2026-03-01T10:00:00Z", "client_id": "u"}
RULES = """[experiment]
control = "old"
treatment = "new"
start = "2026-03-01"
[earlier]
gate = "verdict.json"
[[rules]]
kind = "admitted"
file = "admission.json"
[[rules]]
kind = "kpi_noninferiority"
kpi = "search_ctr"
relative = 0.01
"""


def read_policy(file):
    """The policy next to a file."""
    file.with_name("rankgate.toml").write_text(RULES)
    return rankgate.read_policy(file.with_name("rankgate.toml"))


def read_admission_of(file):
    """The admission that the rule of the policy next to a file names."""
    (rule,) = (rule for rule in read_policy(file).rules if rule.kind == "admitted")
    return read_admission(rule, RuleSources(file.parent))


READERS = {
    "a baseline": (BASELINE, load_baseline),
    "a result of a report": (
        RESULTS / "scorecard.json",
        lambda file: read_result(json.loads(file.read_bytes()), "scorecard.json"),
    ),
    "a result to record": (
        RESULTS / "evaluation.json",
        lambda file: rankgate.record(file, file.parent / "h"),
    ),
    "a record of a folder": (RECORD, lambda file: FolderStorage.at(file.parent).points(None, None, "", None)),
    "a record of a client": (
        RECORD,
        lambda file: NewRecord.from_dict(json.loads(file.read_bytes()), None, "r"),
    ),
    "an admission of a policy": (RESULTS / "admission.json", read_admission_of),
    "a stage of a launch": (RESULTS / "verdict.json", lambda file: read_earlier_stages(read_policy(file))),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_a_later_version_is_refused(name, tmp_path):
    original, reader = READERS[name]
    values = json.loads(original.read_bytes())
    file = tmp_path / original.name
    for version in (1, 99):
        file.write_text(json.dumps({**values, "schema_version": version}))
        if version == 1:
            reader(file)
        else:
            with raises("unknown-version", InputError):
                reader(file)


@pytest.mark.parametrize("text", ["[]", "{}"])
def test_a_file_without_a_version_is_no_baseline(text, tmp_path):
    (tmp_path / "baseline.json").write_text(text)
    with raises("wrong-document", InputError):
        load_baseline(tmp_path / "baseline.json")


def test_scores_of_a_later_version_are_refused(tmp_path):
    scores = rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, ["RR"]).to_dict(per_query=True)
    file = tmp_path / "scores.json"
    file.write_text(json.dumps(scores))
    assert score_cells(file, MetricNames()).cells[0].value == 1.0
    file.write_text(json.dumps({**scores, "schema_version": 99}))
    with raises("unknown-version", InputError):
        score_cells(file, MetricNames())


def test_a_folder_of_events_of_a_later_version_is_refused(tmp_path):
    log = tmp_path / "log.ndjson"
    log.write_text(json.dumps(CLICK) + "\n")
    folder = tmp_path / "events"
    online.ingest(log, folder)
    manifest = folder / "events.json"
    values = read_manifest(manifest)
    assert values["schema_version"] == 1
    manifest.write_text(json.dumps({**values, "schema_version": 99}))
    with raises("unknown-version", InputError):
        online.kpi(folder)
    with raises("unknown-version", InputError):
        online.ingest(log, folder)
    manifest.write_text("[]")
    with raises("damaged-file", InputError):
        online.kpi(folder)
