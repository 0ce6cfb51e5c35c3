"""Every result is written as JSON and read again; every form of it can be made."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from urllib.parse import quote

import jsonschema
import polars as pl
import pytest

import rankgate
from online import arms
from online.logs import event, honest, written
from rankgate import online
from rankgate.core.errors import UsageError
from rankgate.core.present import document_forms as forms
from rankgate.core.present.base_result import Result, result_class
from rankgate.core.present.codec import InputHash
from rankgate.core.present.document_forms import notebook_html
from rankgate.core.present.pages import page
from rankgate.core.present.pages.page import document_page, page_content
from rankgate.core.present.write_results import FORMS, render_result, result_json, to_json
from rankgate.data.files.formats import format_details, formats
from rankgate.data.files.validate import make_checklist
from rankgate.decisions.comparison.comparison_tables import ranks
from rankgate.decisions.gating.charged_tests import missing_account
from rankgate.decisions.gating.policy import load_default_policy, parse_policy
from rankgate.decisions.gating.policy_keys import policy_keys
from rankgate.decisions.gating.saved.holdout_account import find_account, open_account
from rankgate.decisions.gating.saved.saved_baselines import SavedBaselines, save
from rankgate.decisions.unjudged.calibration import calibration
from rankgate.engines.engine_checks import engines
from rankgate.interface.cli.doctor import doctor
from rankgate.interface.cli.installed_plugins import plugins
from rankgate.interface.cli.project_settings import config
from rankgate.interface.cli.start.started_folder import init
from rankgate.interface.kinds_of_results import CLASSES
from rankgate.judging.llm.rate import ModelRatings
from rankgate.judging.resolution.rated_evaluation import from_ratings
from rankgate.judging.store.store_checks import StoreCheck, StoreFinding, StoreHashes, TableContent
from rankgate.judging.store.store_people import StoreListing
from rankgate.measurement.evaluation.convention_details import axes, convention_details
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.evaluation.tradeoff import tradeoff
from rankgate.workspace.records.alerts.alert_check import AlertCheck, RuleState
from rankgate.workspace.reports.report import ReportPart, compose
from support.programs import tool
from support.wording import raises

schemas = tool("docs/_pages/schemas.py")
result_tables = tool("docs/_pages/result_tables.py")
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
STORED = Path(__file__).parent / "stored"
"""A result of every kind as it was written once; RANKGATE_STORED=write adds missing ones."""
QRELS = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(24)}
OLD = {query: {"c": 3.0, "b": 2.0, "a": 1.0, "u": 0.5} for query in QRELS}
NEW = {query: {"a": 3.0, "c": 2.0, "b": 1.0} for query in QRELS} | {
    "q3": {"c": 3.0, "<script>": 2.0, "b": 1.0}
}
RUNS = {"old": OLD, "new": NEW}
RATINGS = [
    {"query_id": f"q{i}", "doc_id": doc, "rater": rater, "grade": (i + len(doc) + shift) % 3}
    for i in range(24)
    for doc in ("a", "bb")
    for rater, shift in (("ann", 0), ("bob", i % 2))
]


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.jsonl"
    rows = [{**row, "rating_id": f"r{i}", "rater_kind": "person"} for i, row in enumerate(RATINGS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    files_folder = tmp_path_factory.mktemp("files")
    lines = [f"q{i} 0 {doc} {grade}\n" for i in range(24) for doc, grade in QRELS["q0"].items()]
    (files_folder / "qrels.txt").write_text("".join(lines))
    for name, run in RUNS.items():
        rows = [
            f"{query} Q0 {doc} 0 {score} {name}\n"
            for query, docs in run.items()
            for doc, score in docs.items()
        ]
        (files_folder / f"{name}.run").write_text("".join(rows))
    log = "".join(f"u{i % 8},i{i % 5},{1 + i % 5},{i}\n" for i in range(60))
    (files_folder / "log.csv").write_text(f"user,item,rating,time\n{log}")
    return files_folder


KINDS = tuple(CLASSES)


def collected(folder):
    """Ratings in a sheet that came back."""
    sheet_set = rankgate.sheets(rankgate.pool([OLD, NEW], rankgate.PoolDesign(depth=2)), ["ann"])
    (header, rows) = sheet_set.tables["ann"]
    grade_index = header.index("grade")
    filled = [[*row[:grade_index], str(i % 3), *row[grade_index + 1 :]] for i, row in enumerate(rows)]
    (path,) = replace(sheet_set, tables={"ann": (header, filled)}).write(folder / "ann.csv")
    return rankgate.collect([path])


def swept():
    """A sweep over the parameters of a fusion."""
    plan = {
        "sweep": {"qrels": QRELS},
        "fuse": {"runs": RUNS, "weights": [1.0, "{{weight}}"], "parameters": {"k": "{{k}}"}},
        "dials": {"weight": [0.5, 1, 4], "k": [1, 60]},
        "baseline": {"weight": 1, "k": 60},
    }
    return rankgate.sweep(plan)


def charged(folder):
    """An account with a test."""
    if find_account(folder) is None:
        open_account(folder, tests=10)
        rankgate.gate(QRELS, OLD, NEW, folder=folder)
    account = find_account(folder)
    assert account is not None
    return replace(account.summary(), file="account.sqlite", opened_at="2026-03-01T00:00:00Z")


def published(folder):
    """A published table with a number that is not possible."""
    path = folder / "table.md"
    path.write_text("| system | P@10 | RR |\n|--|--|--|\n| a | 0.453 | 0.5 |\n| b | 0.46 | 0.6 |\n")
    return path


def reanchored():
    """Judgments with one moved and one lost judgment."""
    old = {"a": "some words of one document", "b": "and other words of a second document"}
    return rankgate.reanchor({"q": {"a": 1, "b": 2}}, old, {"n": old["a"]})


def user_log(folder):
    """A log of clicks, with a faulty one."""
    rows = [*honest(30), event("purchase", 1, 90, 0, event_attributes={"value": -5})]
    return written(folder / "log.ndjson", rows)


def clicked_lists():
    """Interleaved lists with a click on every second slot in turn."""
    lists = online.mix([OLD, NEW], lists=3, length=3).assignments
    return [(mixed_list, [1 + index % 2]) for index, mixed_list in enumerate(lists)]


def two_arms():
    """Simulated clicks on two runs."""
    return online.simulate(QRELS, [NEW, OLD], searches=60).events


def bandit_log():
    """Decisions for two actions, the first one shown three times as often."""
    rows = [
        ("<script>" if index % 4 else "b", index % 3 == 0, 0.75 if index % 4 else 0.25)
        for index in range(400)
    ]
    return pl.DataFrame(rows, schema=["action", "reward", "propensity"], orient="row")


def past_experiments():
    """Five experiments with one metric and one KPI."""
    rows = [
        (f"e{index}", side, name, value, 0.1)
        for index in range(5)
        for side, name, value in (("offline", "<script>", index - 1.5), ("online", "ctr", index - 2.0))
    ]
    names = ["experiment", "side", "name", "delta", "standard_error"]
    return pl.DataFrame(rows, schema=names, orient="row")


def made(folder, ratings):
    """The function that makes a result of each kind."""
    return {
        "calibration": lambda: calibration(QRELS, OLD, NEW, "nDCG@3", experiments=3),
        "evaluation": lambda: rankgate.evaluate(QRELS, RUNS, ["nDCG@3", "RR"], bounds=True),
        "rated": lambda: from_ratings(ratings, RUNS, ["P@3", "nDCG@3"], scale="graded"),
        "comparison": lambda: rankgate.compare(QRELS, OLD, {"new": NEW, "same": OLD}, ["nDCG@3"]),
        "data_set_comparison": lambda: rankgate.DataSetComparison.from_comparisons(
            {
                name: rankgate.compare(
                    {query: {**grades, name: 0} for query, grades in QRELS.items()}, OLD, NEW, ["nDCG@3"]
                )
                for name in ("<script>", "b")
            }
        ),
        "verdict": lambda: rankgate.gate(QRELS, OLD, NEW).budgeted(missing_account()),
        "gate_check": lambda: rankgate.self_check(QRELS, [OLD, NEW, OLD]),
        "explanation": lambda: rankgate.explain(QRELS, NEW, "q1", "nDCG@3"),
        "reconciliation": lambda: rankgate.reconcile(QRELS, NEW, "nDCG@3"),
        "bridge": lambda: rankgate.reconcile(QRELS, NEW, "nDCG@3", from_="trec", to="esci"),
        "finding": lambda: rankgate.reconcile(QRELS, NEW, "nDCG@3", value=0.5),
        "blindspots": lambda: rankgate.blindspots(QRELS, OLD, NEW, ["nDCG@3"]),
        "settlement": lambda: rankgate.settle(rankgate.Collection(predicted=QRELS), OLD, NEW),
        "total_error": lambda: rankgate.total_error([QRELS, QRELS], OLD, NEW, ["nDCG@10"]),
        "holes": lambda: rankgate.holes(QRELS, OLD, NEW, ["nDCG@10"]),
        "cutoff": lambda: rankgate.cutoff(
            {**QRELS, **{f"{query}?": {"u": 0} for query in QRELS}},
            {
                "<script>": {
                    f"{query}{mark}": {"a": i + len(mark), "u": i / 2}
                    for i, query in enumerate(QRELS)
                    for mark in ("", "?")
                }
            },
            threshold=3,
        ),
        "stages": lambda: rankgate.stages(QRELS, RUNS),
        "scorecard": lambda: rankgate.scorecard(QRELS, RUNS, ["nDCG@3", "Coverage@3"]),
        "advice": lambda: rankgate.advise(QRELS, [OLD, NEW]),
        "fusion": lambda: rankgate.fuse(RUNS, "linear", learning=rankgate.FusionLearning(QRELS, tune=True)),
        "migration": lambda: rankgate.migrate(OLD, NEW, exact=OLD),
        "rank_similarity": lambda: rankgate.rank_similarity(OLD, NEW, depth=3, collection=QRELS),
        "rank_similarities": lambda: rankgate.rank_similarity({**RUNS, "<script>": {**NEW}}, depth=3),
        "table_audit": lambda: rankgate.audit(published(folder), queries=50),
        "reanchored": reanchored,
        "event_log": lambda: online.ingest(user_log(folder), folder / "events"),
        "diagnosis": lambda: online.doctor(user_log(folder)),
        "recorded": lambda: recorded(folder),
        "attribution": lambda: rankgate.attribute("2026-03-01", "2026-03-03", recorded(folder).place),
        "history": lambda: rankgate.history("nDCG@10", recorded(folder).place),
        "kpi_table": lambda: online.kpi(user_log(folder)),
        "click_judgments": lambda: online.judgments(
            user_log(folder), held_out=0, grading=online.Grading(min_examined=1)
        ),
        "ramp_verdict": lambda: online.watch(
            parse_policy(
                '[experiment]\ncontrol = "old"\ntreatment = "new"\n[[rules]]\nid = "<script>"\n'
                'kind = "kpi_noninferiority"\nkpi = "search_ctr"\nrelative = 0.1\n',
                "launch.toml",
            ),
            arms.log(users=300),
        ),
        "experiment_plan": lambda: online.plan(arms.log(users=300), ["search_ctr"]),
        "experiment": lambda: online.ab(
            arms.log(users=300), ["search_ctr"], design=online.Design(control="old")
        ),
        "shown_lists": lambda: online.lists(user_log(folder)),
        "intent_diversity": lambda: online.intents(user_log(folder), min_users=2),
        "personalization_impact": lambda: online.personalization(two_arms(), "run1"),
        "satisfaction": lambda: online.weeks(user_log(folder)),
        "simulation": lambda: online.simulate(QRELS, [OLD], searches=20),
        "mixed_lists": lambda: online.mix([OLD, NEW]),
        "preference": lambda: online.preference(clicked_lists()),
        "sensitivity": lambda: online.sensitivity(QRELS, [OLD, NEW], searches=40),
        "off_policy_estimate": lambda: online.ope(bandit_log(), "uniform"),
        "counterfactual_replay": lambda: online.replay(
            NEW, online.simulate(QRELS, [OLD, NEW], searches=400).events, k=3, resamples=10
        ),
        "online_agreement": lambda: online.agreement(past_experiments(), resamples=20),
        "engine_check": lambda: rankgate.check_engine(lambda _, **__: ["<script>", "b"]),
        "engine_comparison": lambda: rankgate.compare_engines(_search, _search, {"q1": "a", "q2": "b"}),
        "engine_kinds": engines,
        "snapshot": lambda: rankgate.snapshot(_search, {"q1": "a", "q2": "b", "q3": "c"}),
        "pool": lambda: rankgate.pool([OLD, NEW], rankgate.PoolDesign(depth=3)),
        "reusability": lambda: rankgate.reusability(QRELS, [OLD, NEW]),
        "agreement": lambda: rankgate.agree(ratings),
        "resolution": lambda: rankgate.resolve(ratings),
        "admission": lambda: rankgate.admit(
            QRELS, rankgate.JudgeGrades(QRELS, repeated=[QRELS, QRELS]), [OLD, NEW]
        ),
        "admission_plan": lambda: rankgate.admit_plan(QRELS, QRELS),
        "gold_check": lambda: rankgate.check_gold(
            QRELS, pl.DataFrame([rating for rating in RATINGS if rating["doc_id"] == "a"]), [OLD]
        ),
        "validation": lambda: rankgate.validate([folder / "qrels.txt", folder / "old.run"]),
        "description": lambda: rankgate.describe([folder / "qrels.txt", folder / "old.run"]),
        "checklist": make_checklist,
        "store_check": lambda: StoreCheck("x.db", (StoreFinding("missing-blob", "ab", "gone."),)),
        "alert_check": lambda: AlertCheck(
            "shop",
            "2026-03-02T12:00:00+00:00",
            (RuleState("low", "nDCG@10", "new", "", "fail", "fired", "0.4000 is below 0.5", 1),),
        ),
        "store_hashes": lambda: StoreHashes("x.db", (TableContent("users", 1, "ab"),), "a.zip"),
        "store_listing": lambda: StoreListing("x.db", "users", ({"name": "ann", "number": 1},)),
        "collected": lambda: collected(folder),
        "model_ratings": lambda: ModelRatings(
            "llm", "m", InputHash("graded", "0" * 64), 9, 5, 2, 4, {"no answer": 2}, 2, 2, 900, 30, 0.5, 1.5
        ),
        "rating_accuracy": lambda: rankgate.rating_accuracy(QRELS, OLD),
        "sheets": lambda: rankgate.sheets(
            rankgate.pool([OLD, NEW], rankgate.PoolDesign(depth=3)), ["ann", "bob"]
        ),
        "tradeoff": lambda: tradeoff(rankgate.evaluate(QRELS, RUNS, ["nDCG@3", "FallOut@3"])),
        "ranks": lambda: ranks(QRELS, RUNS, depth=3),
        "split": lambda: rankgate.split(folder / "log.csv", candidates="all"),
        "sweep": swept,
        "account": lambda: charged(folder),
        "baselines": lambda: SavedBaselines.from_baselines(
            save("main", folder / "qrels.txt", folder / "old.run", ["RR"], folder=folder, force=True)
        ),
        "policy": load_default_policy,
        "policies": policy_keys,
        "metric": lambda: metric_details("nDCG"),
        "metrics": metrics,
        "convention": lambda: convention_details("trec9"),
        "conventions": rankgate.conventions,
        "axes": axes,
        "conversion": lambda: rankgate.convert(folder / "old.run", folder / "old.jsonl"),
        "formats": formats,
        "installed_plugins": plugins,
        "doctor_report": lambda: doctor(folder, "startup"),
        "project_settings": lambda: config(folder),
        "started_folder": lambda: init(folder / "started", "trec"),
        "format": lambda: format_details("trec"),
    }


def recorded(folder):
    """Three days: a change of the system, and other judgments on the last day."""
    store_path = folder / "history"
    for day, run in ((1, OLD), (2, NEW)):
        runs = {"<script>": run}
        evaluation = rankgate.evaluate(QRELS, runs, ["nDCG@10"])
        rankgate.record(
            evaluation,
            store_path,
            at=f"2026-03-0{day}",
            qrels=QRELS,
            runs=runs,
            provenance=rankgate.Provenance("ab"),
        )
    new_qrels = {query: dict.fromkeys(grades, 1) for query, grades in QRELS.items()}
    rankgate.annotate("judgments", "<b>new</b>", store_path, at="2026-03-03")
    evaluation = rankgate.evaluate(new_qrels, {"<script>": NEW}, ["nDCG@10"])
    return rankgate.record(
        evaluation, store_path, at="2026-03-03", qrels=new_qrels, provenance=rankgate.Provenance()
    )


@pytest.fixture(scope="module")
def results():
    """The results by kind, each made once for any order of tests."""
    return {}


@pytest.fixture(scope="module", params=KINDS)
def result(request, folder, ratings, results):
    if request.param not in results:
        results[request.param] = made(folder, ratings)[request.param]()
    cached = results[request.param]
    assert isinstance(cached, Result)
    assert cached.kind == request.param
    return cached


@pytest.fixture(scope="module", autouse=True)
def charts_drawn_once():
    """Draw a chart of a result once for its page, its report and a notebook; others are drawn anew."""
    drawn: dict[object, object] = {}
    draw = forms.draw_chart

    def kept(chart, **how):
        key = (chart.draw, id(chart.result), *how.items())
        if key not in drawn:
            drawn[key] = chart.result, draw(chart, **how)  # the result is kept, as its id is the key
        return drawn[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "draw_chart", kept)
        patch.setattr(page, "draw_chart", kept)
        yield


def test_json_in_pieces_is_that_of_plain_values(result):
    expected = json.dumps(result.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    assert "".join(result_json(result, {})) == expected


def test_a_result_makes_the_round_trip(result):
    values = json.loads(render_result(result, "json"))
    assert list(values)[:2] == ["schema_version", "kind"]
    restored = result_class(values["kind"]).from_dict(values)
    assert json.loads(render_result(restored, "json")) == values
    assert forms.render_text(restored.document()) == forms.render_text(result.document())


def test_its_json_follows_its_schema(result):
    """The published schema has every key; RANKGATE_SCHEMAS=write writes it."""
    path = SCHEMAS / f"{result.kind}.json"
    schema = json.dumps(schemas.schema_of(result), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("RANKGATE_SCHEMAS") == "write":
        path.write_text(schema)
    assert path.read_text() == schema
    jsonschema.validate(json.loads(json.dumps(result.to_dict())), json.loads(schema))


def test_a_frame_has_the_declared_columns(result):
    for holder, name, table in _frames(result):
        columns = type(holder).SCHEMAS[name]
        assert table.columns[: len(columns)] == list(columns), (type(holder), name)
        assert columns.further_columns or len(table.columns) == len(columns), (type(holder), name)
        for column in columns.columns:
            assert table.schema[column.name] in (column.type, pl.Null), (holder, column.name)


def _frames(value: object) -> Iterator[tuple[object, str, pl.DataFrame]]:
    """The frames of a result: the object that has it, its field, the frame."""
    if is_dataclass(value) and not isinstance(value, (type, *result_tables.INPUTS)):
        for field in (field for field in fields(value) if field.name != "maker"):  # of this process
            member = getattr(value, field.name)
            if isinstance(member, pl.DataFrame):
                if field.metadata.get("stored", True):
                    yield value, field.name, member
            else:
                yield from _frames(member)
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _frames(member)
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _frames(member)


def test_its_repr_is_one_short_line(result):
    text = repr(result)
    assert text.startswith(f"<{type(result).__name__} ")
    assert "\n" not in text
    assert len(text) < 300


def test_every_form_can_be_made_and_escapes(result):
    for form in FORMS:
        text = render_result(result, form)
        assert text.endswith("\n"), form
        assert form != "html" or text.count("<script>") == 1  # of the page itself, none of the data


def test_a_notebook_and_a_report_show_it(result):
    assert "<script>" not in notebook_html(result.document())
    document = compose([ReportPart(result)])
    assert document.title
    assert len(document.sections) > 1
    assert document_page(document).count("<section") == len(document.sections)


def test_a_server_shows_it_with_files_of_its_tables_and_charts(result):
    restored = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    document = compose([ReportPart(restored, "x.json", "0" * 64)])
    html = page_content(document, page.Links("/t/", "/c/", lambda query: f"/q?{query}"))
    anchors = [anchor for anchor, _ in page.anchored_tables(document)]
    assert len(anchors) == len(set(anchors))
    assert html.count('href="/t/') == 2 * len(anchors)
    assert all(f'href="/t/{quote(anchor)}.csv"' in html for anchor in anchors)
    assert html.count('href="/c/') <= 2 * len(list(page.anchored_charts(document)))
    assert " style=" not in html


def test_looking_at_it_does_not_change_it(result):
    json_before = render_result(result, "json")
    for _ in range(2):
        with suppress(UsageError):  # it has no table
            result.to_polars()
    assert render_result(result, "json") == json_before


def _search(text, **_):
    """Two documents, none, or a failure."""
    return {"a": [("x", 2.0), ("y", 2.0)], "b": []}[text]


def test_every_kind_is_in_the_table():
    sources = Path(rankgate.__file__).parent.rglob("*.py")
    kinds = re.compile(
        r'^class \w+\((?:.*, )?(?:\w*Result|Closing)\b.*\n(?:(?!class ).*\n)*?    kind = "(\w+)"',
        re.MULTILINE,
    )
    declared = [kind for path in sources for kind in kinds.findall(path.read_text())]
    assert sorted(declared) == sorted(CLASSES)
    for kind in CLASSES:
        assert result_class(kind).kind == kind


def test_a_kind_that_is_not_in_the_table_is_refused():
    for kind in ("codec", "Evaluation", "rankgate.core.errors:UsageError", ""):
        with raises("unknown-kind", rankgate.UsageError):
            result_class(kind)


def test_its_stored_json_is_read(result):
    """As the first version with this test wrote it; kept as it is when its class changes."""
    path = STORED / f"{result.kind}.json"
    if os.environ.get("RANKGATE_STORED") == "write" and not path.exists():
        path.write_text(render_result(result, "json"))
    values = json.loads(path.read_text())
    restored = result_class(result.kind).from_dict(values)
    assert _holds(json.loads(render_result(restored, "json")), values)
    assert forms.render_text(restored.document())


def _holds(now, stored):
    """Whether everything that was stored is there; keys may have come since."""
    if isinstance(stored, dict):
        return all(key in now and _holds(now[key], value) for key, value in stored.items())
    if isinstance(stored, list):
        return len(now) == len(stored) and all(map(_holds, now, stored))
    return now == stored


def test_frames_get_the_names_that_the_caller_gives():
    evaluation = rankgate.evaluate(QRELS, {"a": OLD, "b": NEW}, ["RR"])
    assert list(evaluation["b"]) == ["RR"]
    assert evaluation["b", "RR"] == evaluation.means.filter(run="b")["RR"].item()
    comparison = rankgate.compare(QRELS, {"a": OLD}, {"b": NEW}, ["RR"])
    assert comparison["b"].baseline.name == "a"
    assert comparison["b", "RR"]["candidate"] == pytest.approx(evaluation["b", "RR"], abs=1e-12)
    with pytest.raises(KeyError):
        comparison["b", "AP"]
    assert rankgate.gate(QRELS, {"a": OLD}, {"b": NEW}).names == ("a", "b")
    assert rankgate.explain(QRELS, {"b": NEW}, "q1", "RR").run == "b"


def test_a_metric_is_shown_by_its_name():
    from rankgate.metrics import RR, nDCG

    assert repr([nDCG(gain="exp") @ 10, RR]) == "[nDCG(gain='exp')@10, RR]"


def test_json_has_the_layout_of_the_standard_library():
    plain = {
        "rows": [{"a": 1, "b": 0.1, "c": None}, {"a": -0.0, "b": True, "c": "},\n é\u2028"}],
        "empty": [{}, [], (), ""],
        "nested": {"list": [1, [2.5, {"x": [None]}]], 3: {None: [], 1.5: {}}},
    }
    expected = json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    assert to_json(plain) == expected
    undefined = {"row": {"a": float("nan"), "b": 1}, "list": [float("inf"), [-float("inf")]]}
    defined = {"row": {"a": None, "b": 1}, "list": [None, [None]]}
    assert to_json(undefined) == json.dumps(defined, indent=2) + "\n"
    with pytest.raises(TypeError, match="not JSON serializable"):
        to_json({"row": {"a": object()}})


def test_tables_are_written_as_the_list_of_their_rows():
    rows = [
        {"100 %": "50 %", "b": -0.0, "c": None, "d": [{"x": 1.5}, {"x": None}], "e": True, 'é"': 2**53},
        {"100 %": None, "b": None, "c": None, "d": [], "e": None, 'é"': -1},
    ]
    table = pl.DataFrame(rows * 3000)
    plain = {"table": table.to_dicts(), "empty": []}
    undefined = table.with_columns(b=pl.when(pl.col("b").is_null()).then(float("nan")).otherwise("b"))
    assert to_json({"table": undefined, "empty": table.clear()}) == to_json(plain)
