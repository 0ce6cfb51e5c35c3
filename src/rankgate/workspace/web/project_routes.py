"""Routes for a project's files, comparisons and work, and for the users of the server."""

from __future__ import annotations

from rankgate.data.qrels import SCALES
from rankgate.judging.pooling.pool import order_facts
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.resolution.rated_evaluation import TOOL_RULES
from rankgate.judging.store.import_export import import_file
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages import (
    coverage_pages,
    file_pages,
    preference_pages,
    project_pages,
    rating_pages,
    result_pages,
    work_pages,
)
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    RATING_ROLES,
    VIEWING_ROLES,
    Field,
    Route,
    declared_fields,
)

STRATEGY_FIELD = Field(
    "strategy",
    "Raters a document",
    "choice",
    default="2",
    choices=(
        ("1", "one"),
        ("2", "two; a third word where they differ"),
        ("3", "three"),
        ("agree", "until two agree"),
    ),
)
_RATERS = Field(
    "strategy",
    "Raters a pair",
    "choice",
    default="3",
    choices=(("1", "one"), ("2", "two"), ("3", "three"), ("agree", "until two agree")),
)
TRANSFORM_FIELD = Field(
    "transform",
    "Transform",
    "long",
    most=2_000,
    help="What each grade becomes on the project's scale, a line each: 2: 1. Or graded-to-binary, "
    "graded-to-detail, and so on.",
)
_COLUMNS = {"kind": "text", "most": 5_000}
_FORMAT = Field("format", "Format", most=50)
_PART_FIELD = Field("what", "What", most=200, help="ratings, judgments/NAME, run/NAME, queries, documents")
_RAW = Field("raw", "Cells as they are", "flag", help="also those that a spreadsheet would run as formulas")
_NAME = Field("name", "Name", required=True, most=100)
_PRIORITY = Field("priority", "Priority; higher is first", "whole", default="0")
_TWO_RUNS_FIELDS = (
    Field("first", "First run", most=200, options=web_request.list_run_names),
    Field("second", "Second run", most=200, options=web_request.list_run_names),
)

_ITEM_PATH = "/projects/{project}/archive/{kind}/{number:int}"
_QUERIES_PATH = "/projects/{project}/archive/queries"
_ARCHIVED = Field("archived", kind="flag", help="Left out, it is shown again.")
_CONFIRM = Field("confirm", "Its name, to confirm", required=True, most=200)
_ADMIN_ROLE = frozenset({"admin"})

ARCHIVE_ROUTES = (
    Route(
        "archive",
        "GET",
        "/projects/{project}/archive",
        MANAGING_ROLES,
        project_pages.archive_page,
        "Archive",
        scope="manage",
    ),
    Route(
        "project-archive",
        "POST",
        "/projects/{project}/archive",
        _ADMIN_ROLE,
        project_pages.archive_project,
        "Archive the project",
        (_ARCHIVED,),
        scope="admin",
        in_archived=True,
    ),
    Route(
        "archive-change",
        "POST",
        _ITEM_PATH,
        MANAGING_ROLES,
        project_pages.archive_item,
        "Archive",
        (_ARCHIVED,),
        scope="manage",
    ),
    Route(
        "archive-queries",
        "POST",
        _QUERIES_PATH,
        MANAGING_ROLES,
        project_pages.archive_queries,
        "Archive",
        (
            Field("queries", "Queries by their ids, a line each", "long", most=1_000_000),
            Field("batch", "Or all queries of a batch", most=100, options=web_request.list_batch_names),
            _ARCHIVED,
        ),
        scope="manage",
    ),
    Route(
        "archive-queries-delete-page",
        "GET",
        f"{_QUERIES_PATH}/delete",
        _ADMIN_ROLE,
        project_pages.delete_queries_page,
        "Delete",
        scope="admin",
    ),
    Route(
        "archive-queries-delete",
        "POST",
        f"{_QUERIES_PATH}/delete",
        _ADMIN_ROLE,
        project_pages.delete_queries,
        "Delete",
        (_CONFIRM,),
        scope="admin",
    ),
    Route(
        "archive-delete-page",
        "GET",
        f"{_ITEM_PATH}/delete",
        _ADMIN_ROLE,
        project_pages.delete_page,
        "Delete",
        scope="admin",
    ),
    Route(
        "archive-delete",
        "POST",
        f"{_ITEM_PATH}/delete",
        _ADMIN_ROLE,
        project_pages.delete_item,
        "Delete",
        (_CONFIRM,),
        scope="admin",
    ),
    Route(
        "project-delete-page",
        "GET",
        "/projects/{project}/delete",
        _ADMIN_ROLE,
        project_pages.delete_project_page,
        "Delete",
        scope="admin",
    ),
    Route(
        "project-delete",
        "POST",
        "/projects/{project}/delete",
        _ADMIN_ROLE,
        project_pages.delete_project,
        "Delete",
        (_CONFIRM,),
        scope="admin",
        in_archived=True,
    ),
)

