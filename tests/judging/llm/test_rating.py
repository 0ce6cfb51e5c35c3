"""A language model rates a pool: requests, answers and repeated requests."""

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.judging.admission.admit import Demands, admit
from rankgate.judging.agreement.agree import agree
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.rate import LLMRating
from rankgate.judging.resolution.resolve import resolve
from support.wording import raises


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_pool_becomes_ratings_that_others_read(rate, rows, protocol):
    result, out = rate(6, protocol=protocol)
    assert (result.pairs, result.graded, result.asked, result.left, result.status) == (6, 6, 6, 0, 0)
    assert result.input_tokens == 600
    assert result.output_tokens == 60
    assert {row["grade"] for row in rows(out)} == {2.0}
    judgments = resolve(out).qrels.table
    assert sorted(judgments.rows()) == sorted((f"q{i % 2}", f"d{i}", 2.0) for i in range(6))
    assert agree(out)
    people = judgments.with_columns(grade=pl.Series([2.0, 1, 0, 2, 2, 3]))
    assert admit(people, out, demands=Demands(pairs=2)).status in {0, 1, 3}


def test_the_same_from_python(server, files):
    pool, queries, documents, out = files(3)
    progress_steps = []
    with rankgate.progress(progress_steps.append):
        result = rankgate.rate(
            pl.read_csv(pool).rename({"query": "query_id", "document": "doc_id"}),
            out,
            rankgate.Judge("m", url=f"{server.url}/v1", prices=rankgate.Prices(1, 10)),
            queries=pl.read_csv(queries),
            documents=documents,
        )
    assert sorted(progress_steps) == ["q0 d0", "q0 d2", "q1 d1"]
    assert result.graded == 3
    assert "m graded 3 of 3 pairs" in result._repr_html_()
    assert result.to_dict()["template"]["name"] == "graded"
    assert rankgate.resolve(out, "latest").qrels.table.height == 3


def test_what_goes_out_holds_the_texts_and_the_form_of_the_answer(rate, server, key):
    rate(1, key_from="RANKGATE_TEST_KEY")
    path, headers, body, _ = server.sent[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {key}"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0, 512)
    system, user = body["messages"]
    assert "jaguar speed" in user["content"]
    assert "title: Title d0\ntext: the text of d0, ä" in user["content"]
    assert "{{" not in user["content"] + system["content"]
    form = body["response_format"]["json_schema"]["schema"]
    assert form["properties"]["grade"]["enum"] == [0, 1, 2, 3, None]


def test_anthropic_is_asked_with_a_tool_and_answers_with_it(rate, server, rows, key):
    server.plan = {"d0": [("uses_tool", {"grade": 3, "reason": "all of it"})]}
    result, out = rate(1, protocol="anthropic", key_from="RANKGATE_TEST_KEY")
    _, headers, body, _ = server.sent[0]
    assert headers["x-api-key"] == key
    assert headers["anthropic-version"] == "2023-06-01"
    assert body["tool_choice"] == {"type": "tool", "name": "grade"}
    assert isinstance(body["system"], str)
    assert result.graded == 1
    assert (rows(out)[0]["grade"], rows(out)[0]["comment"]) == (3.0, "all of it")


def test_parameters_replace_and_remove(rate, server):
    rate(1, parameters={"max_tokens": None, "max_completion_tokens": 99}, structure="none")
    body = server.sent[0][2]
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 99
    assert "response_format" not in body
    with raises("conflicting-options", UsageError):
        rate(1, parameters={"stream": True})


@pytest.mark.parametrize(
    ("says", "grade", "reason"),
    [
        ('Here you are:\n```json\n{"grade": 1, "reason": "x"}\n```\nHope it helps', 1.0, None),
        ('<think>{"grade": 0}</think>{"grade": "3"}', 3.0, None),
        ('{"grade": "Perfect"}', 3.0, None),
        ('{"grade": 7}', None, "the grade 7 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": 1.5}', None, "the grade 1.5 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": -1}', None, "the grade -1 is not on the scale (0, 1, 2, 3)"),
        ('{"grade": true}', None, "the grade true is not a number"),
        ('{"grade": NaN}', None, 'the grade "NaN" is not a number'),
        ('{"grade": [2]}', None, "the grade [2] is not a number"),
        ('{"grade": null, "reason": "no text"}', None, "the model cannot tell: no text"),
        ('{"grade": null, "reason": "withdrawn"}', None, "the model cannot tell"),
        ('{"grade": 2} or {"grade": 1}', None, "several grades in one answer: 2, 1"),
        ('{"grade": 2, "detail": {"grade": 1}}', None, "several grades in one answer: 1, 2"),
        ('{"all": [{"grade": 1}, {"x": {"grade": 3}}]}', None, "several grades in one answer: 1, 3"),
        ('{"grade": 2, "detail": {"grade": 2}}', 2.0, None),
        ('{"a": ' * 5_000, None, "the answer has too many objects that are not JSON, or nested too deeply"),
        ('{"a":' * 30 + "!" + '{"grade": 2}', 2.0, None),
        ("The grade is 2.", None, "no JSON object with a grade in the answer: The grade is 2."),
        ('{"grade": 2', None, 'no JSON object with a grade in the answer: {"grade": 2'),
        ("", None, "the answer is empty"),
    ],
)
def test_what_the_model_says_is_a_grade_or_a_reason(rate, server, rows, says, grade, reason):
    server.plan = {"d0": [("says", says)]}
    result, out = rate(1)
    row = rows(out)[0]
    assert (row["grade"], row["reason"], row["answered"]) == (grade, reason, True)
    assert server.asked["d0"] == 1  # it was paid for: it is not asked again
    assert rate(1)[0].known == 1
    assert server.asked["d0"] == 1
    assert result.graded == (grade is not None)
    assert result.unanswered == 0


