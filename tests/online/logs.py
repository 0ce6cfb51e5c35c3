"""Small logs for tests: an honest one, and faults planted in it."""

import json
from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


def stamp(seconds):
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def search(number, at, **more):
    return {
        "query_id": f"s{number}",
        "client_id": f"u{number % 20}",
        "user_query": f"words {number % 7}",
        "timestamp": stamp(at),
        "query_attributes": {},
        **more,
    }


def event(action, number, at, rank=None, doc=None, **more):
    row = {
        "action_name": action,
        "query_id": f"s{number}",
        "session_id": f"v{number}",
        "client_id": f"u{number % 20}",
        "timestamp": stamp(at),
        "event_attributes": {"object": {"object_id": doc or f"d{rank}"}, "position": {}},
    }
    if rank is not None:
        row["event_attributes"]["position"] = {"ordinal": rank}
    return {**row, **more}


def honest(searches=60, base=0):
    """Searches of four results, a minute apart; every third has a click."""
    rows = []
    for number in range(searches):
        at_seconds = number * 60
        rows.append(search(number, at_seconds))
        rows += [event("impression", number, at_seconds + 1, rank + base) for rank in range(4)]
        if number % 3 == 0:
            rows.append(event("click", number, at_seconds + 9, number % 4 + base))
    return rows


def written(path, rows, end="\n"):
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")
    return path
