"""How many singular values count, decided with a margin: where rounding could decide, the widest gap does."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array

#: Values within this factor of a threshold are not told apart by it.
_NEAR = 100.0
_EPS = float(np.finfo(float).eps)


def decided_rank(sizes: Array, least: float, beside: float = 0.0) -> int:
    """Return how many of the sizes count: those above the widest gap near a threshold.

    A value that happens to be next to the threshold goes with those it is nearer to, or with a hundredth of it where none is
    smaller, so that the last digits of a sum, which
    differ between processors, do not decide. Values farther than a factor of 100 from the threshold are told by it alone.

    Parameters
    ----------
    sizes : (n,) array
        Singular values, or what pivoting leaves, the largest first.
    least : float
        The threshold, in the unit of the sizes.
    beside : float
        What the sizes would be if they all counted; at least the largest.

    Examples
    --------
    >>> import numpy as np
    >>> [decided_rank(np.array([1.0, 0.4, x, 1e-17]), 1e-12) for x in (1.1e-12, 0.9e-12, 1e-10, 1e-14)]
    [2, 2, 2, 2]
    """
    first, last = (int((sizes > least * factor).sum()) for factor in (_NEAR, 1.0 / _NEAR))
    if first == last:
        return first
    largest = max(beside, float(sizes[0]))
    ladder = np.concatenate([[largest], np.maximum(sizes, _EPS * largest), [least / _NEAR]])
    return first + int((ladder[first : last + 1] / ladder[first + 1 : last + 2]).argmax())
