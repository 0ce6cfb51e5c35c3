import pytest

pytest.importorskip("duckdb", reason="the extra online is not installed")
pytest.importorskip("ibis", reason="the extra online is not installed")
