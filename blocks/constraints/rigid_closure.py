"""Rigid loop closures, as by a joint: constraints with Lagrange multipliers.

Every constraint is one function that has to vanish, in one of these forms (symbols as in `titop.blocks.constraints.closure`)::

    c . r                 a distance along c, fixed in port 1
    c . r - p c . log R   what is left of it on a thread, the nearest one: less a multiple of its lead 2 pi p
    c . log R             a component of the rotation vector
    c . R n - offset      the cosine of an angle between c, fixed in port 1, and n, fixed in port 2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.basics.spatial import Array, cross, log_jacobian, log_jacobian_rate, rotation_log
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.closure import DISPLACEMENT, MultiplierClosure
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Field, Fixed, Kept, optional, scalar
from titop.blocks.contract.fields import axis as direction
from titop.blocks.joints.joint import unit_vector

#: Kinds of closures, named by the joint with the same freedom, with the names of their constraints: components of r (``x``,
#: ``offset``, ``lead``, ``distance``), then of log R (``rx``, ``rotation``), then cosines (``tilt``, ``twist``).
KINDS = {
    "weld": ("x", "y", "z", "rx", "ry", "rz"),
    "revolute": ("x", "y", "z", "tilt1", "tilt2"),
    "spherical": ("x", "y", "z"),
    "universal": ("x", "y", "z", "twist"),
    "prismatic": ("offset1", "offset2", "rx", "ry", "rz"),
    "cylindrical": ("offset1", "offset2", "tilt1", "tilt2"),
    "planar": ("distance", "tilt1", "tilt2"),
    "planar_weld": ("offset1", "offset2", "rotation"),
    "planar_revolute": ("offset1", "offset2"),
    "planar_prismatic": ("offset", "rotation"),
    "point_on_line": ("offset1", "offset2"),
    "point_on_plane": ("distance",),
    "screw": ("offset1", "offset2", "lead", "tilt1", "tilt2"),
}

#: Kinds with two axes.
_TWO_AXES = ("universal", "planar_prismatic")


@dataclass(frozen=True)
class ConstraintRows:
    """The constraints of a closure, one per row."""

    linear: Array  #: (k, 3): coefficients of r.
    rotation: Array  #: (k, 3): coefficients of log R.
    aligned1: Array  #: (k, 3): c of ``c . R n``.
    aligned2: Array  #: (k, 3): n of it.
    offset: Array  #: (k)
    period: Array  #: (k): of what the values are told but for multiples; zero for all others.


def _read_kind(closure: Block, field: str, kind: Any) -> str:
    name = str(kind)
    if name != "directions" and name not in KINDS:
        closure.reader.report("unknown-kind", field, kind, " or ".join(KINDS), did_you_mean(name, KINDS))
    return name


def _read_directions(closure: Block, field: str, directions: Any) -> Array:
    array = np.asarray(directions, dtype=object)
    columns = array.shape[1] if array.ndim == 2 else 1
    return closure.reader.array(field, directions, (6, columns), "give a 6 x k matrix")


class RigidClosure(MultiplierClosure):
    """A loop closed by Lagrange multipliers on chosen directions (key M, section 5.2).

    Parameters
    ----------
    name : str
        Unique name in the system.
    kind : {"weld", "revolute", "spherical", "universal", "prismatic", "cylindrical", "screw", "planar", ...}
        The joint with the same freedom. The two ports coincide when that joint's coordinates are zero.
        ``"planar_weld"``, ``"planar_revolute"`` and ``"planar_prismatic"`` are for loops whose bodies already move in parallel
        planes: they omit the constraints that follow from that. ``"point_on_line"`` and ``"point_on_plane"`` let the second
        port's origin move along the axis through the first port, or in the plane normal to it, and turn as it likes.
        ``"screw"`` holds over any number of turns: it closes to the thread nearest to the configuration.
    axis : array_like (3,)
        Axis of revolute, prismatic, cylindrical and screw closures, and line of a point; normal of planar ones, of a point's
        plane, planar welds and planar revolute ones; first axis of universal ones. In both ports' frames (for universal ones in
        the first's).
    axis2 : array_like (3,)
        Second axis of universal closures, in the second port's frame; normal of planar prismatic ones, in both ports'.
    directions : array_like (6, k), optional
        Instead of a kind: a basis of the constrained directions of the displacement ``(r, log R)``, in the first port's frame.
    redundant : bool
        Whether constraints are redundant by design: there is no warning then. Their reactions are those of least norm.
    pitch : float, m/rad
        Of a screw: the way along the axis by the angle about it, as of `Screw`.

    Notes
    -----
    The wrench on port i is ``E_i^T lambda`` with ``d error/dt = E1 V1 + E2 V2``: action equals reaction.
    """

    drawn_straight = True
    kind = Fixed(_read_kind)
    axis = Field(direction)
    axis2 = Field(direction)
    pitch = Field(scalar)
    directions = Kept(optional(_read_directions))
    #: Values (k) that the constraints keep instead of zero: where it was caught in a run; see `simulate`.
    caught: Array | None = None

    def __init__(
        self,
        name: str,
        kind: str = "weld",
        axis: Any = (0.0, 0.0, 1.0),
        axis2: Any = (0.0, 1.0, 0.0),
        directions: Any = None,
        redundant: bool = False,
        pitch: float = 0.0,
    ) -> None:
        super().__init__(name)
        self._found: tuple[Any, ConstraintRows] | None = None
        if directions is not None and str(kind) not in ("weld", "directions"):
            self.reader.report("kind-and-directions", "kind", kind, "either a kind or directions", "leave one of them out")
        elif directions is None and str(kind) == "directions":
            self.reader.report("unknown-kind", "kind", kind, " or ".join(KINDS), "give directions= as well, or another kind")
        self.kind = "directions" if directions is not None else kind
        self.axis, self.axis2, self.directions, self.redundant, self.pitch = axis, axis2, directions, redundant, pitch

    @property
    def constraint_names(self) -> tuple[str, ...]:
        if self.directions is not None:
            return tuple(f"direction{k + 1}" for k in range(self.directions.shape[1]))
        return KINDS[self.kind]

    @property
    def is_angular(self) -> Array:
        if self.directions is not None:
            return np.abs(self.directions[3:]).sum(axis=0) > np.abs(self.directions[:3]).sum(axis=0)
        return np.array([name[0] in "rt" for name in self.constraint_names])

    @property
    def rows(self) -> ConstraintRows:
        """The constraints as rows of coefficients."""
        numbers = (self.axis, self.axis2, self.directions, self.caught)
        key = self.kind, self.pitch, *(None if array is None else array.tobytes() for array in numbers)
        if self._found is None or self._found[0] != key:
            rows = self._find_rows()
            self._found = key, rows if self.caught is None else replace(rows, offset=rows.offset + self.caught)
        return self._found[1]

    def _find_rows(self) -> ConstraintRows:
        nothing = np.zeros(3)
        if self.directions is not None:
            columns = (self.directions / np.sqrt((self.directions**2).sum(axis=0))).T
            zeros = np.zeros((len(columns), 3))
            return ConstraintRows(columns[:, :3], columns[:, 3:], zeros, zeros, zeros[:, 0], zeros[:, 0])
        axis, names = unit_vector(self.axis), KINDS[self.kind]
        second = unit_vector(self.axis2) if self.kind in _TWO_AXES else axis
        one, two = perpendicular(axis)
        linear = dict(zip("xyz", np.eye(3), strict=True)) | {"offset1": one, "offset2": two, "lead": axis, "distance": axis}
        if "offset" in names:
            linear["offset"] = unit_vector(cross(second, axis))
        rotation = dict(zip(("rx", "ry", "rz"), np.eye(3), strict=True)) | {"rotation": second, "lead": -self.pitch * axis}
        aligned = {"tilt1": (one, axis, 0.0), "tilt2": (two, axis, 0.0), "twist": (axis, second, axis @ second)}
        alignments = zip(*(aligned.get(name, (nothing, nothing, 0.0)) for name in names), strict=True)
        parts = ([of.get(name, nothing) for name in names] for of in (linear, rotation))
        period = [2 * np.pi * self.pitch if name == "lead" else 0.0 for name in names]
        return ConstraintRows(*map(np.array, (*parts, *alignments, period)))

    @property
    def form(self) -> int:  # type: ignore[override]
        """Whether components of log R are constrained."""
        return int(bool(self.rows.rotation.any()))

    def coefficients(self, weights: Array) -> Array:
        rows = self.rows
        return np.column_stack(
            [rows.linear, rows.rotation, rows.aligned1, rows.aligned2, rows.offset, rows.period]
        ) * np.column_stack([weights] * 9 + [np.ones(len(weights))] * 3 + [weights] * 2)

    # -- the constraints at a relative pose and motion -------------------------------------------------------------------

    def error(self, R: Array, r: Array) -> Array:
        rows = self.rows
        aligned = (rows.aligned1 @ R * rows.aligned2).sum(axis=1)
        value: Array = rows.linear @ r + rows.rotation @ rotation_log(R) + aligned - rows.offset
        if not rows.period.any():
            return value
        return value - rows.period * np.rint(np.real(value) / np.where(rows.period == 0, 1.0, np.real(rows.period)))

    def gradients(self, R: Array, r: Array) -> tuple[Array, Array]:
        rows = self.rows
        aligned: Array = cross(rows.aligned2, rows.aligned1 @ R)
        return rows.linear, aligned + rows.rotation @ log_jacobian(rotation_log(R)) if self.form else aligned

    def curvature(self, R: Array, r: Array, r_rate: Array, w: Array) -> Array:
        rows, phi = self.rows, rotation_log(R)
        turn_rate = log_jacobian_rate(phi, log_jacobian(phi) @ w)
        curved: Array = rows.rotation @ turn_rate @ w + (rows.aligned1 @ R * cross(w, cross(w, rows.aligned2))).sum(axis=1)
        return curved

    def is_flipped(self, R: Array) -> bool:
        axis = unit_vector(self.axis)
        return "tilt1" in self.constraint_names and bool(np.real(axis @ R @ axis) < 0)

    # -- checks and parameters -------------------------------------------------------------------------------------------

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.directions is not None and np.isfinite(self.directions).all():
            self._check_directions(self.directions, errors, warnings)
        if self.pitch and self.kind != "screw":
            errors.append(Finding("unused-pitch", f"{self.name}.pitch", self.pitch, "a pitch of a screw", "take kind='screw'"))
        turns_twice = self.kind in _TWO_AXES and not errors
        if turns_twice and np.abs(cross(unit_vector(self.axis), unit_vector(self.axis2))).max() < SAME:
            where, advice = f"{self.name}.axis2", "turn one of the axes"
            errors.append(Finding("parallel-axes", where, self.axis2.tolist(), "a direction not parallel to axis", advice))
        return errors, warnings

    def _check_directions(self, directions: Array, errors: list[Finding], warnings: list[Finding]) -> None:
        where = f"{self.name}.directions"
        lengths = np.sqrt((directions**2).sum(axis=0))
        if not lengths.all():
            advice = "leave the column out"
            errors.append(Finding("zero-direction", where, int(lengths.argmin()), "columns that are not zero", advice))
            return
        basis = np.zeros((6, 0))
        for k, column in enumerate((directions / lengths).T):
            rest = column - basis @ (basis.T @ column)
            if np.linalg.norm(rest) < SAME and not self.redundant:
                advice = "leave it out; its reaction is shared with the others, by least norm"
                expected = "columns that are independent"
                warnings.append(Finding("redundant-directions", where, f"column {k + 1}", expected, advice))
            elif np.linalg.norm(rest) >= SAME:
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])

    def parameter_fields(self) -> ParameterFields:
        """Return those of the axes, or of the entries of the directions."""
        if self.directions is not None:
            columns = range(self.directions.shape[1])
            names = enumerate(DISPLACEMENT)
            return {f"directions.{name}.{k + 1}": ("directions", (i, k), "1") for i, name in names for k in columns}
        fields: tuple[str, ...] = ("axis",) if self.kind not in ("weld", "spherical") else ()
        fields += ("axis2",) if self.kind in _TWO_AXES else ()
        pitch: ParameterFields = {"pitch": ("pitch", (), "m/rad")} if self.kind == "screw" else {}
        return pitch | {f"{field}.{x}": (field, (k,), "1") for field in fields for k, x in enumerate("xyz")}


def perpendicular(axis: Array) -> Array:
    """Return two unit vectors (2 x 3) that are perpendicular to a unit vector and to each other."""
    least = np.eye(3)[int(np.argmin(np.abs(np.real(axis))))]
    first = unit_vector(cross(axis, least))
    return np.array([first, cross(axis, first)])
