"""The data of a flexible body, and the results from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, rigid_inertia
from titop.blocks.basics.user_input import FieldReader, read_array
from titop.blocks.bodies import modal_fields
from titop.blocks.bodies.modal_analysis import (
    DIRECTIONS,
    EffectiveMass,
    LostModes,
    ModalMatrices,
    NaturalModes,
    are_matrices_usable,
    coordinate_units,
    natural_modes,
    ratio_damping,
    residual_mass,
)
from titop.blocks.bodies.modal_fields import read_second_order
from titop.blocks.bodies.rigid_body import INERTIAL_FIELDS, port_fields
from titop.blocks.bodies.second_order import SecondOrder, rigid_inverse
from titop.blocks.contract.block import Block, ParameterFields, overrides
from titop.blocks.contract.description import CommonParameter, MassProperties, Picture, Share
from titop.blocks.contract.fields import (
    Field,
    Fixed,
    Kept,
    Read,
    optional,
    per_coordinate,
    refuse_change,
    scalar,
    symmetric,
    vector,
)

#: Units of participation, and of a port's displacement, a unit of a mode of unit mass.
_PARTICIPATION = ("sqrt(kg)",) * 3 + ("m sqrt(kg)",) * 3
_SHAPE = ("1/sqrt(kg)",) * 3 + ("rad/(m sqrt(kg))",) * 3
#: What of a body goes with the mass, as its inertia does, where all of it becomes heavier.
_HEAVY = ("mass", "inertia.")


def _per_mode(read: Callable[[FieldReader, Any, int], Array]) -> Read[Array]:
    """Return a reader of an array with one entry per mode."""
    return lambda body, field, value: read(body.reader, value, body.nv)


class ModalBody(Block):
    """The part of `FlexibleBody` that is data: its fields, its modes, its parameters; all but the law."""

    file_tables = ("bodies",)
    symmetric_fields = ("inertia",)
    mass = Field(scalar)
    com = Field(vector)
    inertia = Field(symmetric(3))
    coordinate_names = Fixed(optional(lambda body, field, value: tuple(str(entry) for entry in value)))
    participation = Field(_per_mode(modal_fields.read_participation))
    frequencies = Kept(optional(_per_mode(lambda reader, value, n: reader.numbers("frequencies", value, n))))
    modal_mass = Kept(optional(per_coordinate))
    modal_stiffness = Kept(optional(per_coordinate))
    modal_damping = Field(optional(per_coordinate))
    damping_ratios = Field(_per_mode(modal_fields.read_ratios))
    shapes = Field(lambda body, field, value: modal_fields.read_shapes(body.reader, value, body.port_poses, body.nv))
    geometric_stiffness = Fixed[dict[str, Array] | None]()
    position_moments = Fixed[Array | None]()
    displacement_moments = Fixed[Array | None]()
    recovery = Field(lambda body, field, value: modal_fields.read_recovery(body.reader, value, body.nv))
    #: What `FlexibleBody.truncate` removed; None of other bodies.
    lost: LostModes | None = None

    def __init__(
        self,
        name: str,
        mass: float,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = 0.0,
        frequencies: Any = None,
        participation: Any = None,
        ports: Mapping[str, Any] | None = None,
        shapes: Mapping[str, Any] | None = None,
        damping_ratios: Any = 0.0,
        *,
        modal_mass: Any = None,
        modal_stiffness: Any = None,
        modal_damping: Any = None,
        coordinate_names: Sequence[str] | None = None,
        geometric_stiffness: Mapping[str, Any] | None = None,
        position_moments: Any = None,
        displacement_moments: Any = None,
        recovery: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name)
        reader = self.reader
        self.mass, self.com, self.inertia = mass, com, inertia
        n = modal_fields.number_of_modes(reader, frequencies, modal_mass, modal_stiffness, participation)
        self.coordinate_names = coordinate_names
        self.coordinates = modal_fields.read_names(reader, self.coordinate_names, n)
        self.participation, self.frequencies = participation, frequencies
        self.modal_mass, self.modal_stiffness, self.modal_damping = modal_mass, modal_stiffness, modal_damping
        self.damping_ratios = damping_ratios
        self.port_poses: dict[str, Pose] = modal_fields.read_child_ports(reader, ports)
        self.shapes = shapes
        moments = position_moments, displacement_moments
        self.geometric_stiffness, self.position_moments, self.displacement_moments = read_second_order(
            reader, geometric_stiffness, *moments, n, self.port_poses
        )
        self.recovery = recovery
        self._update()

    def _update(self) -> None:
        n = self.nv
        if self.frequencies is not None:
            squares = self.frequencies**2
            own = np.eye(n), np.diag(squares), np.diag(2 * self.damping_ratios * self.frequencies)
        else:
            mass = np.eye(n) if self.modal_mass is None else self.modal_mass
            stiffness = np.zeros((n, n)) if self.modal_stiffness is None else self.modal_stiffness
            damping = np.zeros((n, n))
            if self.damping_ratios.any() and are_matrices_usable(mass, stiffness):
                damping = ratio_damping(mass, stiffness, self.damping_ratios)
            own = mass, stiffness, damping
        if self.modal_damping is not None:
            own = own[0], own[1], own[2] + self.modal_damping
        #: Mass, stiffness and damping (n x n) of the modal coordinates.
        self.matrices = ModalMatrices(*own)
        #: The rigid inertia D_P (6x6) of the undeformed body at P.
        self.rigid_inertia = rigid_inertia(self.mass, self.com, self.inertia)
        #: The inertia (6 + n square) of the undeformed body.
        self.undeformed = np.block([[self.rigid_inertia, self.participation.T], [self.participation, self.matrices.mass]])
        #: The second-order terms of the body, None if not known.
        self.second_order: SecondOrder | None = None
        position, displacement = self.position_moments, self.displacement_moments
        if self.geometric_stiffness is not None and position is not None and displacement is not None:
            given = self.geometric_stiffness, self.participation, position, displacement
            self.second_order = SecondOrder.of(*given, self.port_poses)
            #: The inverse (6x6) of the rigid inertia.
            self.rigid_inverse = rigid_inverse(self.rigid_inertia)

    @property
    def ports(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the child ports."""
        return tuple(self.port_poses)

    @ports.setter
    def ports(self, ports: Any) -> None:
        refuse_change(self, "ports", ports)

    # -- reports -------------------------------------------------------------------------------------------------------

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Units of the coordinates: m or rad of a port's displacement, ``m sqrt(kg)`` of mass-normalised modes."""
        return coordinate_units(self.shapes.values(), self.matrices.mass)

    @property
    def natural_frequencies(self) -> Array:
        """Natural frequencies (n, rad/s) of the body clamped at P, ascending."""
        return self.natural_modes.frequencies

    @property
    def natural_modes(self) -> NaturalModes:
        """Natural modes of the body clamped at P, by ascending frequency, each with the damping ratio given for it.

        Of a body given by frequencies they are its coordinates, sorted.
        """
        if self.frequencies is None:
            return NaturalModes(*natural_modes(self.matrices.mass, self.matrices.stiffness), self.damping_ratios)
        order = np.argsort(self.frequencies, kind="stable")
        return NaturalModes(self.frequencies[order], np.eye(self.nv)[:, order], self.damping_ratios[order])

    @property
    def natural_damping(self) -> Array:
        """Damping ratios (n) of the natural modes, in the order of `natural_frequencies`; modal damping is in them too."""
        modes = self.natural_modes
        powers = np.einsum("ik,ij,jk->k", modes.shapes, self.matrices.damping, modes.shapes)
        return np.divide(powers, 2 * modes.frequencies, out=np.zeros(self.nv), where=modes.frequencies > 0)

    @property
    def effective_mass(self) -> EffectiveMass:
        """Effective masses of the natural modes, absolute and as fractions of the rigid body's."""
        masses, total = (self.natural_modes.shapes.T @ self.participation) ** 2, np.diag(self.rigid_inertia)
        return EffectiveMass(masses, np.divide(masses, total, out=np.zeros_like(masses), where=total > 0))

    def recover(self, name: str, q: Any) -> Array:
        """Return what a recovery matrix gives (k; own units), such as the stresses of an element.

        It is that of the deformation alone, relative to P, by mode displacements: a static part of truncated modes is missing.

        Parameters
        ----------
        name : str
            Of the recovery matrix, one of `recovery`.
        q : array_like (..., n)
            The body's coordinates, one set or a stack of them.

        Raises
        ------
        ModelError
            If there is no such matrix, or the shape does not fit.
        """
        if not isinstance(name, str) or name not in self.recovery:
            advice = did_you_mean(name, self.recovery) if self.recovery else "give matrices by recovery={...}"
            raise ModelError(Finding("unknown-recovery", f"{self.name}.recovery", name, "one of its recovery matrices", advice))
        expected = f"{self.nv} coordinates of the body, or rows of them"
        wrong = Finding("wrong-shape", f"{self.name}.q", q, expected, "give those of this body alone")
        eta = read_array(wrong, lambda eta: eta.shape[-1:] == (self.nv,))
        result: Array = (eta[..., None, :] @ self.recovery[name].T)[..., 0, :]
        return result

    @property
    def residual_mass(self) -> Array:
        """The 6x6 residual mass ``D_P - L^T M_qq^-1 L`` (kg, kg m, kg m^2), rigid with P at frequencies above all modes."""
        return residual_mass(self.matrices.mass, self.participation, self.rigid_inertia)

    # -- members for others -------------------------------------------------------------------------------------------------

    @property
    def is_modal(self) -> bool:  # type: ignore[override]
        """Whether the body is in no fluid, and nothing of the law is redefined."""
        return self.fluid is None and not overrides(self)

    def mass_properties(self) -> MassProperties:
        """Return those of the undeformed body."""
        return MassProperties(self.mass, self.com, self.inertia)

    def picture(self, q: Array) -> Picture | None:
        """Return a line from P to the centre of mass of a body without ports."""
        if self.ports or not self.mass:
            return None
        return Picture.of_line(np.array([np.zeros(3), self.com + self.participation[:, :3].T @ q / self.mass]))

    @property
    def spin_limit(self) -> float | None:  # type: ignore[override]
        """The lowest natural frequency (rad/s) of a body without geometric stiffness."""
        return float(self.natural_frequencies[0]) if self.second_order is None else None

    def common_parameters(self) -> dict[str, CommonParameter]:
        """Return stiffness of modes, and the mass of all of the body.

        ``mode1.stiffness``, the square of the frequency, with the mode's damping coefficient as it is. ``mass_scale``, one as
        the body is: all of the body so many times as heavy, at the same frequencies and ratios; modes then move as much of the
        mass and of the ports a metre, so that those of unit mass participate with its root, and move ports by one over it.
        """
        if self.frequencies is None:
            return {}
        result = {}
        for k, (w, zeta) in enumerate(zip(self.frequencies.tolist(), self.damping_ratios.tolist(), strict=True)):
            shares = Share(f"mode{k + 1}.frequency", 1.0, 0.5), Share(f"mode{k + 1}.damping", zeta * w, -0.5)
            result[f"mode{k + 1}.stiffness"] = CommonParameter(w * w, "rad^2/s^2", shares)
        if self._has_shape_fields:
            numbers = {name: x for name, (x, _) in self.parameters().items()}
            heavy = [Share(name, x, 1.0) for name, x in numbers.items() if name.startswith(_HEAVY)]
            for name in _shape_fields(self.nv, self.ports):
                heavy.append(Share(name, numbers[name], 0.5 if ".participation." in name else -0.5))
            result["mass_scale"] = CommonParameter(1.0, "1", tuple(share for share in heavy if share.factor))
        return result

    def rescaled_coordinates(self) -> Mapping[str, Sequence[int]]:
        """Return that the mass of all of the body scales all amplitudes."""
        return {"mass_scale": range(self.nv)}

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameter_fields(self) -> ParameterFields:
        """Return mass, centre of mass, inertia, modes and ports.

        Of modes their damping ratios; where frequencies are given, these (``mode1.frequency``), the participation
        (``mode1.participation.z``) and what moves of ports (``tip.mode1.z``), but not of bodies known to second order, where
        these follow from moments and stiffness as well.
        """
        ports, by_frequency = self.ports, self.frequencies is not None
        return _modal_fields(self.nv, ports, by_frequency) | (_shape_fields(self.nv, ports) if self._has_shape_fields else {})

    @property
    def _has_shape_fields(self) -> bool:
        return self.frequencies is not None and self.geometric_stiffness is None


@cache
def _modal_fields(n: int, ports: tuple[str, ...], by_frequency: bool) -> ParameterFields:
    """Return inertial parameters, those of n modes alone, and poses of ports."""
    fields = dict(INERTIAL_FIELDS)
    for k in range(n):
        if by_frequency:
            fields[f"mode{k + 1}.frequency"] = ("frequencies", (k,), "rad/s")
        fields[f"mode{k + 1}.damping"] = ("damping_ratios", (k,), "1")
    return fields | port_fields(ports)


@cache
def _shape_fields(n: int, ports: tuple[str, ...]) -> ParameterFields:
    """Return participation of n modes of unit mass, and what they move of ports."""
    fields: ParameterFields = {}
    for k in range(n):
        for i, (direction, unit) in enumerate(zip(DIRECTIONS, _PARTICIPATION, strict=True)):
            fields[f"mode{k + 1}.participation.{direction}"] = ("participation", (k, i), unit)
    for port in ports:
        for k in range(n):
            for i, (direction, unit) in enumerate(zip(DIRECTIONS, _SHAPE, strict=True)):
                fields[f"{port}.mode{k + 1}.{direction}"] = ("shapes", (port, i, k), unit)
    return fields
