"""Functions of SciPy, without the wrappers for other array libraries."""

import subprocess
import sys

import pytest

LOADED = """
import sys
from rankgate.measurement.stats import special_functions as ours
assert ours.__name__ in sys.modules and "scipy.special" not in sys.modules
assert not {"numpy.f2py", "numpy.testing", "scipy._lib._array_api"} & sys.modules.keys()
"""
SAME = """
import numpy, scipy.special, scipy.stats
functions = {name: value for name, value in vars(ours).items() if isinstance(value, numpy.ufunc)}
assert len(functions) == 13, functions
assert all(getattr(scipy.special, name) is value for name, value in functions.items())
assert scipy.special.logsumexp([0.0, 0.0]) == 0.6931471805599453
assert round(scipy.stats.t.cdf(2.0, 5), 6) == 0.949030
"""
WITH_THREADS = """
import sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
from rankgate.measurement.stats import special_functions as ours
assert "scipy.special" in sys.modules
"""
OTHER_MODULES = """
import sys
sys.modules["scipy.special._ufuncs"] = None  # as in a SciPy without this module
from rankgate.measurement.stats import special_functions
"""


@pytest.mark.parametrize("program", [LOADED, LOADED + SAME, WITH_THREADS + SAME])
def test_functions_are_those_of_scipy(program):
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_scipy_with_other_modules_is_imported_as_a_package():
    result = subprocess.run(
        [sys.executable, "-c", OTHER_MODULES], check=False, capture_output=True, text=True
    )
    assert "scipy/special/__init__.py" in result.stderr  # which cannot work without this module