FILE_ROUTES = (
    Route(
        "material",
        "GET",
        "/projects/{project}/material",
        MANAGING_ROLES,
        file_pages.material_page,
        "Files",
        scope="manage",
    ),
    Route(
        "material-add",
        "POST",
        "/projects/{project}/material",
        MANAGING_ROLES,
        file_pages.add_file,
        "Add the file",
        (
            Field(
                "file",
                "File",
                "file",
                required=True,
                help="Ratings, judgments, queries, documents or runs, in any format that rankgate reads: of "
                "Quepid, SearchTweak, RRE, OpenSearch, RankQuest, Label Studio, Argilla, TREC, CSV and "
                "others.",
            ),
            Field(
                "format",
                "Format",
                most=50,
                help="Only if the format is not recognised.",
                options=web_request.list_format_names,
            ),
            *declared_fields(import_file, "columns", "final", columns=_COLUMNS, final={"most": 200}),
            TRANSFORM_FIELD,
            *declared_fields(import_file, "batch", batch={"most": 100}),
            Field("preview", kind="flag", help="Only report what would change."),
        ),
        scope="manage",
    ),
    Route(
        "export",
        "GET",
        "/projects/{project}/export",
        VIEWING_ROLES,
        file_pages.export_page,
        "Export",
        (_FORMAT, _PART_FIELD),
    ),
    Route(
        "export-file",
        "GET",
        "/projects/{project}/export/file",
        VIEWING_ROLES,
        file_pages.export_file,
        "Export as a file",
        (_FORMAT, _PART_FIELD, _RAW),
    ),
    Route(
        "judgments-file",
        "GET",
        "/projects/{project}/judgments/{judgments}/file",
        VIEWING_ROLES,
        file_pages.judgments_file,
        "Judgments as a file",
        (_FORMAT, _RAW),
    ),
    Route(
        "ratings-file",
        "GET",
        "/projects/{project}/ratings/file",
        VIEWING_ROLES,
        file_pages.ratings_file,
        "Ratings as a file",
        (_FORMAT, _RAW),
    ),
)

