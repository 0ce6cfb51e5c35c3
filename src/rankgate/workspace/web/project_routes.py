"""Routes of a project's files, comparisons and work, and of the server's users, as data."""

from __future__ import annotations

from rankgate.data.scales import SCALES
from rankgate.judging.resolution.from_ratings import WAYS
from rankgate.workspace.web import options
from rankgate.workspace.web.pages import (
    archive,
    files,
    next_batch,
    pairs,
    preferences,
    results,
    users,
)
from rankgate.workspace.web.route import ADMIN, MANAGE, VIEW, Field, Route

STRATEGY = Field("strategy", "Raters a document", "choice", default="2", choices=(
    ("1", "one"), ("2", "two; a third word where they differ"), ("3", "three"),
    ("agree", "until two agree"),
))  # fmt: skip
_RATERS = Field("strategy", "Raters a pair", "choice", default="3", choices=(
    ("1", "one"), ("2", "two"), ("3", "three"), ("agree", "until two agree"),
))  # fmt: skip
_FORMAT = Field("format", "Format", most=50)
_WHAT = Field(
    "what", "What", most=200, help="ratings, judgments/NAME, run/NAME, queries, documents"
)
_RAW = Field(
    "raw", "Cells as they are", "flag", help="also those that a spreadsheet would run as formulas"
)
_NAME = Field("name", "Name", required=True, most=100)
_PRIORITY = Field("priority", "Priority; higher is first", "whole", default="0")
_TWO = (Field("first", "First run", most=200, options=options.run_names),
        Field("second", "Second run", most=200, options=options.run_names))  # fmt: skip

_ITEM = "/projects/{project}/archive/{kind}/{number:int}"
_QUERIES = "/projects/{project}/archive/queries"
_ARCHIVED = Field("archived", kind="flag", help="Left out, it is shown again.")
_CONFIRM = Field("confirm", "Its name, to confirm", required=True, most=200)
_ADMIN_ROLE = frozenset({"admin"})

ARCHIVE = (
    Route("archive", "GET", "/projects/{project}/archive", MANAGE, archive.page, "Archive",
          scope="manage"),
    Route("project-archive", "POST", "/projects/{project}/archive", _ADMIN_ROLE,
          archive.change_project, "Archive the project", (_ARCHIVED,), scope="admin",
          in_archived=True),
    Route("archive-change", "POST", _ITEM, MANAGE, archive.change, "Archive", (_ARCHIVED,),
          scope="manage"),
    Route("archive-queries", "POST", _QUERIES, MANAGE, archive.change_queries, "Archive",
          (Field("queries", "Queries by their ids, a line each", "long", most=1_000_000),
           Field("batch", "Or all queries of a batch", most=100, options=options.batch_names),
           _ARCHIVED), scope="manage"),
    Route("archive-queries-delete-page", "GET", f"{_QUERIES}/delete", _ADMIN_ROLE,
          archive.before_delete_queries, "Delete", scope="admin"),
    Route("archive-queries-delete", "POST", f"{_QUERIES}/delete", _ADMIN_ROLE,
          archive.delete_queries, "Delete", (_CONFIRM,), scope="admin"),
    Route("archive-delete-page", "GET", f"{_ITEM}/delete", _ADMIN_ROLE, archive.before_delete,
          "Delete", scope="admin"),
    Route("archive-delete", "POST", f"{_ITEM}/delete", _ADMIN_ROLE, archive.delete, "Delete",
          (_CONFIRM,), scope="admin"),
    Route("project-delete-page", "GET", "/projects/{project}/delete", _ADMIN_ROLE,
          archive.before_delete_project, "Delete", scope="admin"),
    Route("project-delete", "POST", "/projects/{project}/delete", _ADMIN_ROLE,
          archive.delete_project, "Delete", (_CONFIRM,), scope="admin", in_archived=True),
)  # fmt: skip

