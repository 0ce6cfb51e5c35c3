"""The dashboard on real data: TREC-COVID runs as dated evaluations, a store of metrics, Chorus."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.records import records
from rankgate.store.records.records import NewRecord, Value
from rankgate.store.store import Store
from support.chromium import PICTURES
from support.serving import PASSWORD, Visitor, served

pytestmark = pytest.mark.slow
BEGIN = datetime(2026, 4, 1, 6, tzinfo=UTC)
METRICS = ["nDCG@10", "P@5", "Judged@10"]


@pytest.fixture(scope="module")
def real(tmp_path_factory, shared, chromium):  # noqa: ARG001 - nothing is made where nothing is seen
    path = str(tmp_path_factory.mktemp("real") / "history.db")
    with Store.create(path) as store:
        with store.write() as connection:
            users.add(connection, "ann", sign_in.password_hash(PASSWORD), admin=True)
            for name in ("covid", "engine", "chorus"):
                projects.add(connection, name, title=name, scale=GRADED)
        covid(path, shared / "trec-covid-r1")
        engine(store, shared / "products" / "osqe" / "srw_metrics_sample_data.ndjson")
        chorus(path, shared / "chorus-electronics" / "Broad_Query_Set_rated.csv")
        with served(store, per_minute=1_000_000) as address:
            yield address


def covid(path, place):
    """Every run as the evaluation of a day, and a gate of the first two."""
    qrels, runs = place / "qrels.covid-round1.txt", sorted((place / "runs").glob("*.gz"))
    for day, run in enumerate(runs):
        scores = rankgate.evaluate(qrels, {"search": run}, METRICS)
        recorded_at = (BEGIN + timedelta(days=day)).isoformat()
        rankgate.record(
            scores,
            store=path,
            project="covid",
            at=recorded_at,
            name=run.stem,
            qrels=qrels,
            runs={"search": run},
        )
    names = {run.stem: run for run in runs[:2]}
    verdict = rankgate.gate(qrels, *runs[:2], log=False)
    rankgate.record(verdict, store=path, project="covid", at="2026-05-01", qrels=qrels, runs=names)


def chorus(path, file):
    """Real judgments of a shop's 135 queries; a ranking that finds more of them, week by week."""
    qrels = rankgate.read_qrels(file)
    judged = qrels.table.select("query_id", "doc_id", "grade")
    for week in range(4):
        noise = pl.Series(np.random.default_rng(week).normal(0, 4 - week, len(judged)))
        run = judged.with_columns(score=pl.col("grade") + noise).drop("grade")
        scores = rankgate.evaluate(qrels, {"shop": run}, METRICS)
        recorded_at = (BEGIN + timedelta(weeks=week)).isoformat()
        rankgate.record(scores, store=path, project="chorus", at=recorded_at, qrels=file)


def engine(store, path):
    """The values of each configuration and day, as another tool kept them."""
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    table = pl.DataFrame([row for row in lines if "metric" in row])
    key = ["timestamp", "search_config"]
    with store.write() as connection:
        project = projects.get_by_name(connection, "engine").id
        for (timestamp, system), group in table.group_by(key, maintain_order=True):
            values_by_query = group.pivot(
                on="metric", index="query", values="value", aggregate_function="mean"
            )
            values_by_query = values_by_query.rename({"query": "query_id"}).insert_column(
                0, pl.lit(system).alias("system")
            )
            means = values_by_query.drop("system", "query_id").mean().row(0, named=True)
            figures = tuple(Value(name, system, mean, n=len(values_by_query)) for name, mean in means.items())
            moment = datetime.fromisoformat(timestamp)
            record = NewRecord(
                {"kind": "metric_store", "schema_version": 1, "at": timestamp},
                moment,
                system=system,
                values=figures,
                per_query=values_by_query,
            )
            records.add(connection, store.blobs, project, record)


def test_real_histories_are_read(real, chromium, axe):
    visitor = Visitor(real)
    assert visitor.sign_in("ann").status == 303
    covid_records = visitor.get("/projects/covid/records.json").json()["records"]
    assert len(covid_records) == 17
    series = visitor.get("/projects/engine/trends.json").json()["series"]
    assert len({trend["system"] for trend in series}) == 4
    assert {trend["points"] for trend in series} == {7}
    metric = series[0]["metric"]
    gate, run = covid_records[0]["sha256"], covid_records[1]["sha256"]
    engine_record = visitor.get("/projects/engine/records.json").json()["records"][0]["sha256"]
    chromium.open(f"{real}/sign-in")
    chromium.ask("document.querySelector('[name=name]').value = 'ann'")
    chromium.ask(f"document.querySelector('[name=password]').value = '{PASSWORD}'")
    chromium.ask("document.querySelector('main form button').click()")
    chromium.until("location.pathname !== '/sign-in'")
    for page, width, dark in (
        ("covid", 390, True),
        ("covid/trends?metric=nDCG%4010", 390, False),
        (f"covid/records/{gate}", 1280, False),
        (f"covid/records/{run}", 390, True),
        (f"covid/query?query=1&record={gate}", 1280, True),
        (f"covid/explain?query=1&metric=nDCG%4010&record={gate}", 390, False),
        ("engine", 1280, True),
        (f"engine/trends?metric={metric}", 1280, False),
        (f"engine/records/{engine_record}", 390, False),
        ("engine/queries", 390, True),
        ("chorus", 390, False),
        ("chorus/trends?metric=nDCG%4010", 1280, True),
        ("chorus/queries", 1280, False),
    ):
        chromium.open(f"{real}/projects/{page}", width=width, dark=dark)
        allowed = ("about:blank", "data:", real)
        assert not [url for url in chromium.asked if not url.startswith(allowed)]
        assert chromium.said == [], page
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert chromium.ask(wider) == 0, page
        assert chromium.faults(axe) == [], page
        if PICTURES:
            chromium.picture(f"{PICTURES}/real-{page.replace('/', '-')[:24]}-{width}.png")
