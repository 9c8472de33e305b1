"""What acts on blocks as compiled stages (see `stages`); of what users say derivatives are complex steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import Stage, helper


class CompiledSurroundings:
    """The stages of what acts on a kind of block.

    Parameters
    ----------
    name : str
        Of the kind.
    apply, apply_slopes : callable
        Functions of what `stages` says, that return a status.
    """

    def __init__(self, name: str, apply: Any, apply_slopes: Any) -> None:
        self.apply = Stage(f"{name}_apply", apply, 10)
        self.apply_slopes = Stage(f"{name}_apply_slopes", apply_slopes, 10)


def surroundings_by(name: str, write: Any) -> CompiledSurroundings:
    """Return the stages made of a function that writes what acts, gravity apart.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper
        ``write(numbers, q, v, twist, rotation, position, efforts)``, as `titop.blocks.contract.law.Law` says; all but the
        numbers may be complex.
    """

    def apply(n, count, applying, numbers, q, v, twist, pose, gravity, efforts):
        result, place = vector_at(efforts, 6 + n), row_at(pose, 12)
        result[:] = 0.0
        if applying > 1:
            rotation, position = place[0, :9].reshape(3, 3), place[0, 9:]
            own = vector_at(q, n), vector_at(v, n), vector_at(twist, 6)
            write(vector_at(numbers, count), own[0], own[1], own[2], rotation, position, result)
        return layout.OK

    def apply_slopes(n, count, applying, numbers, q, v, twist, pose, gravity, slopes):
        moved, result = np.empty(2 * n + 18, np.complex128), vector_at(slopes, (6 + n) * (2 * n + 12))
        efforts = np.empty(6 + n, np.complex128)
        copy(vector_at(q, n), moved[:n])
        copy(vector_at(v, n), moved[n : 2 * n])
        copy(vector_at(twist, 6), moved[2 * n : 2 * n + 6])
        copy(vector_at(pose, 12), moved[2 * n + 6 :])
        begin, columns, column = 0, n, 0
        for j in range(2 * n + 12):
            if j == n or j == 2 * n or j == 2 * n + 6:
                begin, column = begin + (6 + n) * column, 0
            if j >= 2 * n:
                columns = 6
            _step(moved, n, j, 1j * COMPLEX_STEP)
            efforts[:] = 0.0
            write(
                vector_at(numbers, count),
                moved[:n],
                moved[n : 2 * n],
                moved[2 * n : 2 * n + 6],
                moved[2 * n + 6 : 2 * n + 15].reshape(3, 3),
                moved[2 * n + 15 :],
                efforts,
            )
            _clear(moved)
            for r in range(6 + n):
                result[begin + r * columns + column] = efforts[r].imag / COMPLEX_STEP
            column += 1
        return layout.OK

    return CompiledSurroundings(name, apply, apply_slopes)


@helper
def _clear(moved):
    for k in range(moved.size):
        moved[k] = moved[k].real


@helper
def _step(moved, n, j, step):
    """Make step j: of q, v or the twist, or, behind these, of a displacement of the port whose pose stands at the end."""
    k = j - 2 * n - 6
    if k < 0:
        moved[j] += step
        return
    o = 2 * n + 6
    for r in range(3):
        if k < 3:
            moved[o + 9 + r] += moved[o + 3 * r + k] * step
        else:
            left, right = (k + 1) % 3, (k + 2) % 3
            turned = moved[o + 3 * r + right]
            moved[o + 3 * r + right] -= moved[o + 3 * r + left] * step
            moved[o + 3 * r + left] += turned * step
