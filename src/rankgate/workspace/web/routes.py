"""All routes of the server, in the order of their paths; each stands on its handler.

The modules declare their routes when they are imported.
"""

from __future__ import annotations

from rankgate.core.declare import load_modules
from rankgate.workspace.web import web_request

for _name in ("openapi", "dashboard", "pages"):
    load_modules(f"{__package__}.{_name}")  # modules declare their routes when they are imported

ROUTES = tuple(sorted(web_request.ROUTES.values(), key=lambda route: (route.path, route.method)))
