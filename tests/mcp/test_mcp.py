"""The server with a real client, over standard input and output or in this process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import chdir
from math import log2

import pytest
from mcp.server import MCPServer

import rankgate
from mcp import Client, StdioServerParameters
from rankgate.data.files.formats import formats
from rankgate.interface.mcp.mcp_command import mcp_command
from support.wording import assert_wording

QRELS = "q1 0 a 1\nq1 0 b 1\nq2 0 c 1\n"
OLD = "q1 Q0 x 1 3 old\nq1 Q0 a 2 2 old\nq1 Q0 b 3 1 old\nq2 Q0 x 1 2 old\nq2 Q0 c 2 1 old\n"
NEW = "q1 Q0 a 1 3 new\nq1 Q0 b 2 2 new\nq2 Q0 c 1 2 new\n"


@pytest.fixture
def place(tmp_path):
    """A folder with judgments and runs; next to it, and by a link in it, a secret."""
    folder = tmp_path / "evaluation"
    folder.mkdir()
    for name, text in (("qrels.txt", QRELS), ("old.run", OLD), ("new.run", NEW)):
        (folder / name).write_text(text)
    (tmp_path / "secret.txt").write_text(QRELS)
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def process(place, *options):
    """The command as a process of its own."""
    arguments = ["-m", "rankgate", "mcp", str(place), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))


def here(place, *options):
    """The server that the command starts, in this process."""
    servers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MCPServer, "run", lambda server, _: servers.append(server))
        mcp_command.main([str(place), *options], standalone_mode=False)
    return servers[0]


def talk(place, calls, *options, start=here):
    """Ask a server of its own; the names of its tools, and each call's (is it an error, answer)."""

    talk.sizes = []

    async def all_of_it():
        async with Client(start(place, *options)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            answers = []
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                text = "".join(content.text for content in result.content)
                talk.sizes.append(len(result.model_dump_json(by_alias=True).encode()))
                answers.append((result.is_error, text if result.is_error else json.loads(text)))
            return tools, answers

    with chdir(place):
        return asyncio.run(asyncio.wait_for(all_of_it(), 120))


FILES = {"qrels": "qrels.txt", "baseline": "old.run", "candidate": "new.run"}


def test_verbs_answer_with_figures_and_text(place):
    rows = [f"t{task},0.{4 + task % 3},0.{6 + task % 2}" for task in range(12)]
    (place / "tasks.csv").write_text("\n".join(["task,small,large", *rows]))
    calls = [
        ("list_files", {}),
        ("describe", {"files": ["qrels.txt", "old.run"]}),
        ("evaluate", {"qrels": "qrels.txt", "runs": ["old.run"], "metrics": ["nDCG@10"]}),
        ("compare", {"qrels": "qrels.txt", "baseline": "old.run", "candidates": ["new.run"]}),
        ("compare_data_sets", {"data_sets": "tasks.csv", "metrics": ["AP"]}),
        ("gate", FILES),
        ("explain", {"qrels": "qrels.txt", "run": "old.run", "query": "q1", "metric": "RR"}),
        ("reconcile", {"qrels": "qrels.txt", "run": "old.run", "metric": "nDCG@10"}),
        ("holes", FILES),
        ("cutoff", {"qrels": "qrels.txt", "runs": ["old.run"]}),
        ("blindspots", FILES),
        ("rank_similarity", {"first": "old.run", "second": "new.run"}),
        ("migrate", {"old": "old.run", "new": "new.run"}),
        ("validate", {"files": ["old.run"], "against": "qrels.txt"}),
        ("advise", {"qrels": "qrels.txt", "runs": ["old.run"]}),
        ("list_metrics", {"name": "nDCG"}),
        ("list_conventions", {}),
        ("list_formats", {}),
        ("list_policy_keys", {}),
    ]
    tools, answers = talk(place, calls, start=process)
    assert {name for name, _ in calls} == tools.keys()  # nothing that writes
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert all(tool.description for tool in tools.values())
    for (name, _), (wrong, answer) in zip(calls, answers, strict=True):
        assert not wrong, (name, answer)
    files = answers[0][1]
    assert {file["file"] for file in files["files"]} == {"qrels.txt", "old.run", "new.run", "tasks.csv"}
    ideal = 1 + 1 / log2(3)
    expected = ((1 / log2(3) + 1 / 2) / ideal + 1 / log2(3)) / 2
    scored = answers[2][1]["result"]["runs"][0]["mean"]["nDCG@10"]
    assert scored == pytest.approx(expected, rel=1e-15)
    ranks = answers[4][1]["result"]["intervals"]
    assert [(row["system"], row["low"]) for row in ranks] == [("large", 1), ("small", 2)]
    verdict = answers[5][1]["result"]
    assert verdict["verdict"] in {"pass", "inconclusive"}
    assert all(rule["reason"] for rule in verdict["rules"])
    assert answers[5][1]["text"].split(":")[0].lower() == verdict["verdict"]


def test_a_collection_is_an_object_of_its_fields(place):
    (place / "labels.csv").write_text("term,sku,label\nq1,a,yes\nq1,b,yes\nq2,c,yes\n")
    collection = {
        "judgments": "labels.csv",
        "columns": "query=term,doc=sku,grade=label",
        "grades": {"yes": 1},
        "tags": [{"query_id": "q1", "cluster": "x"}, {"query_id": "q2", "cluster": "y"}],
    }
    compared = {"baseline": "old.run", "candidates": ["new.run"], "metrics": ["nDCG@10"]}
    calls = [
        ("compare", {"qrels": "qrels.txt", **compared}),
        ("compare", {"qrels": collection, **compared}),
        ("compare", {"qrels": {**collection, "tgas": 1}, **compared}),
    ]
    _, ((_, plain), (_, stated), (wrong, problem)) = talk(place, calls)
    first, second = (answer["result"]["comparisons"][0] for answer in (plain, stated))
    for name in ("baseline", "candidate", "delta"):
        assert [row[name] for row in first["metrics"]] == [row[name] for row in second["metrics"]]
    assert wrong
    assert_wording(problem)


def test_nothing_outside_of_the_folder_is_read(place, tmp_path):
    (place / "far.toml").write_text(
        f'[lists]\nitems = "{tmp_path}/secret.txt"\n[[rules]]\nid="a"\nkind="noninferiority"\n'
        'metric="RR"\nmargin=0.1\n'
    )
    (place / "up.toml").write_text('[lists]\nitems = "../secret.txt"\n')
    (place / "sidecar.letor").write_text("1 qid:1 1:0.5\n")
    (place / "sidecar.letor.query").symlink_to(tmp_path / "secret.txt")
    secrets = [
        "../secret.txt",
        str(tmp_path / "secret.txt"),
        "link.txt",
        "trec:../secret.txt",
        "sub/../../secret.txt",
        "/etc/passwd",
        "-",
        "",
        "sidecar.letor",
        "a\0b",
        "link.txt:table",
        "../secret.txt:table",
    ]
    calls = [("describe", {"files": [name]}) for name in secrets]
    calls += [("gate", {**FILES, "policy": name}) for name in ("far.toml", "up.toml")]
    calls += [("gate", {**FILES, "baseline": "../secret.txt"})]
    calls += [("evaluate", {"qrels": "qrels.txt", "runs": ["old.run"], "convention": "../a.toml"})]
    (place / "linked").symlink_to(tmp_path)
    for number, judgments in enumerate(
        (
            "../secret.txt",
            f"{tmp_path}/secret.txt",
            f"trec:{tmp_path}/secret.txt",
            "linked/secret.txt",
            "linked/secret.txt:table",
        )
    ):
        collection = f"collection{number}.toml"
        (place / collection).write_text(f'[collection]\njudgments = "{judgments}"\n')
        calls += [("holes", {**FILES, "qrels": collection})]
        calls += [("holes", {**FILES, "qrels": {"judgments": judgments}})]
        calls += [("holes", {**FILES, "qrels": {"judgments": "qrels.txt", "tags": judgments}})]
    (place / "named.toml").write_text('[collection]\njudgments = "ir_datasets:vaswani"\n')
    calls += [("holes", {**FILES, "qrels": "named.toml"})]
    _, answers = talk(place, calls)
    no_paths = [{"files": [name]} for name in ("-", "", "a\0b")]
    for (name, arguments), (wrong, answer) in zip(calls, answers, strict=True):
        assert wrong, (name, arguments)
        assert ("invalid-path" if arguments in no_paths else "outside-folder") in answer
        assert "Traceback" not in answer


def test_bad_input_is_one_sentence_with_its_place(place):
    (place / "broken.run").write_text("q1 Q0 a\n")
    calls = [
        ("evaluate", {"qrels": "qrels.txt", "runs": ["broken.run"]}),
        ("evaluate", {"qrels": "qrels.txt", "runs": ["none.run"]}),
        ("evaluate", {"qrels": "qrels.txt", "runs": ["old.run"], "metrics": ["nDCQ"]}),
        ("write_report", {"qrels": "qrels.txt", "runs": ["old.run"], "output": "a.html"}),
    ]
    _, answers = talk(place, calls)
    assert [wrong for wrong, _ in answers] == [True] * 4
    assert "broken.run:1" in answers[0][1]
    assert "no-file" in answers[1][1]
    assert "unknown-metric" in answers[2][1]


def test_sizes_are_limited(place):
    (place / "many.run").write_text(
        "".join(f"q{i} Q0 a 1 1 many\n" for i in range(300)) + "q1 Q0 b 2 0 many\n"
    )
    (place / "wide.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(300)))
    calls = [
        ("describe", {"files": ["many.run"]}),
        ("compare", {"qrels": "wide.txt", "baseline": "old.run", "candidates": ["new.run"]}),
    ]
    _, answers = talk(place, calls, "--max-bytes", "4000", "--rows", "5")
    assert answers[0][0]
    assert "file-too-large" in answers[0][1]
    wrong, answer = answers[1]
    assert not wrong
    assert answer["shortened"]
    assert json.dumps(answer["result"]).count('"query_id"') < 100


def test_files_are_written_only_where_the_server_may_and_none_is_replaced(place, tmp_path):
    page = {"qrels": "qrels.txt", "runs": ["old.run", "new.run"]}
    calls = [
        ("write_report", {**page, "output": "a.html"}),
        ("write_report", {**page, "output": "a.html"}),
        ("write_report", {**page, "output": "../a.html"}),
        ("write_report", {**page, "output": "old.run"}),
        ("convert", {"source": "qrels.txt", "output": "qrels.csv"}),
        ("convert", {"source": "qrels.txt", "output": "old.run"}),
    ]
    tools, answers = talk(place, calls, "--write")
    assert not tools["write_report"].annotations.read_only_hint
    assert [wrong for wrong, _ in answers] == [False, True, True, True, False, True]
    assert (place / "a.html").read_text().startswith("<!doctype html>")
    assert (place / "qrels.csv").exists()
    assert (place / "old.run").read_text() == OLD
    assert not (tmp_path / "a.html").exists()


def test_every_answer_has_a_bound_and_pages(place):
    tools, answers = talk(place, [("list_metrics", {}), ("list_conventions", {})])
    assert all("offset" in tool.input_schema["properties"] for tool in tools.values())
    for (wrong, _), size in zip(answers, talk.sizes, strict=True):
        assert not wrong
        assert size <= 32_000
    assert answers[0][1]["next_offset"]
    names, offset = [], 0
    pages = 0
    while offset is not None:
        _, [(wrong, answer)] = talk(place, [("list_formats", {"offset": offset})])
        assert not wrong
        assert talk.sizes == [size for size in talk.sizes if size <= 32_000]
        assert bool(answer["text"]) == (offset == 0)
        names += [row["name"] for row in answer["result"]["formats"]]
        offset = answer["next_offset"]
        pages += 1
    assert names == [row.name for row in formats().formats]
    assert pages > 1


def test_errors_quote_little_and_unknown_arguments_are_refused(place):
    long = "nDCG" + "x" * 1_000_000
    calls = [
        ("evaluate", {"qrels": "qrels.txt", "runs": ["old.run"], "metrics": [long]}),
        ("describe", {"files": [long]}),
        ("list_metrics", {"name": long}),
        ("describe", {"files": ["old.run"], "depth": 3}),
        ("list_files", {"folder": "/"}),
    ]
    _, answers = talk(place, calls)
    assert [wrong for wrong, _ in answers] == [True] * len(calls)
    for _, answer in answers:
        assert len(answer) < 1_100
        assert "x" * 201 not in answer
    assert "depth" in answers[3][1]


def test_a_figure_without_a_value_has_its_reason(place):
    (place / "none.txt").write_text("q1 0 a 0\n")
    call = {"qrels": "none.txt", "runs": ["old.run"], "metrics": ["RR"], "convention": "recbole"}
    _, [(wrong, answer)] = talk(place, [("evaluate", call)])
    assert not wrong, answer
    assert answer["result"]["runs"][0]["mean"]["RR"] is None
    assert answer["empty"]["runs[0].mean.RR"]


def test_the_gate_says_the_budget_and_figures_of_held_out_queries_are_refused(place):
    ids = range(20)
    (place / "held.txt").write_text("".join(f"h{i} 0 a{i} 1\nh{i} 0 b{i} 0\n" for i in ids))
    for name, first, second in (("one", "b", "a"), ("two", "a", "b")):
        lines = (f"h{i} Q0 {first}{i} 1 2 {name}\nh{i} Q0 {second}{i} 2 1 {name}\n" for i in ids)
        (place / f"{name}.run").write_text("".join(lines))
    held = {"qrels": "held.txt", "baseline": "one.run", "candidate": "two.run"}
    _, ((_, answer),) = talk(place, [("gate", held)])
    assert answer["result"]["account"]["state"] == "unknown"
    rankgate.open_account(place, tests=10)
    files = {"qrels.txt": "new.run", "held.txt": "two.run"}
    calls = [("evaluate", {"qrels": qrels, "runs": [run]}) for qrels, run in files.items()]
    answers = talk(place, [calls[0], ("gate", held), calls[1], ("gate", held)])[1]
    (_, first), (_, verdict), (is_error, refused), (_, other) = answers
    assert first["result"]["runs"]
    assert talk(place, [("validate", {"files": ["rankgate/account.sqlite"]})])[1][0][0]  # an error
    assert verdict["result"]["account"]["left"] == 9
    assert not verdict["result"]["means"]
    assert is_error
    assert "held out" in refused
    assert other["result"]["account"]["test"] == 1  # the same test again
