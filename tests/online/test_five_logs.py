"""Five logs of the same visits in shapes of their own: from the file to KPIs, A/B and judgments.

Each line is one that the program printed before, and each KPI is computed by pandas too.
"""

import json
import random
import shlex
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from online.test_map import ga4, ga4_item, write

QUERIES = {"tv": ["t1", "t2", "t3"], "red shoes": ["r1", "r2", "r3"]}
WORTH = {"1": 0.9, "2": 0.5, "3": 0.2}
SHAPES = ["german.csv", "ga4.ndjson", "segment.json", "searches.ndjson", "shop.duckdb"]


def make_visits(number=420):
    """Searches of users in two arms, with the results in changing orders, a click and its price."""
    chance = random.Random(5)
    begin = datetime(2026, 3, 1, 8, tzinfo=UTC)
    visits = []
    for visit in range(number):
        query = chance.choice(list(QUERIES))
        shown = chance.sample(QUERIES[query], 3)
        rank = next((n for n, item in enumerate(shown, 1) if chance.random() < WORTH[item[1]] / n), None)
        visits.append(
            {
                "at": begin + timedelta(minutes=73 * visit),
                "user": f"u{visit % 300}",
                "arm": "AB"[visit % 300 % 2],
                "visit": f"v{visit}",
                "query": query,
                "shown": shown,
                "rank": rank,
                "price": chance.choice([10.0, 25.5]) if rank and chance.random() < 0.4 else None,
            }
        )
    return visits


def expected(visits):
    """The KPIs by pandas."""
    table = pd.DataFrame(visits)
    clicked, sold = table["rank"].notna(), table["price"].notna()
    return {
        "search_ctr": clicked.mean(),
        "mean_click_rank": table.loc[clicked, "rank"].mean(),
        "mrr_first_click": (1 / table["rank"]).fillna(0).mean(),
        "impression_ctr": clicked.sum() / table["shown"].str.len().sum(),
        "conversion_rate": sold.mean(),
        "revenue_per_search": table["price"].fillna(0).mean(),
        "searches_per_session": len(table) / table["visit"].nunique(),
    }


def steps(visit):
    """The actions of a visit, in order: name, second, rank, price."""
    yield "search", 0, None, None
    for rank in range(1, len(visit["shown"]) + 1):
        yield "view", 1, rank, None
    if visit["rank"]:
        yield "tap", 9, visit["rank"], None
    if visit["price"]:
        yield "order", 60, visit["rank"], visit["price"]


def table_rows(visits, time):
    for visit in visits:
        for action, second, rank, price in steps(visit):
            at = visit["at"] + timedelta(seconds=second)
            item = visit["shown"][rank - 1] if rank else ""
            query = visit["query"] if action == "search" else ""
            yield (
                *(time(at), visit["visit"], visit["user"], query, action, item, rank or "", price or ""),
                visit["arm"],
            )


NAMES = ("ts", "visit_id", "visitor", "search_term", "action", "product_no", "pos", "price", "test_group")


def write_german(path, visits):
    lines = [";".join(NAMES)]
    for *cells, price, arm in table_rows(visits, lambda at: at.strftime("%d.%m.%Y %H:%M:%S")):
        lines.append(";".join([*map(str, cells), str(price).replace(".", ","), arm]))
    path.write_text("\n".join(lines) + "\n")


def write_duckdb(path, visits):
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits (ts TIMESTAMPTZ, visit_id VARCHAR, visitor VARCHAR, search_term VARCHAR, "
            "action VARCHAR, product_no VARCHAR, pos INTEGER, price DOUBLE, test_group VARCHAR)"
        )
        csv = path.with_suffix(".csv")
        rows = table_rows(visits, lambda at: at.isoformat())
        csv.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        connection.execute(f"COPY visits FROM '{csv}' (HEADER false)")
    csv.unlink()


def ga4_records(visits):
    for number, visit in enumerate(visits):
        names = {"search": "view_search_results", "tap": "select_item", "order": "purchase"}
        second = number * 73 * 60

        def event(name, after, items=(), **more):
            record = ga4(name, second + after, visit["visit"], items, **more)  # noqa: B023 - called at once
            record["user_pseudo_id"] = visit["user"]  # noqa: B023
            arm = {"key": "ab_group", "value": {"string_value": visit["arm"]}}  # noqa: B023
            record["event_params"].append(arm)
            return record

        yield event(names["search"], 0, term=visit["query"])
        yield event("view_item_list", 1, [ga4_item(item, str(n)) for n, item in enumerate(visit["shown"], 1)])
        if visit["rank"]:
            item = visit["shown"][visit["rank"] - 1]
            yield event(names["tap"], 9, [ga4_item(item, str(visit["rank"]))])
            if visit["price"]:
                yield event(names["order"], 60, [ga4_item(item, price=visit["price"], quantity=1)])


