"""Record results in a folder and in a store: figures, hashes, provenance; once."""

import json
import subprocess
from datetime import UTC, datetime

import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.records import records, series
from rankgate.store.store_integrity import check
from rankgate.workspace.records.provenance import provenance
from rankgate.workspace.records.storages.folder_storage import FolderStorage
from support.wording import raises

QUERIES = [f"q{i}" for i in range(8)]
QRELS = {query: {"a": 1, "b": 0} for query in QUERIES}
OLD = {query: {"b": 2.0, "a": 1.0} for query in QUERIES}
NEW = OLD | {"q0": {"a": 2.0}, "q1": {"a": 2.0}}


@pytest.fixture
def store(tmp_path, new_file):
    with new_file(tmp_path / "s.db") as new_store:
        with new_store.write() as connection:
            projects.add(connection, "shop")
        yield new_store


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "history"


def evaluation(run=NEW, name="app"):
    return rankgate.evaluate(QRELS, {name: run}, ["RR", "P@1"])


def points(folder, metric="RR"):
    return FolderStorage.at(folder).points(metric, None, "", None)


def test_an_evaluation_is_recorded_once_with_its_values(folder):
    options = {"qrels": QRELS, "runs": {"app": NEW}, "provenance": rankgate.Provenance("1f3c", "main")}
    first = rankgate.record(evaluation(), folder, at="2026-03-01", **options)
    second = rankgate.record(evaluation(), folder, at="2026-03-01", **options)
    assert first.records["new"].to_list() == [True]
    assert second.records["new"].to_list() == [False]
    (point,) = points(folder)
    values = [1.0, 1.0] + [0.5] * 6
    assert point.value == pytest.approx(sum(values) / 8)
    spread = 2.364624251592785 * (sum((v - 0.625) ** 2 for v in values) / 7 / 8) ** 0.5  # t(7)
    assert (point.low, point.high) == pytest.approx((0.625 - spread, 0.625 + spread))
    assert (point.n, point.revision, point.branch) == (8, "1f3c", "main")
    assert point.evaluated_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert point.qrels_sha256 == rankgate.read_qrels(QRELS).sha256
    storage = FolderStorage.at(folder)
    table = storage.per_query(point)
    assert table.columns == ["system", "query_id", "RR", "P@1"]
    assert table["RR"].to_list() == values
    digest = storage.details(point)["inputs"]["runs"]["app"]
    assert storage.run(digest).sha256 == rankgate.read_run(NEW).sha256
    assert storage.qrels(point.qrels_sha256).sha256 == point.qrels_sha256
    assert storage.run("0" * 64) is storage.qrels("0" * 64) is None


def test_without_a_moment_the_same_content_is_one_record(folder):
    for new in (True, False):
        assert rankgate.record(evaluation(), folder).records["new"].to_list() == [new]
    assert rankgate.record(evaluation(OLD), folder).records["new"].to_list() == [True]


def test_a_store_holds_the_same(store, tmp_path):
    url = str(tmp_path / "s.db")
    options = {"store": url, "project": "shop", "qrels": QRELS, "runs": {"app": NEW}}
    first = rankgate.record(evaluation(), at="2026-03-01", labels={"nightly": "yes"}, **options)
    second = rankgate.record(evaluation(), at="2026-03-01", labels={"nightly": "yes"}, **options)
    assert first.records["record"].to_list() == second.records["record"].to_list() == ["1"]
    rankgate.record(evaluation(), at="2026-03-02", **options)
    with store.read() as connection:
        rr_points = series.list_points(connection, 1, "RR")
        assert [point.value for point in rr_points] == [0.625, 0.625]
        assert rr_points[0].labels == {"nightly": "yes"}
        assert (
            len(stored_runs.list_runs(connection, 1)) == len(stored_runs.list_judgments(connection, 1)) == 1
        )
        result = records.read_result(records.get(connection, 1), store.blobs)
    assert rankgate.Scores.from_dict(result)["app", "RR"] == 0.625
    assert check(store) == ()
    with raises("unknown-project"):
        rankgate.record(evaluation(), store=url, project="other")


def test_a_verdict_and_a_comparison_are_points_of_the_candidate(folder):
    compared = rankgate.compare(QRELS, OLD, NEW, ["RR"])
    rankgate.record(compared, folder, at="2026-03-01")
    points_by_system = {point.system: point for point in points(folder)}
    assert {name: point.value for name, point in points_by_system.items()} == {"candidate": 0.625}
    assert {point.qrels_sha256 for point in points_by_system.values()} == {rankgate.read_qrels(QRELS).sha256}
    verdict = rankgate.gate(QRELS, OLD, NEW)
    rankgate.record(verdict, folder, at="2026-03-02", system="app")
    last = [point for point in points(folder, "nDCG@10") if point.system == "app"]
    value = rankgate.evaluate(QRELS, NEW, ["nDCG@10"]).runs[0].means["nDCG@10"]
    assert [(point.verdict, point.value) for point in last] == [(verdict.verdict, pytest.approx(value))]


def test_days_of_kpis_are_points_of_a_series(folder):
    log = pl.DataFrame(
        [
            {
                "event": "search",
                "query_id": f"{day}{i}",
                "timestamp": f"2026-03-0{day}T10:00:0{i}Z",
                "user": "u",
            }
            for day in (1, 2)
            for i in range(day)
        ]
    )
    from rankgate.online.indicators.kpi_table import VALUES, KpiTable

    rows = [("searches", "day", f"2026-03-0{day}", float(day), day) for day in (1, 2)]
    rows.append(("searches", "all", "all", 3.0, 3))
    table = pl.DataFrame(rows, VALUES, orient="row")
    kpis = KpiTable(table, (), {}, (), "2026-03-01", "2026-03-02", len(log))
    rankgate.record(kpis, folder)
    day_points = points(folder, "searches")
    assert [(point.evaluated_at.day, point.value) for point in day_points] == [(1, 1.0), (2, 2.0)]


