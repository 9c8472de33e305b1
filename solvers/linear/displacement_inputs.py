"""Displacements as inputs: linear equations whose input is a coordinate's acceleration, turned into those of its place.

With r the displacement and x the states of all other coordinates::

    dx/dt = A x + A_q r + A_v dr/dt + B_a d2r/dt2 + B u        y = C x + C_q r + C_v dr/dt + D_a d2r/dt2 + D u

The states ``z = x - E r - B_a dr/dt`` with ``E = A B_a + A_v`` carry what follows the rates of r at once, so that nothing is
differentiated::

    dz/dt = A z + (A E + A_q) r + B u        y = C z + (C E + C_q) r + (C B_a + C_v) dr/dt + D_a d2r/dt2 + D u

Outputs in which dr/dt or d2r/dt2 remain have no such model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import Signal
from titop.solvers.signals.system_inputs import SystemInputs


class Places(NamedTuple):
    """Where displacements r (m) stand in linear equations.

    - `q`, `v`, `others`: positions of the displacements, of their rates and of everything else among the states;
    - `columns`: the inputs that are accelerations until the displacements take their place.
    """

    q: Array
    v: Array
    others: Array
    columns: Array

    @classmethod
    def of(cls, model: Model, states: Array, inputs: SystemInputs) -> Places:
        """Return the places of inputs; `states` are entries of ``[dq; dv; dx]``."""
        entries, known = [*inputs.displaced], states.tolist()
        for k in entries:
            if k not in known:
                name = model.coordinate_names[k]
                advice = f"name it among independent=[{name!r}, ...]"
                raise ModelError(Finding("not-independent", "inputs", f"{name}.q", "an independent coordinate", advice))
        q, v = ([known.index(k + start) for k in entries] for start in (0, model.nv))
        others = np.setdiff1d(np.arange(len(known)), [*q, *v])
        return cls(np.array(q), np.array(v), others, np.array([*inputs.displaced.values()]))

    def turning(self, A: Array) -> Array:
        """Return N (n, m, m) of ``dr/dt = v - N r``, from the matrices (n, x, x) of equations."""
        if A[:, self.q][:, :, self.others].any():
            got, advice = "a part of a joint that turns with a body that spins", "name the whole joint"
            raise ModelError(Finding("not-separable", "inputs", got, "displacements of a whole joint", advice))
        return -A[:, self.q][:, :, self.q]


def displace(
    model: Model, matrices: Sequence[Array], states: Array, inputs: SystemInputs, outputs: Sequence[Signal]
) -> tuple[tuple[Array, Array, Array, Array], Array]:
    """Return A, B, C and D (n, ., .) with displacements in the place of accelerations, and the states that remain.

    Raises `ModelError` naming outputs that need the rates of a displacement, and displacements that are no coordinates of their
    own.
    """
    A, (B, C, D) = matrices[0], (np.broadcast_to(each, (len(matrices[0]), *each.shape[-2:])) for each in matrices[1:])
    if not inputs.displaced:
        return (A, B, C, D), states
    at = Places.of(model, states, inputs)
    N, o, c = at.turning(A), at.others, at.columns
    A_o, A_v, B_a = A[:, o][:, :, o], A[:, o][:, :, at.v], B[:, o][:, :, c]
    C_o, C_v, D_a = C[:, :, o], C[:, :, at.v], D[:, :, c]
    A_v = A_v + B_a @ N
    E = _sum((A_o, B_a), A_v)
    into, by_place, by_rate = A[:, o][:, :, at.q] + (A_v - B_a @ N) @ N, ((C_o, E), (C_v, N), C[:, :, at.q]), (C_o, B_a)
    B_r = _sum((A_o, E), into)
    _refuse_improper(model, inputs, outputs, D_a, _is_rate(A_o, (by_rate, (D_a, N), C_v), by_place, (C_o, B_r)))
    B, D = B[:, o].copy(), D.copy()
    B[:, :, c], D[:, :, c] = B_r, _sum(*by_place)
    return (A_o, B, C_o, D), states[o]


def _sum(*terms: Array | tuple[Array, Array]) -> Array:
    """Return the sum of matrices and of products of two, zero where nothing but rounding is left of the terms."""
    total = sum(each[0] @ each[1] if isinstance(each, tuple) else each for each in terms)
    return np.where(np.abs(total) > EXACT * _sizes(*terms), total, 0.0)


def _sizes(*terms: Array | tuple[Array, Array]) -> Any:
    """Return the sum of the sizes of these terms."""
    return sum(np.abs(each[0]) @ np.abs(each[1]) if isinstance(each, tuple) else np.abs(each) for each in terms)


def _is_rate(A: Array, by_rate: Sequence[Any], by_place: Sequence[Any], by_states: tuple[Array, Array]) -> Array:
    """Return where rates of displacements remain (n, outputs, m): by more than rounding of responses at the fastest pole."""
    rate = np.abs(np.linalg.eigvals(A)).max(axis=-1, initial=0.0)[:, None, None]
    per_rate = np.divide(1.0, rate, out=np.zeros_like(rate), where=rate > 0)
    sizes = _sizes(*by_rate) + (_sizes(*by_place) + _sizes(by_states) * per_rate) * per_rate
    return np.abs(_sum(*by_rate)) > SAME * sizes  # type: ignore[no-any-return]


def _refuse_improper(model: Model, inputs: SystemInputs, outputs: Sequence[Signal], D_a: Array, is_rate: Array) -> None:
    """Refuse outputs (n, outputs, m) in which the accelerations of displacements remain, or the rates."""
    scale = model.mechanism.scale.at_rate(1.0)
    units = [inputs.signals[column].unit for column in inputs.displaced.values()]
    sizes = np.array([scale.of_unit(signal.unit) for signal in outputs])[:, None] / [scale.of_unit(unit) for unit in units]
    for what, needed in (("acceleration", np.abs(D_a) > SAME * sizes), ("rate", is_rate)):
        if needed.any():
            _, row, column = np.argwhere(needed)[0].tolist()
            output, name = outputs[row].path, model.coordinate_names[[*inputs.displaced][column]]
            got, expected = f"{output} needs the {what} of {name}.q", "outputs that need no derivative of an input"
            raise ModelError(Finding("improper", "outputs", got, expected, f"take {name}.a as input, or leave {output} out"))