def test_an_answer_cut_off_refused_or_filtered_says_so(rate, server, rows):
    server.plan = {
        "d0": [("says", '{"reason": "because', "length")],
        "d1": [("says", None, None, "I will not")],
        "d2": [("says", "", "content_filter")],
        "d3": [("says", '{"grade": 0}, but wait, the document', "length")],
        "d4": [("says", '{"grade": 2}', "content_filter")],
        "d5": [("says", '{"grade": 3}', None, "I will not")],
        "d6": [("says", '{"grade": 3}', "error")],
    }
    result, out = rate(7)
    assert result.graded == 0
    assert {row["doc_id"]: (row["grade"], row["reason"]) for row in rows(out)} == {
        "d0": (None, "the answer was cut off at max_tokens"),
        "d1": (None, "the answer was refused: I will not"),
        "d2": (None, "the answer was blocked by a filter"),
        "d3": (None, "the answer was cut off at max_tokens"),
        "d4": (None, "the answer was blocked by a filter"),
        "d5": (None, "the answer was refused: I will not"),
        "d6": (None, "the answer was ended by an error of the endpoint"),
    }


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_an_answer_of_the_other_protocol_that_is_not_complete_is_no_grade(rate, server, rows, reason):
    server.plan = {"d0": [("says", '{"grade": 2}', reason)]}
    result, out = rate(1, protocol="anthropic")
    assert (result.graded, rows(out)[0]["grade"]) == (0, None)


def test_the_same_command_again_asks_nothing(rate, server):
    rate(10)
    result, _ = rate(10)
    assert (result.known, result.asked, result.graded) == (10, 0, 10)
    result, _ = rate(12)  # the pool grew
    assert (result.known, result.asked, result.graded) == (10, 2, 12)
    assert set(server.asked.values()) == {1}


def test_another_prompt_model_or_scale_is_another_question(rate, server, rows, tmp_path):
    rate(2)
    template = tmp_path / "other.txt"
    template.write_text("Grades:\n{{grades}}\nQuery {{query}}, document {{document.text}}\n")
    server.plan = {"d0": [("says", '{"grade": 0}')]}
    result, out = rate(2, template=template)
    assert (result.known, result.asked) == (0, 2)
    assert "0  poor\n1  fair\n2  good\n3  perfect" in server.sent[-1][2]["messages"][0]["content"]
    result, out = rate(2, template=template, scale="binary")
    assert result.asked == 2
    # back to the first prompt: nothing is asked, and its answers are the last word again
    result, out = rate(2)
    assert (result.known, result.asked) == (2, 0)
    assert rows(out)[-1]["guideline"].startswith("graded ")
    assert dict(resolve(out).qrels.table.select("doc_id", "grade").iter_rows()) == {"d0": 2.0, "d1": 2.0}
    assert sum(server.asked.values()) == 6


def test_again_asks_for_what_had_no_grade(rate, server):
    server.plan = {"d0": [("says", "hm"), ("says", '{"grade": 1}')]}
    assert rate(3)[0].graded == 2
    result, _ = rate(3, again=True)
    assert (result.known, result.asked, result.graded) == (2, 1, 3)


def test_a_document_without_text_is_not_asked_about(server, tmp_path, rows):
    texts = pl.DataFrame({"doc_id": ["d0", "d1"], "text": ["the text of d0", ""]})
    pool = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d0", "d1"]})
    queries = pl.DataFrame({"query_id": ["q"], "text": ["jaguar"]})
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        with LLMRating(
            pool, out, Judge("m", url=f"{server.url}/v1"), queries=queries, documents=texts
        ) as work:
            result = work.run()
    assert sum(server.asked.values()) == 1
    assert len(rows(out)) == 2
    assert result.reasons == {"the document has no text": 1}


def test_texts_must_be_there(server, files):
    pool, queries, documents, out = files(2)
    judge = Judge("m", url=f"{server.url}/v1")
    queries.write_text("query_id,text\nq0,jaguar\n")
    with raises("missing-text", InputError):
        LLMRating(pool, out, judge, queries=queries, documents=documents)
    queries.write_text("query_id,text\nq0,jaguar\nq1,holes\n")
    documents.write_text("doc_id,text\nd0,a\n")
    with raises("missing-text", InputError):
        LLMRating(pool, out, judge, queries=queries, documents=documents)
    with raises("missing-input", UsageError):
        LLMRating(pool, out, judge, queries=queries, documents=documents, scale="detail")
