"""``python -m rankgate``, the same as ``rankgate``."""

from rankgate.cli import main

if __name__ == "__main__":
    main()
