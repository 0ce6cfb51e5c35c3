"""Words that people search for, and the page of the manual that is about them.

They are entries of the index, which the search of the manual ranks above words in titles and texts;
``rankgate help`` finds pages by them too. A plural is found by its singular as well.
"""

SEARCH_WORDS = {
    "accounts": ("two-factor authentication", "TOTP", "lost passwords", "password reset"),
    "agents": ("agents", "conversations", "multi-turn"),
    "alerts": ("monitoring", "notifications", "webhooks"),
    "assistants": ("MCP servers",),
    "audit": ("published tables", "reproducibility"),
    "collections": ("collection.toml",),
    "columns": ("column names", "CSV columns"),
    "conventions": ("conventions", "tie breaking", "ties"),
    "custom-metrics": ("custom metrics", "user-defined metrics"),
    "dashboard": ("dashboards", "web interface", "trends"),
    "engines": ("search engines", "Elasticsearch", "OpenSearch", "Solr", "snapshots"),
    "everyday": ("configuration", "rankgate.toml", "shell completion", "defaults"),
    "documents/recommender-note": ("impressions", "impression logs"),
    "experiments": (
        "A/B tests",
        "AB tests",
        "split tests",
        "sample ratio mismatch",
        "CUPED",
        "guardrails",
        "sample sizes",
    ),
    "extend/index": ("plug-ins", "plugins"),
    "formats": ("file formats",),
    "fusion": ("hybrid search", "reciprocal rank fusion", "RRF", "rank fusion"),
    "gate": ("gates", "policy", "quality gates", "regression tests", "non-inferiority"),
    "guides/model-judge": ("LLM as a judge", "LLM judges"),
    "history": ("history", "change points", "regressions"),
    "installation": ("pip install", "extras", "installation"),
    "interleaving": ("interleaving", "team draft"),
    "judgments": ("qrels", "relevance judgments", "pooling"),
    "language-models": ("language models", "LLM", "large language models"),
    "learning-to-rank": ("learning to rank", "LightGBM", "XGBoost", "LTR"),
    "off-policy": ("off-policy", "counterfactual evaluation", "inverse propensity scoring"),
    "offline-online": ("offline metrics", "online metrics"),
    "online": (
        "click logs",
        "logs of clicks",
        "clickstreams",
        "UBI",
        "User Behavior Insights",
        "KPIs",
        "CTR",
        "click-through rates",
        "click models",
    ),
    "operation": ("backups", "TLS", "reverse proxies"),
    "pictures": ("charts", "plots"),
    "reanchor": ("chunks",),
    "reference/commands/holes": ("unjudged documents", "holes"),
    "reference/metrics/index": ("metrics",),
    "reports": ("HTML reports", "PDF reports"),
    "retrieval-for-models": ("RAG", "retrieval-augmented generation"),
    "sampling": ("prediction-powered inference", "stratified sampling"),
    "schedule": ("cron", "scheduled jobs", "nightly jobs"),
    "serve": ("web server", "REST API", "rating pages", "OpenID Connect", "single sign-on"),
    "sources": ("data frames", "pandas", "Polars", "NumPy arrays"),
    "spark": ("Spark", "Apache Spark", "PySpark"),
    "start/clicks": ("clicks", "analysts"),
    "start/managers": ("managers",),
    "start/raters": ("raters", "annotators"),
    "start/recommenders": ("recommender systems", "recommendations"),
    "statistics": (
        "significance tests",
        "t-tests",
        "bootstrap",
        "randomization tests",
        "equivalence tests",
        "statistical power",
        "multiple comparisons",
    ),
    "store": ("stores", "SQLite", "PostgreSQL"),
    "suggestions": ("autocomplete", "query suggestions", "spelling corrections"),
    "sweeps": ("hyperparameters", "parameter tuning", "grid search"),
    "trackers": ("MLflow", "Weights & Biases", "wandb"),
    "validate": ("validation",),
    "validity": ("false positives", "type I errors"),
}
"""By page, without its suffix, what it is about."""


def with_words(page: str, source: str) -> str:
    """The source of a page with its words as entries of the index, at its top."""
    search_words = SEARCH_WORDS.get(page)
    entries = ", ".join(f"! {word}" for word in search_words or ())
    return f"```{{index}} {entries}\n```\n\n{source}" if search_words else source