FILES = (
    Route("material", "GET", "/projects/{project}/material", MANAGE, files.page, "Files",
          scope="manage"),
    Route("material-add", "POST", "/projects/{project}/material", MANAGE, files.add, "Add the file",
          (Field("file", "File", "file", required=True,
                 help="Ratings, judgments, queries, documents or runs, in any format that rankgate "
                 "reads: of Quepid, SearchTweak, RRE, OpenSearch, RankQuest, Label Studio, "
                 "Argilla, TREC, CSV and others."),
           Field("format", "Format", most=50, help="Only if it is not recognised.",
                 options=options.format_names),
           Field("columns", "Columns of a sheet", most=5_000,
                 help="Only if they have no usual name: query=term,doc=sku,grade=rater_*"),
           Field("final", "Rater or column with the final word", most=200),
           Field("transform", "Mapping of grades", "long", most=2_000,
                 help="Only if the file has another scale: what each grade becomes, a line each: "
                 "2: 1. Or graded-to-binary and its like."),
           Field("batch", "Batch for pairs without a rating", most=100,
                 help="They are left out if you name none."),
           Field("preview", kind="flag", help="Only report what would come of it.")),
          scope="manage"),
    Route("export", "GET", "/projects/{project}/export", VIEW, files.export, "Export",
          (_FORMAT, _WHAT)),
    Route("export-file", "GET", "/projects/{project}/export/file", VIEW, files.export_file,
          "Export as a file", (_FORMAT, _WHAT, _RAW)),
    Route("judgments-file", "GET", "/projects/{project}/judgments/{judgments}/file", VIEW,
          files.judgments_file, "Judgments as a file", (_FORMAT, _RAW)),
    Route("ratings-file", "GET", "/projects/{project}/ratings/file", VIEW, files.ratings_file,
          "Ratings as a file", (_FORMAT, _RAW)),
)  # fmt: skip

WORK = (
    Route("rated", "GET", "/projects/{project}/ratings/evaluation", VIEW, results.rated,
          "Runs by single ratings",
          (Field("convention", "Tool", "choice", choices=tuple((e, e) for e in sorted(WAYS))),
           Field("metrics", "Metrics", default=results.TOOL_METRICS, most=300),
           Field("scale", "Scale of the ratings", "choice",
                 choices=tuple((e, e) for e in SCALES)))),
    Route("pairs", "GET", "/projects/{project}/pairs", VIEW, pairs.page, "Pairs",
          (Field("query", "Query", most=2_000), Field("batch", "Batch", most=100),
           Field("state", "State", "choice", choices=tuple((e, e) for e in pairs.STATES)),
           Field("rater", "Rater", most=200), Field("after", "After", "whole"))),
    Route("pairs-reset", "POST", "/projects/{project}/pairs/reset", MANAGE, pairs.reset,
          "Take the grades back",
          (Field("rater", "Rater", required=True, most=200), Field("batch", "Batch", most=100),
           Field("query", "Query", most=2_000),
           Field("state", "State", "choice", choices=tuple((e, e) for e in pairs.STATES))),
          scope="manage"),
    Route("preferences", "GET", "/projects/{project}/preferences", VIEW, preferences.page,
          "Comparisons"),
    Route("preferences-add", "POST", "/projects/{project}/preferences", MANAGE, preferences.add,
          "Add the comparison",
          (_NAME,
           Field("kind", "What is compared", "choice", required=True, default="lists", choices=(
               ("lists", "the first ten documents of two runs"),
               ("documents", "two documents: where two runs part, or pairs of a file"))),
           *_TWO,
           Field("pairs", "Pairs of documents, instead of runs", "file",
                 help="CSV with the columns query_id, first and second."),
           Field("most", "Queries or pairs at most", "whole", default="200"), _RATERS, _PRIORITY,
           Field("deadline", "Deadline", "moment"), Field("seed", "Seed of the draw", "whole")),
          scope="manage"),
    Route("preferences-file", "GET", "/projects/{project}/preferences/{batch:int}/file", VIEW,
          preferences.file, "Preferences as CSV", (_RAW,)),
    Route("next", "GET", "/projects/{project}/next", VIEW, next_batch.page, "What to judge next",
          (Field("verdict", "Verdict", "whole"), *_TWO, Field("metric", "Metric", most=100))),
    Route("next-add", "POST", "/projects/{project}/coverage", MANAGE, next_batch.add,
          "Add the batch",
          (_NAME,
           Field("order", "What is judged first", "choice", choices=(
               ("influence", "what could change the comparison of the first two runs"),
               ("disagreement", "where runs disagree"), ("rank", "what ranks first"))),
           *_TWO, Field("metric", "Metric", most=100),
           Field("depth", "Documents of each list", "whole", default="10"),
           Field("most", "Pairs at most", "whole", default="100"), STRATEGY,
           Field("priority", "Priority; higher is first", "whole", default="1")),
          scope="manage"),
    Route("users", "GET", "/users", ADMIN, users.page, "Users", scope="admin"),
    Route("user-change", "POST", "/users/{user:int}", ADMIN, users.change, "Change the user",
          (Field("sign_in", "May sign in", "choice", choices=(("yes", "yes"), ("no", "no"))),
           Field("admin", "Admin of the server", "choice", choices=(("yes", "yes"), ("no", "no")))),
          scope="admin"),
    Route("user-remove", "POST", "/users/{user:int}/remove", ADMIN, users.remove, "Remove the user",
          (Field("confirm", "Write the name that they sign in with", required=True, most=100),),
          scope="admin"),
)  # fmt: skip
