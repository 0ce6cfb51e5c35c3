"""``python -m rankgate``, the same as ``rankgate``."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from rankgate.core.errors import describe_resource_error

_NEW_OBJECTS = 100_000  # between two garbage collections; the default of 700 slows short commands
_SPIN = "4"  # a waiting NumPy thread spins for 2**4 clock cycles, instead of 2**26


def main() -> None:
    """Run a command; an interrupt during its imports also ends the process quietly."""
    sys.unraisablehook = _report_unraisable
    gc.set_threshold(_NEW_OBJECTS)  # imports make many objects and no garbage
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _SPIN)  # before NumPy is imported
    atexit.register(_freeze)
    try:
        from rankgate.interface.cli import main as run
        from rankgate.interface.cli.startup import run_watched

        status = run_watched()
        if status is not None:
            sys.exit(status)
        run()
    except SystemExit:
        raise
    except BaseException as error:  # Python would exit with 1, which means that a gate failed
        if os.environ.get("RANKGATE_DEBUG"):
            raise
        # Python 3.11 raises a RuntimeError if it is interrupted while it makes a class
        if KeyboardInterrupt in {type(error), type(error.__cause__)}:
            sys.stderr.write("rankgate: interrupted.\n")
            sys.exit(130)
        problem = describe_resource_error(error)
        internal_error = f"internal error: {type(error).__name__}: {error}".splitlines()[0]
        sys.stderr.write(f"rankgate: {problem or internal_error}\n")
        sys.exit(2 if problem else 70)


def _freeze() -> None:
    """Freeze all objects, so that no garbage collection runs at exit: the system frees the memory.

    DuckDB reports its remaining objects as leaks, so its own objects are still collected.
    """
    if "_duckdb" not in sys.modules:
        gc.freeze()


def _report_unraisable(error: sys.UnraisableHookArgs) -> None:
    """Report exceptions that Python cannot raise, except an interrupt such as a second Ctrl-C."""
    if error.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(error)


if __name__ == "__main__":
    main()