def segment_records(visits):
    for visit in visits:
        names = {"search": "Products Searched", "tap": "Product Clicked", "order": "Order Completed"}
        for action, second, rank, price in steps(visit):
            if action == "view":
                continue
            products = [{"product_id": item, "position": n} for n, item in enumerate(visit["shown"], 1)]
            clicked = {"product_id": visit["shown"][rank - 1], "position": rank} if rank else {}
            yield {
                "type": "track",
                "event": names[action],
                "messageId": f"{visit['visit']}-{second}",
                "anonymousId": visit["user"],
                "timestamp": (visit["at"] + timedelta(seconds=second)).isoformat(),
                "context": {"sessionId": visit["visit"], "arm": visit["arm"]},
                "properties": {
                    "search": {"query": visit["query"], "products": products},
                    "tap": clicked,
                    "order": {"products": [clicked | {"price": price, "quantity": 1}]},
                }[action],
            }


def search_records(visits):
    for visit in visits:
        item = visit["shown"][visit["rank"] - 1] if visit["rank"] else None
        yield {
            "ts": visit["at"].isoformat(),
            "session_id": visit["visit"],
            "user_id": visit["user"],
            "test_group": visit["arm"],
            "query": visit["query"],
            "results": visit["shown"],
            "clicks": [{"doc": item, "rank": visit["rank"]}] if item else [],
            "purchases": [{"doc": item, "price": visit["price"]}] if visit["price"] else [],
        }


def write_shape(folder, shape, visits):
    path = folder / shape
    if shape == "german.csv":
        write_german(path, visits)
    elif shape == "shop.duckdb":
        write_duckdb(path, visits)
    else:
        makers = {"ga4": ga4_records, "segment": segment_records, "searches": search_records}
        write(path, list(makers[path.stem](visits)))


OPTIONS = {
    "ga4.ndjson": "--column variant=event_params[ab_group]",
    "segment.json": "--column variant=context.arm",
}
"""What the analyst knows of her log, and no name tells."""


@pytest.mark.parametrize("shape", SHAPES)
def test_from_the_file_to_kpis_an_experiment_and_judgments(run, tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    visits = make_visits()
    write_shape(tmp_path, shape, visits)
    log = "shop.duckdb:visits" if shape == "shop.duckdb" else shape
    refused = run("online", "kpi", log)
    assert refused.code == 2
    assert run(*shlex.split(f"online map {log} {OPTIONS.get(shape, '')} -o log.toml")).code == 0
    values = expected(visits)
    kpis = " ".join(f"-k {name}" for name in values)
    result = run(*shlex.split(f"online kpi {log} --mapping log.toml {kpis} --by variant --format json"))
    assert result.code == 0, result.err
    rows = json.loads(result.out)["values"]
    assert {row["kpi"]: row["value"] for row in rows if row["by"] == "all"} == {
        name: pytest.approx(value) for name, value in values.items()
    }
    for arm in "AB":
        of_arm = expected([visit for visit in visits if visit["arm"] == arm])
        in_arm = {row["kpi"]: row["value"] for row in rows if row["by"] == "variant" and row["slice"] == arm}
        assert {name: value for name, value in of_arm.items() if name in in_arm} == {
            name: pytest.approx(value) for name, value in in_arm.items()
        }
    command = f"online ab {log} --mapping log.toml -m search_ctr -m revenue_per_search --format json"
    experiment = json.loads(run(*shlex.split(command)).out)
    ctr = experiment["metrics"][0]
    for side, arm in (("control", "A"), ("treatment", "B")):
        of_arm = expected([visit for visit in visits if visit["arm"] == arm])
        assert ctr[side] == pytest.approx(of_arm["search_ctr"])
    judged = run(
        *shlex.split(f"online judgments {log} --mapping log.toml --model pbm --held-out 0 -o qrels.csv")
    )
    assert judged.code == 0, judged.err
    judgments = pd.read_csv("qrels.csv")
    assert set(judgments["query_id"]) == set(QUERIES)
    assert len(judgments) == 6
