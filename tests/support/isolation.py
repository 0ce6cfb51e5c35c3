"""A test leaves the process as it was: paths, environment, working folder, modules."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [entry for entry in sys.path if entry.endswith("site-packages")]
"""A ``.pth`` file may name folders of packages outside the environment."""
SOURCES = [
    folder
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder and (Path(folder) / "rankgate").is_dir()
]
"""Folders of copies of the package, which ``make mutate`` makes."""
OURS = [str(ROOT / "src"), str(ROOT / "tests")]
LASTING = (sys.prefix, sys.base_prefix, *PACKAGES, *SOURCES, *OURS)
"""Folders whose modules are the same for every test."""
VARIABLES = {
    "PYTEST_CURRENT_TEST",
    "_RJEM_MALLOC_CONF",  # Polars
    "KMP_DUPLICATE_LIB_OK",  # libraries with OpenMP
    "MYPY_CONFIG_FILE_DIR",
    "TF_CPP_MIN_LOG_LEVEL",  # JAX, as the next
    "TPU_SKIP_MDS_QUERY",
}
"""What pytest itself and libraries change for good."""


@pytest.fixture(autouse=True)
def unchanged_process():
    """Fail a test that leaves state for the next test."""
    path, folder = list(sys.path), os.getcwd()  # noqa: PTH109 - as text, around every test
    encoded, modules = _encoded_environment(), dict(sys.modules)
    yield
    if (
        sys.path == path
        and os.getcwd() == folder  # noqa: PTH109
        and _encoded_environment() == encoded
        and sys.modules == modules
    ):
        return
    environment = {os.environ.decodekey(key): os.environ.decodevalue(value) for key, value in encoded.items()}
    changes = [
        *([f"working folder: {Path.cwd()}"] if str(Path.cwd()) != folder else []),
        *(f"sys.path: {entry}" for entry in {*sys.path} ^ {*path}),
        *(f"environment: {name}" for name in _changed(environment, dict(os.environ)) - VARIABLES),
        *(f"module: {name}" for name in _changed_modules(modules)),
    ]
    if changes:
        os.chdir(folder)
        sys.path[:] = path
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        for name in _changed_modules(modules):
            sys.modules.pop(name, None)
            if name in modules:
                sys.modules[name] = modules[name]
        pytest.fail(f"left for the next test: {', '.join(sorted(changes))}", pytrace=False)


def _encoded_environment():
    """The variables but the one that pytest sets in each test: copied in C, as decoding all takes longer."""
    encoded = os.environ._data.copy()
    encoded.pop(os.environ.encodekey("PYTEST_CURRENT_TEST"), None)
    return encoded


def _changed(before, after):
    """Keys that were added, removed, or have another value."""
    return {key for key, _ in before.items() ^ after.items()}


def _changed_modules(before):
    """Modules that are missing or others than before, and new ones from other folders."""
    if sys.modules == before:  # after most tests; thousands of modules are compared in C
        return set()
    now = dict(sys.modules)
    names = {name for name, module in before.items() if now.get(name) is not module}
    return names | {name for name in now.keys() - before.keys() if not _lasting(now[name])}


def _lasting(module):
    """True if a module is not from a file, or its file is there for every test."""
    file = getattr(module, "__file__", None)
    made_in_memory = (
        file is None or not Path(file).is_absolute()
    )  # torch.ops and torch.classes name no folder
    return module is not None and (made_in_memory or file.startswith(LASTING))
