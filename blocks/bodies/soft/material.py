"""Materials of deformable bodies: energy and dissipation per volume, as functions of the deformation gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.soft_fields import read_numbers, with_numbers


class Material:
    """A viscoelastic material: its energy per volume at rest, or `linear`, `neo_hookean` or `incompressible_neo_hookean`.

    All its numbers are parameters of the body, as ``material.young``.

    Parameters
    ----------
    energy : callable
        ``energy(F)`` or ``energy(F, numbers)`` (J/m^3), written with array operations, of the deformation gradient F (3 x 3)
        and of `numbers`, which has the material's parameters as attributes.
    parameters : mapping of name to number or (number, unit), optional
        Parameters named young, poisson or stiffness must be valid values of these.
    viscosity : float, Pa s
        For rates of shear, as for a rod (Kelvin and Voigt): the dissipated power is ``2 viscosity tr(E'^2)`` (W/m^3) with the
        rate E' of Green's strain.
    incompressible : bool
        Whether the energy is stress-free at rest only for volume-preserving kinematics.

    Raises
    ------
    ModelError
        If the energy is no function, a parameter is no number, or the viscosity is negative.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> def energy(F, numbers):  # neo-Hookean, with a penalty for changes of volume
    ...     volume = tt.Material.determinant(F)
    ...     return 0.5 * numbers.shear * (np.sum(F * F) - 3.0 - 2.0 * np.log(volume)) + 0.5 * numbers.bulk * (volume - 1.0) ** 2
    >>> rubber = tt.Material(energy, {"shear": (1e5, "Pa"), "bulk": (1e7, "Pa")})
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        parameters: Mapping[str, Any] | None = None,
        viscosity: float = 0.0,
        incompressible: bool = False,
    ) -> None:
        reader = FieldReader("material")
        if not callable(energy):
            reader.report("wrong-type", "energy", energy, "a function of F", "write def energy(F, numbers): return ...")
        values, units = read_numbers(reader, parameters)
        if "viscosity" in values:
            advice = "rename the parameter, or give viscosity= beside it"
            reader.report("bad-name", "parameters", "viscosity", "a name other than viscosity", advice)
        fields = {f"parameters.{name}": value for name, value in values.items()}
        check_numbers(reader, fields | {"viscosity": reader.scalar("viscosity", viscosity)})
        reader.raise_findings()
        self.energy, self.incompressible = with_numbers(energy, 1), bool(incompressible)
        #: Numbers by name, with units.
        self.parameters = {name: (value, units[name]) for name, value in values.items()} | {"viscosity": (viscosity, "Pa s")}

    @classmethod
    def linear(cls, young: float, poisson: float, viscosity: float = 0.0) -> Material:
        """Return a material that is linear in Green's strain E: ``mu tr(E^2) + lambda/2 (tr E)^2``, with Lame's constants.

        Parameters
        ----------
        young : float, Pa
        poisson : float
            Between -1 and 0.5.
        viscosity : float, Pa s

        Raises
        ------
        ModelError
            If these are no valid numbers of a material.
        """
        return cls(_linear, _elastic(young, poisson), viscosity)

    @classmethod
    def neo_hookean(cls, young: float, poisson: float, viscosity: float = 0.0) -> Material:
        """Return a compressible material: ``mu/2 (tr B - 3 - 2 ln J) + lambda/2 (ln J)^2`` with ``B = F F^T``, ``J = det F``.

        Parameters
        ----------
        young, poisson, viscosity
            As for `linear`.
        """
        return cls(_neo_hookean, _elastic(young, poisson), viscosity)

    @classmethod
    def incompressible_neo_hookean(cls, stiffness: float, viscosity: float = 0.0) -> Material:
        """Return the material of key P: ``C (tr B - 3)`` with ``B = F F^T``, for volume-preserving kinematics.

        Parameters
        ----------
        stiffness : float, Pa
            C: half the shear modulus, a sixth of Young's.
        viscosity : float, Pa s
        """
        return cls(_incompressible, _check({"stiffness": (stiffness, "Pa")}), viscosity, incompressible=True)

    @staticmethod
    def determinant(F: Any) -> Any:
        """Return the determinant of a matrix (3 x 3) of numbers or symbols."""
        return (
            F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
            - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
            + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
        )


def kelvin_voigt(F: Any, rate: Any, numbers: Any) -> Any:
    """Return half the power (W/m^3) dissipated by a viscous material at a rate (3 x 3) of F."""
    strain_rate = 0.5 * (F.T @ rate + rate.T @ F)
    return numbers.viscosity * np.sum(strain_rate * strain_rate)


def _linear(F: Any, numbers: Any) -> Any:
    shear, bulk = _lame(numbers)
    strain = 0.5 * (F.T @ F - np.eye(3))
    return shear * np.sum(strain * strain) + 0.5 * bulk * np.trace(strain) ** 2


def _neo_hookean(F: Any, numbers: Any) -> Any:
    shear, bulk = _lame(numbers)
    volume = np.log(Material.determinant(F))
    return 0.5 * shear * (np.sum(F * F) - 3.0 - 2.0 * volume) + 0.5 * bulk * volume**2


def _incompressible(F: Any, numbers: Any) -> Any:
    return numbers.stiffness * (np.sum(F * F) - 3.0)


def _elastic(young: Any, poisson: Any) -> dict[str, tuple[float, str]]:
    return _check({"young": (young, "Pa"), "poisson": (poisson, "1")})


def _check(numbers: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    reader = FieldReader("material")
    check_numbers(reader, {name: reader.scalar(name, value) for name, (value, _) in numbers.items()})
    reader.raise_findings()
    return numbers


def _lame(numbers: Any) -> tuple[Any, Any]:
    """Return Lame's constants mu and lambda (Pa)."""
    shear = 0.5 * numbers.young / (1.0 + numbers.poisson)
    return shear, 2.0 * shear * numbers.poisson / (1.0 - 2.0 * numbers.poisson)


# -- valid numbers of materials ------------------------------------------------------------------------------------------


_SIGN = "check the sign and the unit"
#: By name: lower and upper bound, whether the lower one is allowed, the expected value, and advice.
_RANGES = {
    "young": (0.0, np.inf, False, "a value > 0 (Pa)", _SIGN),
    "stiffness": (0.0, np.inf, False, "a value > 0 (Pa)", _SIGN),
    "density": (0.0, np.inf, False, "a value > 0", _SIGN),
    "viscosity": (0.0, np.inf, True, "a value >= 0 (Pa s)", _SIGN),
    "poisson": (
        -1.0,
        0.5,
        False,
        "a ratio between -1 and 0.5",
        "take 0.49, or tt.Material.incompressible_neo_hookean for kinematics that keep the volume",
    ),
}


def check_numbers(reader: FieldReader, numbers: Mapping[str, Any]) -> None:
    """Report invalid numbers of materials, for the names with known ranges, by fields such as ``young`` or ``material.young``.

    They may be complex, or NaN if they were reported before.
    """
    for field, value in numbers.items():
        name = parts_of(field)[-1]
        lowest, highest, included, expected, advice = _RANGES.get(name, (-np.inf, np.inf, True, "", ""))
        number = np.real(value)
        if number < lowest or number >= highest or (number == lowest and not included):
            reader.report(f"bad-{name}", field, value, expected, advice)
