"""Routes of language models as raters, as data."""

from __future__ import annotations

from rankgate.judging.admission.demands import Demands
from rankgate.workspace.web.pages import models
from rankgate.workspace.web.route import MANAGE, VIEW, Field, Route

_AT = "/projects/{project}/models"
_LIMITS = (
    Field("calls", "Requests at most", "whole", default="1000", least=1),
    Field("tokens", "Tokens at most", "whole", least=1),
    Field("ceiling", "Money at most", "number", help="Needs prices.", least=0),
)
_HOW = (
    Field("endpoint", "Endpoint", required=True, most=100),
    Field("model", "Model", required=True, most=200),
    Field("template", "Prompt", "long", most=50_000,
          help="With {{query}}, {{document}} and {{grades}}. Empty is the one that comes with "
          "rankgate, for grades 0 to 3 or 0 and 1. Another prompt is another rater."),
    Field("confidence", "Ask for a confidence from 0 to 1", "flag", default="1"),
    Field("doubt", "People look at grades of a confidence below", "number", default="0.5",
          least=0, largest=1),
    Field("distance", "People look at grades that differ from theirs by", "number", default="2",
          least=0),
    *_LIMITS,
    Field("price_input", "Price of a million tokens of input", "number", least=0),
    Field("price_output", "Price of a million tokens of output", "number", least=0),
    Field("structure", "How the endpoint enforces JSON", "choice", default="schema", choices=(
        ("schema", "by a schema"), ("object", "as any object"), ("none", "not at all"))),
    Field("parameters", "Parameters of requests", "long", most=5_000,
          help='An object of JSON, such as {"temperature": 0, "max_tokens": 512}.'),
    Field("longest", "Characters of a field of a document at most", "whole", least=1),
    Field("concurrency", "Requests at the same time", "whole", least=1),
)  # fmt: skip
_DEMANDS = Demands()

MODELS = (
    Route("models", "GET", _AT, VIEW, models.page, "Models"),
    Route("model-start", "POST", _AT, MANAGE, models.start, "Start rating",
          (Field("batch", "Batch", most=100),
           Field("runs", "Or runs, with commas between", most=2_000),
           Field("depth", "Documents of each list of these runs", "whole", default="10",
                 least=1), *_HOW),
          scope="manage"),
    Route("model-rule", "POST", f"{_AT}/rule", MANAGE, models.set_rule, "Rate new runs",
          (Field("depth", "Documents of each list", "whole", default="10", least=1), *_HOW),
          scope="manage"),
    Route("model-rule-end", "POST", f"{_AT}/rule/end", MANAGE, models.end_rule,
          "Leave new runs alone", scope="manage"),
    Route("model", "GET", f"{_AT}/{{rater:int}}", VIEW, models.one, "Model",
          (Field("before", "Before", "whole"),)),
    Route("model-admit", "POST", f"{_AT}/{{rater:int}}/admission", MANAGE, models.admit,
          "Compare with people",
          (Field("alpha", "Agreement of at least (Krippendorff's alpha)", "number",
                 default=f"{_DEMANDS.alpha:g}"),
           Field("bias", "Mean difference of at most", "number", default=f"{_DEMANDS.bias:g}"),
           Field("pairs", "Pairs that both graded, at least", "whole",
                 default=str(_DEMANDS.pairs)),
           Field("answered", "Share of pairs that the model graded, at least", "number",
                 default=f"{_DEMANDS.answered:g}"),
           Field("with_runs", "Also compare the order of three runs or more", "flag")),
          scope="manage"),
    Route("model-withdraw", "POST", f"{_AT}/{{rater:int}}/withdrawal", MANAGE, models.withdraw,
          "Withdraw the admission", scope="manage"),
    Route("model-job", "GET", f"{_AT}/jobs/{{job:int}}", VIEW, models.job, "Job of a model"),
    Route("model-cancel", "POST", f"{_AT}/jobs/{{job:int}}/cancel", MANAGE, models.cancel,
          "Cancel", scope="manage"),
    Route("model-resume", "POST", f"{_AT}/jobs/{{job:int}}/resume", MANAGE, models.resume,
          "Resume", _LIMITS, scope="manage"),
)  # fmt: skip
