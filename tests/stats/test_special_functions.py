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
WITHOUT_COMPILED_MODULE = """
import sys

class Finder:
    refused = 0

    def find_spec(name, path, target=None):
        if name == "scipy.special._ufuncs" and not Finder.refused:
            Finder.refused += 1
            raise ImportError(name)  # once, as in a SciPy that names it otherwise

sys.meta_path.insert(0, Finder)
from rankgate.measurement.stats import special_functions as ours
assert Finder.refused == 1 and "scipy.special" in sys.modules
"""


@pytest.mark.parametrize(
    "program", [LOADED, LOADED + SAME, WITH_THREADS + SAME, WITHOUT_COMPILED_MODULE + SAME]
)
def test_functions_are_those_of_scipy(program):
    subprocess.run([sys.executable, "-c", program], check=True)
