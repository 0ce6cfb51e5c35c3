"""Routes for the live comparison."""

from __future__ import annotations

from rankgate.workspace.web.dashboard import live_pages
from rankgate.workspace.web.web_request import MANAGING_ROLES, Field, Route

_MAX_TEXT = 500
_PARAMETERS = "Such as k1=0.9 b=0.4; the engine must have these names."

LIVE_ROUTES = (
    Route(
        "live",
        "GET",
        "/projects/{project}/live",
        MANAGING_ROLES,
        live_pages.live_page,
        "Live comparison",
        (
            Field("text", "Query", most=_MAX_TEXT),
            Field("first", "First engine", most=63),
            Field("first_parameters", "Its parameters", most=500, help=_PARAMETERS),
            Field("second", "Second engine", most=63),
            Field("second_parameters", "Its parameters", most=500, help=_PARAMETERS),
        ),
    ),
    Route(
        "live-rate",
        "POST",
        "/projects/{project}/live/ratings",
        MANAGING_ROLES,
        live_pages.rate_live,
        "Rate",
        (
            Field("text", "Query", required=True, most=_MAX_TEXT),
            Field("first", required=True, most=63),
            Field("first_parameters", most=500),
            Field("second", required=True, most=63),
            Field("second_parameters", most=500),
            Field("doc_id", "Document", required=True, most=1_000),
            Field("grade", "Grade", "number", required=True, help="On the scale."),
        ),
        scope="rate",
    ),
)
