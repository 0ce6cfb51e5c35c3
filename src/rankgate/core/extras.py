"""The extra that installs each optional package, and the error where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from rankgate.core.errors import MissingExtraError

EXTRAS = {
    "altair": "plots",
    "vl_convert": "plots",
    "pandas": "pandas",
    "optuna": "engines",
    "psycopg": "engines",
    "tantivy": "engines",
    "alembic": "serve",
    "apscheduler": "serve",
    "argon2": "serve",
    "authlib": "serve",
    "fsspec": "serve",
    "jinja2": "serve",
    "joserfc": "serve",
    "markdown_it": "serve",
    "multipart": "serve",
    "prometheus_client": "serve",
    "sqlalchemy": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "duckdb": "online",
    "ibis": "online",
    "packaging": "online",  # Ibis imports it and does not require it
    "pyarrow_hotfix": "spark",
    "pyspark": "spark",
    "mcp": "mcp",
}
"""Top-level modules that the base does not install, with the extra of pyproject.toml that does."""


def require(purpose: str, *modules: str) -> None:
    """Check that optional packages are installed, before they are imported.

    Args:
        purpose: what needs them, as the first half of the message: ``charts need Altair``.
        modules: names of `EXTRAS`.

    Raises:
        MissingExtraError: one is not installed; names its extra.
    """
    for module in modules:
        if not installed(module):
            raise MissingExtraError(f"{purpose}; {install_command(module)}.")


def installed(module: str) -> bool:
    """True if a module can be imported, or was."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def install_command(module: str) -> str:
    """The command that installs the extra with a module."""
    return f"pip install 'rankgate[{EXTRAS[module]}]'"
