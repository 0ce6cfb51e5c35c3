"""Select the top of each row on the array's own device, then copy it to the CPU.

NumPy, torch and jax by their own names, others by the array API standard, or whole by DLPack.
None of these libraries but NumPy is imported: an array of another has imported it already.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FAILURES = (BufferError, RuntimeError, TypeError, ValueError)
_NARROW_DTYPES = ("float16", "bfloat16", "float8")


@dataclass(frozen=True, eq=False)
class TopScores:
    """The best of each row of a block.

    Attributes:
        owner: ``(n,)``, the row of each best score, 0 to B - 1, rising.
        column: ``(n,)``, rising within a row.
        score: ``(n,)``.
        retrieved: ``(B,)``, the number of the row's scores that count at all.
        infinite: True if a score is plus infinity.
    """

    owner: NDArray[np.int64]
    column: NDArray[np.int64]
    score: NDArray[np.float64]
    retrieved: NDArray[np.int64]
    infinite: bool


def select_top_scores(
    block: Any,
    k: int | None,
    *,
    above: float | None = None,
    absent: float | None = None,
    single: bool = False,
    without: NDArray[np.bool_] | None = None,
) -> TopScores:
    """The k greatest of each row of ``(B, I)``, with all that are equal to the last of them.

    NaN and minus infinity do not count. Only the result leaves the array's device.

    Args:
        block: some rows.
        k: the number of scores; None takes all.
        above: only greater scores count.
        absent: scores equal to it do not count.
        single: compare scores as 32-bit floats.
        without: ``(B, I)``, True for scores that do not count.
    """
    xp, scores = _to_floats(block)
    infinite = bool((scores == np.inf).any())
    if single:
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            scores = _cast(xp, scores, "float32")
    is_excluded = xp.isnan(scores)
    if without is not None:
        is_excluded = is_excluded | xp.asarray(without, device=scores.device)
    if above is not None:
        is_excluded = is_excluded | (scores <= above)
    if absent is not None:
        is_excluded = is_excluded | (scores == absent)
    scores = xp.where(is_excluded, xp.full_like(scores, -np.inf), scores)
    is_selected = scores > -np.inf
    retrieved = to_numpy(is_selected.sum(-1)).astype(np.int64)
    if k is not None and k < scores.shape[1]:
        is_selected = is_selected & (scores >= _kth_greatest(xp, scores, k)[:, None])
    owner, column = (
        xp.nonzero(is_selected, as_tuple=True) if _is_torch(xp) else xp.nonzero(is_selected)
    )
    return TopScores(
        to_numpy(owner).astype(np.int64),
        to_numpy(column).astype(np.int64),
        to_numpy(scores[owner, column]).astype(np.float64),
        retrieved,
        infinite,
    )


def _to_floats(block: Any) -> tuple[Any, Any]:
    """The library of an array, and the array as floats that hold its numbers."""
    block = block.detach() if hasattr(block, "detach") else block
    xp = array_library(block)
    dtype_name = str(block.dtype).rpartition(".")[2] if xp else ""
    if dtype_name.startswith(_NARROW_DTYPES):
        dtype_name = "float32"
    elif xp is None or not dtype_name.startswith("float"):  # whole numbers: as wide as there are
        xp, block, dtype_name = np, to_numpy(block), "float64"
    return xp, _cast(xp, block, dtype_name)


def _cast(xp: Any, array: Any, kind: str) -> Any:
    dtype = getattr(xp, kind)
    return array.to(dtype) if _is_torch(xp) else array.astype(dtype)


def _is_torch(xp: Any) -> bool:
    return bool(xp.__name__ == "torch")


def array_library(array: Any) -> Any:
    """The functions of an array's library; None if the library is unknown."""
    if isinstance(array, np.ndarray):
        return np
    name = type(array).__module__.partition(".")[0]
    if name == "torch":
        return sys.modules["torch"]
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else None


def _kth_greatest(xp: Any, scores: Any, k: int) -> Any:
    """The k-th greatest of each row, by the library's own top-k if it has one."""
    if xp is np:
        return np.partition(scores, -k, axis=1)[:, -k]
    if _is_torch(xp):
        return xp.topk(scores, k).values[:, -1]
    if xp.__name__ == "jax.numpy":
        return sys.modules["jax"].lax.top_k(scores, k)[0][:, -1]
    return xp.sort(scores, axis=-1)[:, -k]


def to_numpy(array: Any, name: str = "array") -> NDArray[Any]:
    """An array as NumPy's, in main memory, without a copy if it is there already.

    Raises:
        InputError: it cannot be converted.
    """
    if isinstance(array, np.ndarray | list | tuple) or not hasattr(array, "__dlpack__"):
        try:
            return np.asarray(array)
        except ValueError:  # rows of several lengths
            problem = "rows of several lengths; pad them, and give the mask to from_arrays."
            raise InputError(problem, source=name, code="wrong-shape") from None
    for method in ("detach", "cpu", "get"):  # torch off its graph, torch and cupy off the device
        if callable(transfer := getattr(array, method, None)):
            array = transfer()
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.from_dlpack(array)
    except _FAILURES as error:
        if hasattr(array, "__array__"):  # as of jax, wherever it lives
            return np.asarray(array)
        problem = f"no array of the main memory: {str(error).splitlines()[0]}"
        remedy = "detach it and move it there, as with .detach().cpu()."
        raise InputError(
            f"{problem.rstrip('.')}; {remedy}", source=name, code="wrong-type"
        ) from None
