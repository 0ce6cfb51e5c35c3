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
_NARROW = ("float16", "bfloat16", "float8")


@dataclass(frozen=True, eq=False)
class Best:
    """The best of each row of a block.

    Attributes:
        owner: ``(n,)``, the row of each, 0 to B - 1, rising.
        column: ``(n,)``, rising within a row.
        score: ``(n,)``.
        retrieved: ``(B,)``, how many of the row's scores count at all.
        infinite: whether a score is plus infinity.
    """

    owner: NDArray[np.int64]
    column: NDArray[np.int64]
    score: NDArray[np.float64]
    retrieved: NDArray[np.int64]
    infinite: bool


def best(
    block: Any,
    k: int | None,
    *,
    above: float | None = None,
    absent: float | None = None,
    single: bool = False,
    without: NDArray[np.bool_] | None = None,
) -> Best:
    """The k greatest of each row of ``(B, I)``, with all that are equal to the last of them.

    NaN and minus infinity do not count. Only what is found leaves the array's device.

    Args:
        block: some rows.
        k: how many; None is all.
        above: only what is greater counts.
        absent: what is equal to it does not count.
        single: whether scores are compared as 32-bit floats.
        without: ``(B, I)``, what does not count besides.
    """
    xp, x = _floats(block)
    infinite = bool((x == np.inf).any())
    if single:
        with np.errstate(over="ignore"):  # as in C, what is too great becomes infinite
            x = _cast(xp, x, "float32")
    out = xp.isnan(x)
    if without is not None:
        out = out | xp.asarray(without, device=x.device)
    if above is not None:
        out = out | (x <= above)
    if absent is not None:
        out = out | (x == absent)
    x = xp.where(out, xp.full_like(x, -np.inf), x)
    there = x > -np.inf
    retrieved = home(there.sum(-1)).astype(np.int64)
    if k is not None and k < x.shape[1]:
        there = there & (x >= _kth(xp, x, k)[:, None])
    owner, column = xp.nonzero(there, as_tuple=True) if _is_torch(xp) else xp.nonzero(there)
    return Best(
        home(owner).astype(np.int64),
        home(column).astype(np.int64),
        home(x[owner, column]).astype(np.float64),
        retrieved,
        infinite,
    )


def _floats(block: Any) -> tuple[Any, Any]:
    """The library of an array, and the array as floats that hold its numbers."""
    block = block.detach() if hasattr(block, "detach") else block
    xp = library(block)
    kind = str(block.dtype).rpartition(".")[2] if xp else ""
    if kind.startswith(_NARROW):
        kind = "float32"
    elif xp is None or not kind.startswith("float"):  # whole numbers: as wide as there are
        xp, block, kind = np, home(block), "float64"
    return xp, _cast(xp, block, kind)


def _cast(xp: Any, x: Any, kind: str) -> Any:
    wanted = getattr(xp, kind)
    return x.to(wanted) if _is_torch(xp) else x.astype(wanted)


def _is_torch(xp: Any) -> bool:
    return bool(xp.__name__ == "torch")


def library(array: Any) -> Any:
    """The functions of an array's library; None where it has none that are known."""
    if isinstance(array, np.ndarray):
        return np
    name = type(array).__module__.partition(".")[0]
    if name == "torch":
        return sys.modules["torch"]
    return array.__array_namespace__() if hasattr(array, "__array_namespace__") else None


def _kth(xp: Any, x: Any, k: int) -> Any:
    """The k-th greatest of each row, by the library's own top-k where it has one."""
    if xp is np:
        return np.partition(x, -k, axis=1)[:, -k]
    if _is_torch(xp):
        return xp.topk(x, k).values[:, -1]
    if xp.__name__ == "jax.numpy":
        return sys.modules["jax"].lax.top_k(x, k)[0][:, -1]
    return xp.sort(x, axis=-1)[:, -k]


def home(array: Any, name: str = "array") -> NDArray[Any]:
    """An array as NumPy's, in main memory, without a copy where it is there.

    Raises:
        InputError: it cannot be had.
    """
    if isinstance(array, np.ndarray | list | tuple) or not hasattr(array, "__dlpack__"):
        try:
            return np.asarray(array)
        except ValueError:  # rows of several lengths
            problem = "rows of several lengths; pad them, and give the mask to from_arrays."
            raise InputError(problem, source=name, code="wrong-shape") from None
    for way in ("detach", "cpu", "get"):  # torch off its graph, torch and cupy off the device
        if callable(move := getattr(array, way, None)):
            array = move()
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.from_dlpack(array)
    except _FAILURES as error:
        if hasattr(array, "__array__"):  # as of jax, wherever it lives
            return np.asarray(array)
        problem = f"no array of the main memory: {str(error).splitlines()[0]}"
        mend = "detach it and move it there, as with .detach().cpu()."
        raise InputError(f"{problem.rstrip('.')}; {mend}", source=name, code="wrong-type") from None
