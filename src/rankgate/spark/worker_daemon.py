"""The process that starts Spark's Python workers on this machine; Spark runs it as a program.

Before each task Spark clears Python's caches of importable modules. Before Python 3.12 that reads
the index of every archive on the path again, Spark's large jar among them, which takes 0.1 to 0.2 s
(https://github.com/python/cpython/issues/103200). Archives do not change while a session runs, so
workers keep the indexes.
"""

from __future__ import annotations

import zipimport


def _keep_index(self: zipimport.zipimporter) -> None:
    """Keep the index of an archive instead of reading it again."""


if __name__ == "__main__":
    from pyspark.daemon import manager

    zipimport.zipimporter.invalidate_caches = _keep_index  # type: ignore[method-assign]
    manager()
