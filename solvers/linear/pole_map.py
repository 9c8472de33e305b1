"""Poles over a parameter, each followed from model to model by its eigenvectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import TINY
from titop.solvers.linear.lpv_plots import Colours, draw_poles, read_members
from titop.solvers.linear.state_space import refuse_not_finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PoleMap:
    """Poles of models over a parameter.

    Attributes
    ----------
    name, parameter : str
    values : (n,) array
        Of the parameter.
    poles : (n, states) array, rad/s; of sampled models without unit
        Those of a column belong to one mode: from model to model its eigenvectors change least.
    """

    name: str
    parameter: str
    values: Array
    poles: Array

    def plot(self, limits: Any = None, log: bool = False) -> Figure:
        """Draw the poles in the complex plane, coloured by the parameter, with a line for each mode; see `LPVModel.poles`.

        `limits` (4, rad/s) are the least and greatest real part and imaginary part; `log` makes axes logarithmic.
        """
        return draw_poles(self.poles, self.name, Colours(self.values, self.parameter), limits, log)


def pole_map(models: Any, values: Mapping[str, Any] | None = None) -> PoleMap:
    """Return the poles of models over a parameter, those of each mode followed.

    Parameters
    ----------
    models : LPVModel, LFTModel or sequence of control.StateSpace
    values : mapping of str to array_like or float
        The parameter's name and its values, ``{"arm.mass": np.linspace(1, 3, 50)}``, with fixed values of others as numbers.
        For a sequence of models, whose places are the values by default, one value each.

    Returns
    -------
    PoleMap

    Raises
    ------
    ModelError
        Unless exactly one parameter has several values, as many as there are models; for models with other states.

    Notes
    -----
    Modes are matched by ``|w_i v_j| |w_j v_i|`` of left and right eigenvectors, which is one for a mode that stays the same and
    does not depend on units, and by the relative distance of poles: where two frequencies cross, modes keep their shapes.

    Examples
    --------
    >>> import control, numpy as np, titop as tt
    >>> pairs = [control.ss(np.diag([-1.0 - k, -3.0 + k]), np.ones((2, 1)), np.ones((1, 2)), 0.0) for k in range(3)]
    >>> tt.pole_map(pairs, {"k": [0, 1, 2]}).poles.real.tolist()  # they cross at k = 1
    [[-3.0, -1.0], [-2.0, -2.0], [-1.0, -3.0]]
    """
    title, systems, colours = read_members(models, values)
    for k, system in enumerate(systems):
        refuse_not_finite(f"models[{k}]", system)
    states, periods = ({size(system) for system in systems} for size in (lambda one: len(one.A), lambda one: one.dt or 0.0))
    if len(periods) > 1:
        got = ", ".join(f"{period} s" for period in sorted(periods))
        raise ModelError(Finding("other-sample-time", "models", got, "one sample time", "sample all or none"))
    if len(states) > 1 or not min(states):
        got = f"models with {sorted(states)} states"
        raise ModelError(Finding("bad-shape", "models", got, "models with the same states, one at least", "linearise alike"))
    return PoleMap(title, colours.label, colours.values, track_poles(np.array([system.A for system in systems])))


def track_poles(matrices: Array) -> Array:
    """Return the eigenvalues (n, states) of matrices (n, states, states), matching ones in one column; NaN stays NaN."""
    from scipy.optimize import linear_sum_assignment

    result = np.full(matrices.shape[:2], np.nan, dtype=complex)
    before: tuple[Array, Array, Array] | None = None
    for row, A in zip(result, matrices, strict=True):
        if not np.isfinite(A).all():
            continue
        poles, right = np.linalg.eig(A.astype(complex))
        left = np.linalg.pinv(right)
        order = np.lexsort((poles.imag, poles.real))
        if before is not None:
            old, old_left, old_right = before
            alike = np.minimum(np.abs(old_left @ right) * np.abs(left @ old_right).T, 1.0)
            apart = np.abs(old[:, None] - poles) / (np.abs(old[:, None]) + np.abs(poles) + TINY)
            order = linear_sum_assignment(1.0 - alike + apart)[1]
        before = poles[order], left[order], right[:, order]
        row[:] = before[0]
    return result
