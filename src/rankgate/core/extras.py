"""The extra that installs each optional package, and the error where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from rankgate.core.errors import InputError, MissingExtraError

EXTRAS = {
    "altair": "plots",
    "vl_convert": "plots",
    "pandas": "pandas",
    "pyarrow": "pandas",
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
        if not is_installed(module):
            raise MissingExtraError(f"{purpose}; {install_command(module)}.")


def is_installed(module: str) -> bool:
    """True if a module can be imported, or was."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def install_command(module: str) -> str:
    """The command that installs the extra with a module."""
    return f"pip install 'rankgate[{EXTRAS[module]}]'"


def is_from_module(base: type, module: str) -> bool:
    """True for a class of a package or of one of its modules."""
    return base.__module__ == module or base.__module__.startswith(f"{module}.")


def version_error(value: object, name: str, title: str, package: str, tested: str) -> InputError:
    """The error for an object of a client or library without an attribute that is read."""
    from importlib.metadata import PackageNotFoundError, version  # a tenth of the start of eval

    try:
        installed_version = version(package)
    except PackageNotFoundError:
        installed_version = "of an unknown version"
    names = getattr(type(value), "model_fields", None) or getattr(value, "__dict__", {})
    public = [str(attribute) for attribute in names if not str(attribute).startswith("_")]
    problem = (
        f"{title}: expected a {type(value).__name__} with '{name}', as {package} {tested} has; "
        f"that of {package} {installed_version} has {', '.join(public[:10]) or 'no fields'}. Give "
        "{query: [document, …]} or {query: {document: number}}."
    )
    return InputError(problem, source=package, code="unsupported-version")
