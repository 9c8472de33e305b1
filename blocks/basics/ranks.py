"""Numerical ranks with a margin: a singular value slightly below the threshold counts if a wide gap follows it."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS

#: Values down to this fraction of the threshold count if a wide gap follows them.
_NEAR = 1e-2


def decided_rank(sizes: Array, least: float, wide: float = 1e3) -> int:
    """Return the rank: the number of sizes above a threshold, and slightly below it if a wide gap follows.

    So the last digits of a sum, which differ between processors, do not decide about a value that is next to the threshold
    and far above all smaller ones. Values below a hundredth of the threshold never count, nor do values below the threshold
    if each falls by less than the factor `wide` from the one before.

    `sizes` (n): singular values, or pivots, the largest first; `least`: the threshold, in the unit of the sizes; `wide`: the
    factor by which sizes fall at a wide gap.

    Examples
    --------
    >>> import numpy as np
    >>> [decided_rank(np.array([1.0, 0.4, x, 1e-17]), 1e-12) for x in (1.1e-10, 1.1e-12, 0.9e-12, 0.9e-14)]
    [3, 3, 3, 2]
    """
    above, near = (int((sizes > least * part).sum()) for part in (1.0, _NEAR))
    if above == near:
        return above
    ladder = np.maximum(np.append(sizes, 0.0), EPS * sizes[0])
    gaps = ladder[above:near] / ladder[above + 1 : near + 1]
    return above + int(gaps.argmax()) + 1 if gaps.max() >= wide else above
