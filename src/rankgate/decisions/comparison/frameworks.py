"""Evaluation frameworks whose result files have values per item: one declaration for each framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class MetricRule:
    """The direction and the range of the metrics whose names match.

    Attributes:
        pattern: a regular expression of whole names, in any case.
        lower: true if less is better; None if the framework does not say it.
        low, high: the range; None without a limit.
    """

    pattern: str
    lower: bool | None = False
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Framework:
    """How the result files of a framework are known, and where items, metrics and values stand.

    A path names keys, joined by periods, of which one may contain periods itself, as in a table.
    ``*`` stands for every key or element. ``[name]`` stands for the elements of a list, by their key
    ``name``. The last ``*`` or ``[name]`` of a path in ``values`` is the name of the metric.

    Attributes:
        name: the framework, as errors and warnings name it.
        keys: paths that the document, or the first row, has; with ``|``, one of them.
        values: the paths of values in an item.
        item: the paths of the id of an item; the first that has a value counts.
        items: the path of the list of items; empty if the items are the rows of the file.
        system: the paths of the names of the system that an item belongs to.
        system_of_all: the path, in the document, of the name of the only system.
        repeat: the path of the number of the repeat.
        repeated_item: the meaning of an item that comes again without a number: ``repeat`` of the same
            item, ``item`` of its own, or an ``error``.
        cluster: the path of an item's cluster; its last key stands in the document at the path
            ``cluster_key``, if that is stated.
        prefix: the path, in the document, of a text that begins the id of each item and is its cluster.
        metrics: the directions and ranges; the first rule that matches counts.
        text_values: texts that are values.
        side: a regular expression of metrics that are read only if they are asked for.
        variant: the path of a text that ends the names of metrics, as lm-eval writes them.
        named_by: the path of the list of the metrics of a row.
        no_metric: keys of a row that are no metrics, if no list names these.
        failed: a path and the value there of an item that has no result.
        by_text: paths of ``item`` that are texts, so that items pair by equal texts.
        by_threshold: True if scores with thresholds show the direction.
        keeps_names: True if metrics with a name of rankgate are these.
        task: the path, in the document, of the task, whose items alone have the same ids.
        content: the path of a hash of the item, which ends its id: the same number in another task
            is another item.
        lacks: what such files have instead of values of items; they are refused.
    """

    name: str
    keys: tuple[str, ...]
    values: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    items: str = ""
    system: tuple[str, ...] = ()
    system_of_all: str = ""
    repeat: str = ""
    repeated_item: str = "repeat"
    cluster: str = ""
    cluster_key: str = ""
    prefix: str = ""
    metrics: tuple[MetricRule, ...] = (MetricRule(".*"),)
    text_values: Mapping[str, float] = field(default_factory=dict)
    side: str = ""
    variant: str = ""
    named_by: str = ""
    no_metric: frozenset[str] = frozenset()
    failed: tuple[str, object] = ("", None)
    by_text: tuple[str, ...] = ()
    by_threshold: bool = False
    keeps_names: bool = False
    task: str = ""
    content: str = ""
    lacks: str = ""


_COSTS = MetricRule(r".*(?:latency|duration|cost|tokens|time).*", lower=True, low=0)
_SHARES = MetricRule(".*", low=0, high=1)

_BRAINTRUST = Framework(  # https://www.braintrust.dev/docs/reference/api: the events of an experiment
    "Braintrust",
    keys=("scores", "input|dataset_record_id|origin"),
    item=("origin.id", "dataset_record_id", "metadata.id", "input"),
    values=("scores.*", "metrics.*"),
    metrics=(_COSTS, _SHARES),
    side=r"start|end|caller_.*|.*(?:duration|tokens|cost|time|calls|errors).*",
    by_text=("input",),
)

FRAMEWORKS = (
    Framework(  # mteb's TaskResult.to_disk; first, as a folder has thousands of them
        "MTEB",
        keys=("task_name|mteb_dataset_name", "scores.test|scores.dev|scores.validation|scores.train"),
        items="scores.test|scores.dev|scores.validation|scores.train",
        item=("hf_subset",),
        prefix="task_name|mteb_dataset_name",
        values=("*",),
        repeated_item="error",
        keeps_names=True,
        side=r"(?!main_score$).*",
    ),
    Framework(  # https://inspect.aisi.org.uk/eval-logs.html
        "Inspect",
        keys=("eval.task", "samples"),
        items="samples",
        item=("id",),
        values=("scores.*.value",),
        system_of_all="eval.model",
        task="eval.task",
        repeat="epoch",
        repeated_item="error",
        cluster="metadata",
        cluster_key="results.scores.*.metrics.*.params.cluster",
        metrics=(MetricRule(".*", lower=None),),
        text_values={"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0},
    ),
    Framework(
        "Inspect",
        keys=("eval.task", "status"),
        lacks="an Inspect log without samples; write it with log_samples=True, or give the whole log.",
    ),
    Framework(  # https://www.promptfoo.dev/docs/configuration/outputs
        "promptfoo",
        keys=("results.results",),
        items="results.results",
        item=("testCase.metadata.id", "vars", "testIdx"),
        values=("score", "success", "namedScores.*", "latencyMs", "cost"),
        system=("provider.label|provider.id|provider", "prompt.label"),
        metrics=(_COSTS, MetricRule("success", low=0, high=1), MetricRule(".*")),
        side="latencyMs|cost",
        failed=("failureReason", 2),
        by_text=("vars",),
    ),
    Framework(  # deepeval.test_run.TestRun.save, and EvaluationResult
        "DeepEval",
        keys=("testCases|test_results",),
        items="testCases|test_results",
        item=("metadata.id", "input", "name"),
        values=("metricsData.[name].score|metrics_data.[name].score",),
        repeated_item="item",
        metrics=(_SHARES,),
        by_threshold=True,
        by_text=("input", "name"),
    ),
    Framework(  # langsmith's ExperimentResults: to_pandas, get_test_results, rows
        "LangSmith",
        keys=("example_id|reference_example_id|run.reference_example_id",),
        item=("example_id", "reference_example_id", "run.reference_example_id"),
        values=(
            "feedback.*",
            "feedback_stats.*.avg",
            "evaluation_results.results.[key].score",
            "execution_time",
        ),
        metrics=(_COSTS, MetricRule(".*", lower=None)),
        side="execution_time",
    ),
    _BRAINTRUST,
    replace(_BRAINTRUST, keys=("events.*.scores",), items="events"),
    Framework(  # samples_TASK_DATE.jsonl of lm-eval --log_samples
        "lm-eval",
        keys=("doc_id", "doc", "filtered_resps|resps"),
        item=("doc_id",),
        values=("*",),
        content="doc_hash",
        variant="filter",
        named_by="metrics",
        repeated_item="error",
        metrics=(
            MetricRule(r"(?:acc|acc_norm|acc_bytes|exact_match|em|mcc)(?:,.*)?|pass@\d+", low=0, high=1),
            MetricRule(r".*(?:perplexity|bits_per_byte|brier|ter|wer|cer)(?:,.*)?", lower=True),
        ),
        no_metric=frozenset({"doc_id", "target", "filter"}),
    ),
    Framework(  # llama_index.core.evaluation: RetrievalEvalResult as JSON
        "LlamaIndex",
        keys=("query", "expected_ids", "metric_dict"),
        item=("query",),
        values=("metric_dict.*.score",),
        repeated_item="item",
        metrics=(_SHARES,),
        by_text=("query",),
    ),
    Framework(  # the same as a table
        "LlamaIndex",
        keys=("query", "expected_ids", "retrieved_ids"),
        item=("query",),
        values=("*",),
        repeated_item="item",
        metrics=(_SHARES,),
        by_text=("query",),
    ),
    Framework(  # xiaowu0162/LongMemEval, src/retrieval/run_retrieval.py: its log
        "LongMemEval",
        keys=("question_id", "retrieval_results.metrics"),
        item=("question_id",),
        values=("retrieval_results.metrics.session.*",),
        repeated_item="error",
        metrics=(_SHARES,),
    ),
    Framework(  # ragas EvaluationResult.to_pandas, and the detailed report of Haystack's EvaluationRunResult
        "Ragas or Haystack",
        keys=("user_input|question", "response|retrieved_contexts|contexts|reference|ground_truth"),
        item=("query_id", "user_input", "question"),
        values=("*",),
        repeated_item="item",
        metrics=(
            MetricRule(r"noise_sensitivity.*", lower=True, low=0, high=1),
            MetricRule(
                r"(?:llm_|non_llm_|id_based_)?context_.*|faithfulness.*|factual_correctness.*|answer_correctness",
                low=0,
                high=1,
            ),
            MetricRule(".*"),
        ),
        no_metric=frozenset(
            (
                "response",
                "answer",
                "reference",
                "ground_truth",
                "ground_truths",
                "rubrics",
                "reference_topics",
            )
        ),
        by_text=("user_input", "question"),
    ),
    Framework(  # report.json of supermemoryai/memorybench, src/types/unified.ts
        "MemoryBench",
        keys=("benchmark", "evaluations.*.questionId"),
        items="evaluations",
        item=("questionId",),
        values=("score", "retrievalMetrics.*", "searchDurationMs", "answerDurationMs", "totalDurationMs"),
        system_of_all="provider",
        repeated_item="error",
        metrics=(_COSTS, _SHARES),
        side="k|relevantRetrieved|.*DurationMs",
    ),
    Framework(
        "MTEB",
        keys=("mteb_model_meta",),
        lacks="predictions of MTEB are rankings, not values; score them: rankgate eval QRELS {file}.",
    ),
    Framework(
        "sentence-transformers",
        keys=("epoch", "steps"),
        lacks="means of a sentence-transformers evaluator, without values of queries; write the rankings "
        "(write_predictions=True) and score them: rankgate eval QRELS PREDICTIONS.",
    ),
    Framework(
        "sentence-transformers",
        keys=("query_id", "results.*.corpus_id"),
        lacks="predictions of sentence-transformers are rankings, not values; score them: "
        "rankgate eval QRELS {file}.",
    ),
)
