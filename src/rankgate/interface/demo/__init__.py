"""The bundled demo: two engines over the documentation of Python's standard library.

The documents are the docstrings of the running interpreter, the engines are
SQLite FTS5 (both come with Python), the judgments are our own. ``build``
writes a folder to try commands in, ``print_demo`` explains it step by step.
"""

from rankgate.interface.demo.demo_build import Demo, build

__all__ = ["Demo", "build"]
