"""Uncertain rotations: exact about one axis of a frame, else fitted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, rotation_log
from titop.solvers.lft.fractions.interpolation import Irrational, interpolated
from titop.solvers.lft.fractions.steps import PolynomialRotate, Rotate, Step, Turn
from titop.solvers.lft.laws.changed_blocks import not_rational
from titop.solvers.lft.uncertainty.uncertain import Uncertainty, rotation_names


def rotation_steps(path: str, rotation: Array, uncertainty: Uncertainty, inverse: bool = False) -> tuple[Step, ...]:
    """Return the steps of a rotation (3, 3) that is a parameter, its vector's components uncertain or not.

    Raises
    ------
    ModelError
        For rotations about more than one axis, or about a direction that changes, which are not to be fitted.
    """
    names = rotation_names(path)
    uncertain = [name for name in names if uncertainty.at(name)]
    if not uncertain:
        return (Rotate(rotation.T if inverse else rotation),)
    found, member = uncertainty.at(uncertain[0])  # type: ignore[misc]
    if len(uncertain) == 1 and found.block.part:
        axis = np.eye(3)[names.index(uncertain[0])] * (-1.0 if inverse else 1.0)
        return Rotate(rotation_exp(member.middle * axis)), *(Turn(axis, found.name, member.half),) * (found.block.part // 2)
    vector = rotation_log(rotation)

    def matrix(values: Mapping[str, float]) -> Array:
        changed = uncertainty.changed(values)
        turned = rotation_exp(np.array([changed.get(name, x) for name, x in zip(names, vector, strict=True)]))
        return turned.T if inverse else turned

    deltas = [*dict.fromkeys(uncertainty.at(name)[0].name for name in uncertain)]  # type: ignore[index]
    whole = interpolated(matrix, deltas, fits=uncertainty.fits)
    if isinstance(whole, Irrational):
        name = next(name for name in uncertain if uncertainty.at(name)[0].name == whole.delta)  # type: ignore[index]
        raise ModelError(not_rational(name, whole.misfit, whole.delta in uncertainty.fits))
    return (PolynomialRotate(whole),)