WORK_ROUTES = (
    Route(
        "rated",
        "GET",
        "/projects/{project}/ratings/evaluation",
        VIEWING_ROLES,
        result_pages.ratings_evaluation_page,
        "Runs by single ratings",
        (
            Field("convention", "Tool", "choice", choices=tuple((way, way) for way in sorted(TOOL_RULES))),
            Field("metrics", "Metrics", default=result_pages.DEFAULT_TOOL_METRICS, most=300),
            Field(
                "scale", "Scale of the ratings", "choice", choices=tuple((scale, scale) for scale in SCALES)
            ),
            Field("after", "After", "whole"),
        ),
    ),
    Route(
        "pairs",
        "GET",
        "/projects/{project}/pairs",
        VIEWING_ROLES,
        rating_pages.pairs_page,
        "Pairs",
        (
            Field("query", "Query", most=2_000),
            Field("batch", "Batch", most=100),
            Field("state", "State", "choice", choices=tuple((state, state) for state in rating_pages.STATES)),
            Field("rater", "Rater", most=200),
            Field("after", "After", "whole"),
        ),
    ),
    Route(
        "pairs-reset",
        "POST",
        "/projects/{project}/pairs/reset",
        MANAGING_ROLES,
        rating_pages.reset_answers,
        "Take the grades back",
        (
            Field("rater", "Rater", required=True, most=200),
            Field("batch", "Batch", most=100),
            Field("query", "Query", most=2_000),
            Field("state", "State", "choice", choices=tuple((state, state) for state in rating_pages.STATES)),
        ),
        scope="manage",
    ),
    Route(
        "preferences",
        "GET",
        "/projects/{project}/preferences",
        VIEWING_ROLES,
        preference_pages.preferences_page,
        "Comparisons",
    ),
    Route(
        "preferences-add",
        "POST",
        "/projects/{project}/preferences",
        MANAGING_ROLES,
        preference_pages.add_comparison,
        "Add the comparison",
        (
            _NAME,
            Field(
                "kind",
                "What is compared",
                "choice",
                required=True,
                default="lists",
                choices=(
                    ("lists", "the first ten documents of two runs"),
                    ("documents", "two documents: where two runs part, or pairs of a file"),
                ),
            ),
            *_TWO_RUNS_FIELDS,
            Field(
                "pairs",
                "Pairs of documents, instead of runs",
                "file",
                help="CSV with the columns query_id, first and second.",
            ),
            Field("most", "Queries or pairs at most", "whole", default="200"),
            _RATERS,
            _PRIORITY,
            Field("deadline", "Deadline", "moment"),
            Field("seed", "Seed of the draw", "whole"),
        ),
        scope="manage",
    ),
    Route(
        "preferences-file",
        "GET",
        "/projects/{project}/preferences/{batch:int}/file",
        VIEWING_ROLES,
        preference_pages.preferences_file,
        "Preferences as CSV",
        (_RAW,),
    ),
    Route(
        "next",
        "GET",
        "/projects/{project}/next",
        VIEWING_ROLES,
        coverage_pages.next_batch_page,
        "What to judge next",
        (Field("verdict", "Verdict", "whole"), *_TWO_RUNS_FIELDS, Field("metric", "Metric", most=100)),
    ),
    Route(
        "next-add",
        "POST",
        "/projects/{project}/coverage",
        MANAGING_ROLES,
        coverage_pages.add_next_batch,
        "Add the batch",
        (
            _NAME,
            *declared_fields(
                PoolDesign, "order", order={"default": "", "unset": None, "choices": order_facts()}
            ),  # default: influence, if there are judgments and two runs
            *_TWO_RUNS_FIELDS,
            *declared_fields(PoolDesign, "metric", "depth", metric={"most": 100}),
            Field("most", "Pairs at most", "whole", default="100"),
            STRATEGY_FIELD,
            Field("priority", "Priority; higher is first", "whole", default="1"),
        ),
        scope="manage",
    ),
)

PEOPLE_ROUTES = (
    Route(
        "batch",
        "GET",
        "/projects/{project}/batches/{batch:int}",
        MANAGING_ROLES,
        work_pages.batch_page,
        "Batch",
        scope="manage",
    ),
    Route(
        "batch-rules",
        "POST",
        "/projects/{project}/batches/{batch:int}/rules",
        MANAGING_ROLES,
        work_pages.set_batch_rules,
        "Set the rules",
        (
            Field(
                "raters",
                "Raters of this batch",
                most=5_000,
                help="Names with spaces between; left empty, all raters of the project.",
            ),
            Field(
                "qualification",
                "Training that must be passed first",
                most=100,
                options=web_request.list_batch_names,
            ),
            Field(
                "share",
                "Share of its known grades that must be right",
                "number",
                least=0,
                largest=1,
                default="0.8",
            ),
            Field(
                "again",
                "Share of pairs that come again to the same rater",
                "number",
                least=0,
                largest=1,
                help="They do not count in judgments; Agreement compares both grades.",
            ),
            Field("again_hours", "After how many hours", "number", least=0, default="24"),
            Field("stop_ratings", "Stop after so many ratings", "whole", least=1),
            Field("stop_hours", "Stop after so many hours of work", "number", least=0),
            Field("stop_at", "Stop at", "moment"),
            Field("stop_agreed", "Stop when every pair has its grade", "flag"),
        ),
        scope="manage",
    ),
    Route(
        "work",
        "GET",
        "/projects/{project}/work",
        MANAGING_ROLES,
        work_pages.work_page,
        "Working time",
        scope="manage",
        tabular=True,
    ),
    Route(
        "discussions",
        "GET",
        "/projects/{project}/discussions",
        RATING_ROLES,
        work_pages.discussions_page,
        "Discussion",
        scope="rate",
    ),
    Route(
        "discuss",
        "POST",
        "/projects/{project}/discussions/{task:int}",
        RATING_ROLES,
        work_pages.add_discussion_comment,
        "Say it",
        (
            Field("text", "Why", "long", required=True, most=5_000),
            Field("list", "Go back to the list of disagreements", "flag"),
        ),
        scope="rate",
    ),
)
