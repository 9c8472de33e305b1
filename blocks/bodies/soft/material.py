"""Materials of deformable bodies: energy and dissipation per volume, of the deformation gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


class Material:
    """A viscoelastic material, by its energy per volume at rest.

    Parameters
    ----------
    energy : callable
        ``energy(F, numbers)`` (J/m^3), written with array operations, of the deformation gradient F (3 x 3) and of `numbers`,
        which has the material's parameters as attributes.
    parameters : mapping of name to (value, unit)
    viscosity : float, Pa s
        Against rates of shear, as of a rod (Kelvin and Voigt): dissipates ``viscosity tr(E'^2)`` with the rate E' of Green's
        strain.
    incompressible : bool
        Whether the energy is without stress at rest only where kinematics keep volumes.
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        parameters: Mapping[str, tuple[float, str]] | None = None,
        viscosity: float = 0.0,
        incompressible: bool = False,
    ) -> None:
        self.energy, self.incompressible = energy, incompressible
        self.parameters = {**(parameters or {}), "viscosity": (viscosity, "Pa s")}

    @classmethod
    def neo_hookean(cls, young: float, poisson: float, viscosity: float = 0.0) -> Material:
        """Return a compressible material: ``mu/2 (tr B - 3 - 2 ln J) + lambda/2 (ln J)^2``, ``B = F F^T``, ``J = det F``."""
        return cls(_neo_hookean, _elastic(young, poisson), viscosity)


def _neo_hookean(F: Any, numbers: Any) -> Any:
    shear, bulk = _lame(numbers)
    volume = np.log(_determinant(F))
    return 0.5 * shear * (np.sum(F * F) - 3.0 - 2.0 * volume) + 0.5 * bulk * volume**2


def kelvin_voigt(F: Any, rate: Any, numbers: Any) -> Any:
    """Return half the power (W/m^3) that a viscous material takes at a rate (3 x 3) of F."""
    strain_rate = 0.5 * (F.T @ rate + rate.T @ F)
    return numbers.viscosity * np.sum(strain_rate * strain_rate)


def _elastic(young: float, poisson: float) -> dict[str, tuple[float, str]]:
    return {"young": (young, "Pa"), "poisson": (poisson, "1")}


def _lame(numbers: Any) -> tuple[Any, Any]:
    """Return Lame's constants mu and lambda (Pa)."""
    shear = 0.5 * numbers.young / (1.0 + numbers.poisson)
    return shear, 2.0 * shear * numbers.poisson / (1.0 - 2.0 * numbers.poisson)


def _determinant(F: Any) -> Any:
    return (
        F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
        - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
        + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
    )
