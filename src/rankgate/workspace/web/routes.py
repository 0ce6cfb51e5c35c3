"""All routes of the server, in the order of their paths; each stands on its handler.

The modules declare their routes when they are imported.
"""

from __future__ import annotations

from rankgate.workspace.web import openapi, web_request  # noqa: F401 - declares a route
from rankgate.workspace.web.dashboard import (  # noqa: F401 - they declare routes
    alert_page,
    change_pages,
    comment_pages,
    live_pages,
    missing_documents,
    overview_pages,
    query_pages,
    record_pages,
    trend_pages,
)
from rankgate.workspace.web.pages import (  # noqa: F401 - they declare routes
    account_pages,
    alert_forms,
    click_pages,
    coverage_pages,
    engine_pages,
    file_pages,
    model_pages,
    password_reset_pages,
    policy_pages,
    preference_pages,
    program_files,
    project_pages,
    query_entry_pages,
    rating_pages,
    result_pages,
    sandbox_pages,
    second_factor_pages,
    step_pages,
    sweep_pages,
    verb_routes,
    watching_pages,
    work_pages,
)

ROUTES = tuple(sorted(web_request.ROUTES.values(), key=lambda route: (route.path, route.method)))
