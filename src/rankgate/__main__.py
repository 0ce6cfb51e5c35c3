"""``python -m rankgate``, the same as ``rankgate``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; an interrupt while its modules are imported ends it quietly, too."""
    try:
        from rankgate.cli import main as run
        from rankgate.cli.limited import watched

        status = watched()
        if status is not None:
            sys.exit(status)
        run()
    except KeyboardInterrupt:
        sys.stderr.write("rankgate: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
