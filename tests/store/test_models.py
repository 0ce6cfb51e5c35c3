"""Language models rate in a store: identity, limits, resumption, admission, disagreements."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import rankgate
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.protocols import Template
from rankgate.judging.models.job_run import JobRun, rate_batch
from rankgate.judging.models.model_admission import admit_model, evidence, find_model, withdraw_model
from rankgate.judging.models.model_jobs import (
    Identity,
    Review,
    add_job,
    job_view,
    models_of,
    tasks_of_batch,
    tasks_to_depth,
)
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.models import model_answers_by_request, model_jobs_table
from rankgate.store.models.model_admissions import read_counting_ratings
from rankgate.store.people import users
from rankgate.store.rating import batches, ratings, tasks
from rankgate.store.store_integrity import check
from rankgate.store.stored_project import StoredProject
from support.model_server import model_server
from support.stored_answers import list_ratings
from support.stores import address_of, mostly_sqlite  # noqa: F401 - new_store
from support.waiting import PATIENCE, until
from support.wording import raises

KEY = "sk-very/secret+0123456789"
DOCS = 20


@pytest.fixture
def server():
    with model_server() as fake_server:
        yield fake_server


@pytest.fixture
def stored(store):
    """A project with a batch of twenty pairs of four queries, with texts."""
    with store.write() as connection:
        project = projects.add(connection, "shop", scale=projects_scale())
        names = [f"q{i}" for i in range(4)]
        texts = {"query_id": names, "text": [f"query {name}" for name in names]}
        queries_documents.add_queries(connection, project.id, pl.DataFrame(texts))
        docs = {"doc_id": [f"d{i}" for i in range(DOCS)], "title": [f"the text of d{i}" for i in range(DOCS)]}
        queries_documents.add_documents(connection, project.id, pl.DataFrame(docs))
        batch = batches.add_batch(connection, project.id, "first")
        pairs = {"query_id": [names[i % 4] for i in range(DOCS)], "doc_id": docs["doc_id"]}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
    return StoredProject(store, "shop", project.id)


def projects_scale():
    return [projects.Grade(float(i), label) for i, label in enumerate(("no", "fair", "good"))]


def judge(server, **how):
    template = Template.parse("{{query}} {{document}} {{grades}}", "short")
    defaults = {"backoff": 0.01, "retries": 1, "timeout": 60.0, "template": template}
    return Judge("m", url=f"{server.url}/v1", **(defaults | how))


def says(server, **grades):
    for doc, answer in grades.items():
        server.plan[doc] = [("says", answer)]


def test_every_rating_has_its_model_prompt_and_explanation(stored, server, monkeypatch):
    monkeypatch.setenv("RANKGATE_TEST_KEY", KEY)
    says(
        server,
        d0='{"grade": 1, "reason": "half of it", "confidence": 0.25}',
        d1="no idea",
        d2=f'{{"grade": 2, "reason": "the key is {KEY}"}}',
    )
    model_judge = judge(server, key_from="RANKGATE_TEST_KEY", confidence=True)
    result = rate_batch(stored, "first", model_judge).run()
    assert (result.graded, result.left, result.unanswered) == (DOCS - 1, 0, 0)
    assert server.sent[0][1]["Authorization"] == f"Bearer {KEY}"
    properties = server.sent[0][2]["response_format"]["json_schema"]["schema"]["properties"]
    assert "confidence" in properties
    with stored.store.read() as connection:
        (rater,) = (rater_row for rater_row in users.list_raters(connection) if rater_row.kind == "model")
        facts = {rating.document: rating for rating in list_ratings(connection, stored.number)}
        rows = {
            answer.doc_id: answer
            for answer in model_answers_by_request.answers_of_rater(connection, 1, rater.id)
        }
        (row,) = models_of(connection, stored.number)
        dump = str(
            [
                connection.exec_driver_sql(f"SELECT * FROM {table}").all()  # noqa: S608
                for table in ("raters", "model_jobs", "model_answers", "ratings")
            ]
        )
    assert rater.identity["model"] == "m"
    assert rater.identity["template"]["user"] == "{{query}} {{document}} {{grades}}"
    assert rater.name == f"m {Identity(rater.identity).sha256[:8]}"
    assert {rating.rater for rating in facts.values()} == {rater.id}
    assert {rating.guideline for rating in facts.values()} == {
        f"short {rater.identity['template']['sha256'][:12]}"
    }
    assert (rows["d0"].comment, rows["d0"].confidence) == ("half of it", 0.25)
    assert rows["d1"].grade is None
    assert rows["d1"].reason
    assert KEY not in dump
    assert "[key]" in rows["d2"].comment
    assert (row["graded"], row["without_grade"], row["requests"]) == (DOCS - 1, 1, DOCS)
    assert (row["input_tokens"], row["output_tokens"]) == (100 * DOCS, 10 * DOCS)
    assert check(stored.store) == ()


def test_a_changed_prompt_is_another_rater_and_what_is_known_is_not_asked_again(stored, server):
    rate_batch(stored, "first", judge(server)).run()
    second_run = rate_batch(stored, "first", judge(server)).run()
    assert (second_run.asked, second_run.known, sum(server.asked.values())) == (0, DOCS, DOCS)
    new_template = Template.parse("{{query}} -- {{document}} {{grades}}", "short")
    assert rate_batch(stored, "first", judge(server, template=new_template)).run().asked == DOCS
    assert rate_batch(stored, "first", judge(server, parameters={"top_p": 1})).run().asked == DOCS
    with stored.store.read() as connection:
        models = [rater for rater in users.list_raters(connection) if rater.kind == "model"]
    assert len({model.name for model in models}) == 3
    # the same pair in another batch is rated by what is known
    with stored.store.write() as connection:
        batch = batches.add_batch(connection, stored.number, "second")
        batches.add_pairs(connection, batch, pl.DataFrame({"query_id": ["q0"], "doc_id": ["d0"]}))
    later_run = rate_batch(stored, "second", judge(server)).run()
    assert (later_run.asked, later_run.graded, sum(server.asked.values())) == (0, 1, 3 * DOCS)


@pytest.mark.parametrize(
    ("limit", "asked"), [({"calls": 5}, 5), ({"tokens": 3_000}, 1), ({"ceiling": 0.003}, 1)]
)
def test_limits_hold_and_the_job_goes_on(stored, server, limit, asked):
    from rankgate.judging.llm.judge import Prices

    priced = {"prices": Prices(1.0, 1.0), "concurrency": 3}
    result = rate_batch(stored, "first", judge(server, **priced, **limit)).run()
    assert result.stopped
    assert result.left == DOCS - result.asked
    assert asked <= result.asked < DOCS
    assert result.asked * 110 <= limit.get("tokens", 1e9)
    assert result.cost <= limit.get("ceiling", 1e9)
    with stored.store.read() as connection:
        (job,) = model_jobs_table.list_jobs(connection, stored.number)
        view = job_view(connection, job)
    assert (view["state"], view["requests"], view["done"]) == ("stopped", result.asked, result.asked)
    resumed = rate_batch(stored, "first", judge(server, **priced)).run()
    assert resumed.asked == DOCS - result.asked
    assert sum(server.asked.values()) == DOCS
    with stored.store.read() as connection:
        assert [job_row.state for job_row in model_jobs_table.list_jobs(connection, stored.number)] == [
            "done"
        ]


def test_a_cancelled_job_stops_and_can_be_resumed(stored, server):
    server.limit(1)
    work = rate_batch(stored, "first", judge(server, concurrency=1))
    with stored.store.read() as connection:
        (job,) = model_jobs_table.list_jobs(connection, stored.number)
    with raises("job-active"):
        rate_batch(stored, "first", judge(server))
    progress_seen = threading.Event()

    def run():
        with rankgate.progress(lambda _: progress_seen.set()):
            work.run()

    thread = threading.Thread(target=run)
    thread.start()
    assert progress_seen.wait(PATIENCE)
    with stored.store.write() as connection:
        model_jobs_table.cancel(connection, job.id)
    server.limit(None)
    thread.join(PATIENCE)
    request_count = sum(server.asked.values())
    assert request_count == 2  # the second was under way
    with stored.store.write() as connection:
        assert model_jobs_table.get(connection, job.id).state == "cancelled"
        model_jobs_table.resume(connection, job.id)
    assert JobRun(stored.store, job.id).run().graded == DOCS
    assert sum(server.asked.values()) == DOCS


def test_a_failing_endpoint_ends_the_job_and_says_why(stored, server):
    server.plan.update({f"d{i}": [("fails", 401)] for i in range(DOCS)})
    with raises("model-failed"):
        rate_batch(stored, "first", judge(server)).run()
    with stored.store.read() as connection:
        (job,) = model_jobs_table.list_jobs(connection, stored.number)
        assert list_ratings(connection, stored.number) == []
    assert job.state == "failed"
    assert job.problem
    server.plan.clear()
    assert rate_batch(stored, "first", judge(server)).run().graded == DOCS


def test_a_killed_process_loses_nothing_and_nothing_is_asked_twice(stored, server):
    server.limit(8)  # the process cannot end before it is killed
    test_file = Path(__file__)
    writer = str(test_file.with_name("model_writer.py"))
    command = [sys.executable, writer, address_of(stored.store), f"{server.url}/v1"]
    environment = {**os.environ, "PYTHONPATH": str(test_file.parents[2] / "src")}
    with stored.store.write() as connection:  # the template that comes with rankgate
        grades = [projects.Grade(float(i)) for i in range(4)]
        projects.set_scale(connection, stored.number, grades)
    with subprocess.Popen(command, env=environment) as process:
        until(lambda: sum(server.asked.values()) >= 12 or process.poll() is not None)
        process.kill()
    server.limit(None)
    server.settle()
    with stored.store.read() as connection:
        (job,) = model_jobs_table.list_jobs(connection, stored.number)
        requests_by_task = {
            answer.task: answer.request
            for answer in model_answers_by_request.answers_by_request(connection, job).values()
        }
        rated = {rating.task for rating in list_ratings(connection, stored.number)}
    assert job.state == "running"
    assert model_jobs_table.is_free(job)
    assert requests_by_task.keys() == rated
    assert len(requests_by_task) >= 4  # those before the four that were under way
    requests_before = sum(server.asked.values())
    with subprocess.Popen(command, env=environment) as process:
        assert process.wait(PATIENCE) == 0
    assert sum(server.asked.values()) - requests_before == DOCS - len(requests_by_task)
    with stored.store.read() as connection:
        rows = list_ratings(connection, stored.number)
        assert model_jobs_table.get(connection, job.id).state == "done"
    assert len(rows) == len({row.task for row in rows}) == DOCS
    assert check(stored.store) == ()


def people_rate(stored, grade_of, names=("ann", "bob")):
    with stored.store.write() as connection:
        for name in names:
            rater = users.ensure(connection, name)
            for task in tasks_of_batch(connection, stored.number, "first"):
                doc = tasks.get_task(connection, task).document.doc_id
                ratings.rate(connection, task, rater.id, rating_id=f"{name}{task}", grade=grade_of(doc))


def test_a_model_counts_once_it_is_admitted(stored, server):
    for i in range(DOCS):
        says(server, **{f"d{i}": f'{{"grade": {i % 3}}}'})
    with stored.store.write() as connection:
        batch = batches.add_batch(connection, stored.number, "alone", most=0)
        batches.change_batch(connection, batch.id, state="closed")
        pairs = pl.DataFrame({"query_id": ["q0", "q1"], "doc_id": ["d1", "d2"]})
        batches.add_pairs(connection, batch, pairs)
    people_rate(stored, lambda doc: float(int(doc[1:]) % 3))
    for name in ("first", "alone"):
        rate_batch(stored, name, judge(server)).run()
    with stored.store.read() as connection:
        number = find_model(connection, models_of(connection, stored.number)[0]["name"])
        assert tasks.progress(connection, stored.number, batch.id).done == 2
    people = len(stored.counted().table)
    assert people == 2 * DOCS  # the model does not count
    # four queries decide nothing
    admission, admission_row = admit_model(stored.store, stored.number, number)
    assert (admission.verdict, admission_row.verdict) == ("inconclusive", "inconclusive")
    assert evidence(stored.store, admission_row).to_dict() == admission.to_dict()
    assert len(stored.counted().table) == people
    _admitted(stored, number)
    assert len(stored.counted().table) == people + 2  # what no person graded
    assert len(stored.counted(models="equal").table) == people + DOCS + 2
    assert len(stored.counted(models="none").table) == people
    assert len(stored.ratings().table) == people + DOCS + 2
    withdraw_model(stored.store, stored.number, number)
    assert len(stored.counted().table) == people


def _admitted(stored, number):
    from rankgate.store.models import model_admissions

    with stored.store.write() as connection:
        model_admissions.record_admission(connection, stored.number, number, "pass")


def test_an_admission_passes_and_fails_by_the_evidence(stored, server):
    with stored.store.write() as connection:
        names = [f"w{i}" for i in range(16)]
        texts = pl.DataFrame({"query_id": names, "text": names})
        queries_documents.add_queries(connection, stored.number, texts)
        pairs = [(name, f"d{i}") for name in names for i in range(8)]
        table = pl.DataFrame(pairs, schema=["query_id", "doc_id"], orient="row")
        batches.add_pairs(connection, batches.get_by_name(connection, stored.number, "first"), table)
    for i in range(DOCS):
        says(server, **{f"d{i}": f'{{"grade": {i % 3}}}'})
    rate_batch(stored, "first", judge(server)).run()
    with stored.store.read() as connection:
        number = find_model(connection, models_of(connection, stored.number)[0]["name"])
    with raises("no-judgments"):
        admit_model(stored.store, stored.number, number)
    people_rate(stored, lambda doc: float(int(doc[1:]) % 3), names=("ann",))
    assert admit_model(stored.store, stored.number, number)[0].verdict == "pass"
    assert len(counted_rows(stored, "equal")) == 2 * (128 + DOCS)
    # people correct themselves; the evidence of later counts
    with stored.store.write() as connection:
        rater = users.ensure(connection, "ann")
        for task in tasks_of_batch(connection, stored.number, "first"):
            doc = tasks.get_task(connection, task).document.doc_id
            corrected_grade = float(2 - int(doc[1:]) % 3)
            ratings.rate(connection, task, rater.id, rating_id=f"again{task}", grade=corrected_grade)
    assert admit_model(stored.store, stored.number, number)[0].verdict == "fail"
    assert len(counted_rows(stored, "equal")) == 2 * (128 + DOCS)  # ann's, with corrections
    looser = Demands(alpha=-1.0, bias=2.0)
    admission, _ = admit_model(stored.store, stored.number, number, demands=looser)
    assert (admission.verdict, admission.asked.alpha) == ("pass", -1.0)  # kept in the evidence


def counted_rows(stored, models):
    with stored.store.read() as connection:
        return read_counting_ratings(connection, stored.number, models=models).table


def test_disagreements_and_doubt_go_to_people(stored, server):
    says(server, d0='{"grade": 0}', d1='{"grade": 1}', d2='{"grade": 2, "confidence": 0.2, "reason": "hm"}')
    review = Review(distance=2.0, confidence=0.5)
    with stored.store.write() as connection:
        batch = batches.add_batch(connection, stored.number, "alone", most=0)
        batches.change_batch(connection, batch.id, state="closed")
        pairs = {"query_id": ["q1", "q2", "q3"], "doc_id": ["d2", "d3", "d4"]}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
    server.plan["d4"] = [("says", "no grade here")]
    people_rate(stored, lambda _: 2.0, names=("ann",))
    rate_batch(stored, "first", judge(server), review).run()
    rate_batch(stored, "alone", judge(server), review).run()
    with stored.store.read() as connection:
        disputes = {(e.doc_id, e.task): e for e in tasks.disputes(connection, stored.number)}
        progress = tasks.progress(connection, stored.number, batch.id)
    # far from ann's grade; doubt where no person is asked; no grade there
    assert [doc for doc, _ in disputes] == ["d0", "d2", "d4"]
    first, second, _ = disputes.values()
    assert [(e.kind, e.grade) for e in first.answers] == [("person", 2.0), ("model", 0.0)]
    assert [(e.comment, e.confidence) for e in second.answers] == [("hm", 0.2)]
    assert (progress.done, progress.disputed) == (1, 2)
    with stored.store.write() as connection:
        rater = users.ensure(connection, "cid")
        final_rating = ratings.rate(
            connection, first.task, rater.id, rating_id="final", grade=1.0, final=True
        )
        assert final_rating.state == "done"
        # people who rate later than the model disagrees with it too
        task = next(
            e
            for e in tasks_of_batch(connection, stored.number, "first")
            if tasks.get_task(connection, e).document.doc_id == "d1"
        )
        ann = users.ensure(connection, "ann")
        later = ratings.rate(connection, task, ann.id, rating_id="later", grade=0.0)
        assert later.state == "done"
        assert ratings.rate(connection, task, ann.id, rating_id="much later", grade=2.0).state == "done"


def test_what_runs_rank_first_is_rated_to_a_depth(stored, server):
    run = {"q0": {f"d{i}": 20.0 - i for i in range(10)}, "q1": {"d1": 1.0}}
    from rankgate.data import read_run

    with stored.store.write() as connection:
        stored_runs.add_run(connection, stored.store.blobs, stored.number, read_run(run, "new"))
        numbers = tasks_to_depth(
            connection, stored.store.blobs, stored.number, ["new"], 3, batch="model: new"
        )
        job = add_job(connection, stored.number, judge(server), numbers, name="new to depth 3")
        model_batch = batches.get_by_name(connection, stored.number, "model: new")
    assert len(numbers) == 4
    result = JobRun(stored.store, job.id).run()
    assert result.graded == 4
    with stored.store.read() as connection:
        # q0/d0 and q1/d1 are in a batch of people; the others have one for models
        assert tasks.progress(connection, stored.number, model_batch.id).done == 2
        assert len(tasks.tasks_of_batch(connection, model_batch.id)) == 2
        assert batches.get_batch(connection, model_batch.id).state == "closed"