def test_a_snapshot_has_latency_and_failures(folder):
    def search(query, **_):
        if query == "bad":
            raise RuntimeError(query)
        return ["a"] if query == "good" else []

    snapshot = rankgate.snapshot(search, {"1": "good", "2": "bad", "3": "none", "4": "good"})
    rankgate.record(snapshot, folder)
    (failed,), (zero,) = points(folder, "failed"), points(folder, "zero_results")
    assert (failed.value, zero.value, failed.higher_is_better) == (0.25, 0.25, False)


@pytest.mark.git
def test_git_says_where_an_evaluation_comes_from(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        process = subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return process.stdout.strip()

    assert provenance(tmp_path, {}).name == ""
    server = {"GITHUB_SHA": "ab", "GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "topic"}
    assert provenance(tmp_path, server).name == "ab"
    git("init", "-b", "work")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "a")
    commit = git("rev-parse", "HEAD")
    origin = provenance(tmp_path, {})
    assert (origin.name, origin.branch, origin.changed) == (commit, "work", False)
    (tmp_path / "b").write_text("1")  # an untracked file changes nothing
    assert provenance(tmp_path, {}).name == commit
    (tmp_path / "a").write_text("2")
    assert provenance(tmp_path, {}).name == f"{commit}+"
    git("checkout", "--quiet", "--detach")
    assert provenance(tmp_path, {}).branch == ""
    assert provenance(tmp_path, server).branch == "topic"


def test_what_is_no_result_is_refused(tmp_path, folder, monkeypatch):
    for name in ("RANKGATE_HISTORY", "RANKGATE_STORE", "RANKGATE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    wrong = tmp_path / "a.json"
    for text, code in (
        ("[]", "invalid-json"),
        ('{"kind": "evaluation"}', "unknown-version"),
        ('{"kind": "evaluation", "schema_version": 1}', "damaged-result"),
        ('{"kind": "story"}', "unknown-kind"),
    ):
        wrong.write_text(text)
        with raises(code, source=str(wrong)):
            rankgate.record(wrong, folder)
    with raises("cannot-read"):
        rankgate.record(tmp_path / "nowhere.json", folder)
    with raises("missing-input"):
        rankgate.record(evaluation())
    with raises("conflicting-options"):
        rankgate.record(evaluation(), folder, project="shop")
    with raises("invalid-moment"):
        rankgate.record(evaluation(), folder, at="yesterday")
    with raises("not-a-folder"):
        rankgate.record(evaluation(), wrong)
    with raises("unknown-kind"):
        rankgate.annotate("party", "x", folder)
    assert not folder.exists()
    folder.mkdir()
    (folder / "2026.json").write_text("{}")
    with raises("invalid-record", source=str(folder / "2026.json")):
        points(folder)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKGATE_HISTORY", "history")
    lines = [f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in (("old", OLD), ("new", NEW)):
        rows = [f"{q} Q0 {d} 1 {s} {name}\n" for q, docs in run.items() for d, s in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "systems"),
    [
        ("eval qrels.txt new.run -m RR", {"new"}),
        ("compare qrels.txt old.run new.run -m RR", {"new"}),
        ("scorecard qrels.txt old.run new.run -m RR --resamples 2", {"old", "new"}),
        ("gate qrels.txt old.run new.run --no-log", set()),
    ],
)
def test_commands_record_what_they_print(files, words, systems):
    call = words.split()
    result = CliRunner().invoke(program, [*call, *([] if "gate" in call else ["--record"])])
    assert result.exit_code in (0, 1, 3), result.output
    storage = FolderStorage.at(files / "history")
    if not systems:
        assert not (files / "history").exists()
        return
    points_by_system = {
        series_point.system: series_point for series_point in storage.points("RR", None, "", None)
    }
    assert points_by_system.keys() == systems
    point = points_by_system["new"]
    assert point.qrels_sha256 == rankgate.read_qrels("qrels.txt").sha256
    assert storage.run(storage.details(point)["inputs"]["runs"]["new"]) is not None


def test_the_gate_records_when_it_is_asked_to(files):
    call = ["gate", "qrels.txt", "old.run", "new.run"]
    CliRunner().invoke(program, call)
    assert not (files / "history").exists()
    result = CliRunner().invoke(program, [*call, "--record", "--format", "json"])
    verdict = json.loads(result.stdout)["verdict"]
    stored_points = FolderStorage.at(files / "history").points("nDCG@10", "new", "", None)
    assert [point.verdict for point in stored_points] == [verdict]


@pytest.mark.usefixtures("files")
def test_the_command_records_files_and_annotations():
    run = CliRunner().invoke
    run(program, ["eval", "qrels.txt", "new.run", "-m", "RR", "--format", "json", "-o", "e.json"])
    result = run(
        program,
        [
            "record",
            "e.json",
            "--to",
            "h",
            "--qrels",
            "qrels.txt",
            "--run",
            "new=new.run",
            "--label",
            "a=b",
            "--annotate",
            "deploy=v2",
            "--at",
            "2026-03-01",
            "--format",
            "json",
        ],
    )
    assert json.loads(result.stdout)["records"][0]["figures"] == 1
    assert [(e.kind, e.text) for e in FolderStorage.at("h").annotations(None, None)] == [("deploy", "v2")]
    assert run(program, ["record"]).exception.code == "missing-input"
