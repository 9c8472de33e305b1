"""Operating points: states about which a system is linearised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.notebook import page, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import RANK
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import check_quaternions, read_state, read_wrenches
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.constraints.assembling import refuse_open
from titop.solvers.equilibrium.displacements import FollowingEfforts, following_efforts, without_integrators
from titop.solvers.equilibrium.linear_validity import about_reference, steadiness_findings
from titop.solvers.model.closures import reduction
from titop.solvers.model.derivatives import raw_linear_matrices
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.parameters import changed_model
from titop.solvers.signals.exported import signals_of, state_signals
from titop.solvers.signals.quantities import Kind, of_all_coordinates


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """A state with its loads. `trim` returns equilibria; any other point may be made directly.

    What it says of accelerations, stability and linear models is said of the model without loads that only disturb, such as a
    wheel's jitter (`Model.undisturbed`).

    About a point with velocities, states are measured from the moving reference ``integrate(q, v t)``; with accelerations,
    from ``integrate(q, v t + a t^2 / 2)``, with rates as seen by whoever moves along. Then linear models are those of the
    system in a frame in which gravity, opposite to the acceleration, takes its place; outputs are those with the velocities v.

    Parameters
    ----------
    model : Model
        With the point's parameters.
    q : array_like (nq,), rad or m
    v, tau : array_like (nv,), optional
        Rates (rad/s or m/s) and efforts (N m or N); zero by default.
    u : array_like (nu,) or mapping of input name to number, optional
        Each in its own unit.
    wrenches : mapping of port name to (6,), N and N m, optional
        External wrenches in the ports' frames.
    parameters : mapping of name to number, optional
        Parameters changed to find the point, or given with it.
    unknowns : tuple of str
        The unknowns of the search.
    rank : int
        Number of unknowns that the equilibrium determines.
    free : tuple of str
        Unknowns that can change, alone or together, without leaving the equilibrium; they were kept close to the guess.
    overdetermined : tuple of str
        Coordinates whose equilibrium condition does not depend on the unknowns, or repeats other conditions.
    negative : int, optional
        Number of negative stiffnesses over the unknowns, which changes where branches cross. None if the stiffness is not
        square, or not all unknowns are determined.
    x : array_like (nx,) or mapping of state name to number, optional
        First-order states, each in its own unit; zero by default.
    a : array_like (nv,), optional
        Accelerations (rad/s^2 or m/s^2) at which the point is an equilibrium; zero by default.

    Notes
    -----
    Arguments of `deviation`: `q` and `v` a state, `system` a linear model whose states are wanted, `t` the time (s) since the
    moving reference was at the point.
    """

    model: Model
    q: Array
    v: Array = None  # type: ignore[assignment]
    tau: Array = None  # type: ignore[assignment]
    u: Array | None = None
    wrenches: Mapping[str, Array] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    unknowns: tuple[str, ...] = ()
    rank: int = 0
    free: tuple[str, ...] = ()
    overdetermined: tuple[str, ...] = ()
    negative: int | None = None
    x: Array = None  # type: ignore[assignment]
    a: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        model = self.model
        read_model(model)
        q = read_state("q", self.q, model.configuration_names)
        check_quaternions(q, model.mechanism.quaternions, model.configuration_names)
        values: dict[str, Any] = {"q": model.mechanism.unit_configuration(q)}
        for name in ("v", "tau", "a"):
            value = getattr(self, name)
            values[name] = np.zeros(model.nv) if value is None else read_state(name, value, model.coordinate_names)
        values["u"] = None if self.u is None else model.mechanism.inputs.read(self.u)
        values["x"] = np.zeros(0) if self.x is None and not model.nx else model.mechanism.inputs.read_states(self.x)
        if self.wrenches is not None:
            object.__setattr__(self, "wrenches", read_wrenches(self.wrenches, model.mechanism.ports))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def with_state(self, q: Array, v: Array, tau: Array, u: Array | None, x: Array, a: Array | None = None) -> OperatingPoint:
        """Return the point with another state, efforts and inputs, unchecked; for searches, which make many points."""
        kept = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return self.of_members(kept | {"q": q, "v": v, "tau": tau, "u": u, "x": x, "a": self.a if a is None else a})

    def with_findings(self, **findings: Any) -> OperatingPoint:
        """Return the point, with all data computed so far, and the `findings` of a search: `unknowns`, `rank` and so on."""
        return self.of_members(self.__dict__ | findings)

    @staticmethod
    def of_members(members: Mapping[str, Any]) -> OperatingPoint:
        """Return a point with these `members`, unchecked."""
        point = object.__new__(OperatingPoint)
        point.__dict__.update(members)
        return point

    def refuse_open(self, where: str = "point") -> None:
        """Reject a state that does not satisfy the loops' constraints; `where` is its name in the message.

        Raises
        ------
        ModelError
        """
        if self.model.is_constrained:
            cures = f"take {where} at m.assemble(q), or trim there", "take m.assemble_velocity(q, v)"
            refuse_open(self.model.mechanism, self.q, self.v, "open-point", (f"{where}.q", f"{where}.v"), cures)

    @property
    def undisturbed(self) -> OperatingPoint:
        """The point of the model without loads that only disturb (`Model.undisturbed`): what is balanced and linearised."""
        model = self.model.undisturbed
        return self if model is self.model else self.with_findings(model=model)

    def of(self, model: Model) -> OperatingPoint:
        """Return an undisturbed point, with its parameters, of the `model` from which it comes."""
        if not model.mechanism.disturbances:
            return self
        return self.with_findings(model=changed_model(model, self.parameters) if self.parameters else model)

    @property
    def driving(self) -> Array | None:
        """Inputs followed by first-order states (nu + nx, each in its own unit), for the model's functions.

        None if there are none.
        """
        return self.model.mechanism.inputs.with_states(self.u, self.x) if self.model.nx else self.u

    def values_by_name(self) -> dict[str, dict[str, float]]:
        """Return the numbers of ``q``, ``v``, ``a``, ``tau``, ``u``, ``x``, ``wrenches`` and ``parameters``, by name.

        Each in its own unit; zeros are left out, but for those of q. A wrench is six numbers, ``"hub.A.F[0]"`` to
        ``"hub.A.T[2]"``.
        """
        model = self.model
        names = model.configuration_names, *[model.coordinate_names] * 3
        names = *names, model.mechanism.inputs.names, model.mechanism.inputs.state_names
        arrays = self.q, self.v, self.a, self.tau, () if self.u is None else self.u, self.x
        result = {
            kind: {name: float(value) for name, value in zip(labels, array, strict=False) if value or kind == "q"}
            for kind, labels, array in zip(("q", "v", "a", "tau", "u", "x"), names, arrays, strict=True)
        }
        wrenches = {
            f"{port}.{part}[{k}]": float(wrench[3 * (part == "T") + k])
            for port, wrench in (self.wrenches or {}).items()
            for part in "FT"
            for k in range(3)
        }
        return {**result, "wrenches": wrenches, "parameters": {name: float(x) for name, x in self.parameters.items()}}

    @cached_property
    def residual(self) -> Array:
        """Accelerations (nv, rad/s^2 or m/s^2) beyond `a`: zero at an equilibrium, also at a moving one."""
        model = self.model.undisturbed
        return model.forward_dynamics(self.q, self.v, self.tau, self.wrenches or None, u=self.driving) - self.a

    def reference(self, t: float) -> tuple[Array, Array]:
        """Return configuration (nq) and rates (nv) of the moving reference, a time t (s) after the point."""
        return self.model.integrate(self.q, t * self.v + 0.5 * t**2 * self.a), self.v + t * self.a

    @cached_property
    def drift(self) -> Array:
        """Rates (nv, rad/s^3 or m/s^3) of the accelerations while the reference moves: zero at an equilibrium."""
        by_state = self._raw_matrices[1][self.model.nv :]
        return by_state @ np.concatenate([self.v, self.a])

    @cached_property
    def _raw_matrices(self) -> tuple[Array, Array, Array]:
        return raw_linear_matrices(self.model.undisturbed, self.q, self.v, self.tau, self.wrenches, self.driving)

    @cached_property
    def forward_derivatives(self) -> tuple[Array, Array, Array]:
        """Derivatives of the accelerations (three of (nv, nv)), by coordinates (tangent), rates and efforts.

        In 1/s^2, 1/s and 1/(kg m^2), with metres in the place of radians. First-order states follow, see `following`.
        """
        model = self.model.undisturbed
        derivatives = model.forward_dynamics_derivatives(self.q, self.v, self.tau, self.wrenches or None, u=self.driving)
        if self.following is None:
            return derivatives
        by_q, by_v, by_tau = derivatives
        return by_q + by_tau @ self.following.by_q, by_v + by_tau @ self.following.by_v, by_tau

    @cached_property
    def state_matrices(self) -> tuple[Array, Array, Array]:
        """Accelerations (nv) beyond `a`, and ``dx/dt`` by the state (2nv, 2nv) and by efforts (2nv, nv): read-only.

        In rad/s^2 or m/s^2, and these per unit of the state and of efforts. The state ``x = [dq; dv]`` is relative to the
        reference that moves with the point, first-order states held; in closed loops all coordinates.
        """
        a, A, B = self._raw_matrices
        return a - self.a, about_reference(self.model, A, self.a), B

    @cached_property
    def following(self) -> FollowingEfforts | None:
        """Derivatives (nv, nv; nv, nv; nv, nu) of efforts while first-order states follow the coordinates.

        By coordinates, rates and inputs, in N m or N per unit of each; see `titop.solvers.equilibrium.displacements`. None
        without first-order states.
        """
        return following_efforts(self.undisturbed) if self.model.nx else None

    @cached_property
    def eigenvalues(self) -> Array:
        """Eigenvalues (states, rad/s) of the linearisation, inputs held constant; the least damped first.

        At rest, first-order states that only integrate rates of coordinates, such as sticking bristles, contribute no
        eigenvalues.
        """
        values = np.linalg.eigvals(self._state_matrix)
        return values[np.lexsort((values.imag, -values.real))]

    @cached_property
    def _state_matrix(self) -> Array:
        self.refuse_open()
        model = self.model.undisturbed
        _, A, B = self.state_matrices
        reduced = reduction(model, self.q, self.v, np.zeros(model.nv, dtype=bool))
        mechanical = reduced.rows(reduced.columns(A))
        if not model.nx:
            return mechanical
        at = self.q, self.v, self.x, self.u
        rates = model.state_rates_derivatives(*at)
        by_x = reduced.rows(B @ model.state_efforts(*at))
        whole = np.block([[mechanical, by_x], [reduced.columns(np.hstack([rates.by_q, rates.by_v])), rates.by_x]])
        if self.v.any() or len(reduced.places) > len(reduced.rates):
            return whole
        return without_integrators(whole, len(reduced.rates), rates)

    @property
    def stability(self) -> str:
        """``"stable"``, ``"unstable"``, or ``"neutral"`` if eigenvalues on the imaginary axis leave the question open.

        A warning names motions along which the linear model changes.
        """
        warn(steadiness_findings(self.undisturbed))
        values, moved = self._bounded_eigenvalues
        if (values.real > moved).any():
            return "unstable"
        return "neutral" if (values.real > -moved).any() else "stable"

    @property
    def growing(self) -> Array:
        """Eigenvalues (k,; rad/s) that certainly grow: a pair for each oscillation, one for each other mode."""
        values, moved = self._bounded_eigenvalues
        return values[values.real > moved]

    @cached_property
    def _bounded_eigenvalues(self) -> tuple[Array, Array]:
        """Eigenvalues, and a bound of the error of each: the linearisation is known up to a part of its norm.

        Eigenvalues closer to the axis than their bound count as on it. Eigenvalues of drifting coordinates are defective
        zeros, whose error is the square root of the linearisation's.
        """
        from scipy import linalg

        if not len(self._state_matrix):
            return np.zeros(0, dtype=complex), np.zeros(0)
        with np.errstate(invalid="ignore"):  # scipy uses the scales as indices, and they may exceed integers
            balanced = linalg.matrix_balance(self._state_matrix)[0]
        values, left, right = linalg.eig(balanced, left=True, right=True)
        with np.errstate(divide="ignore", over="ignore"):  # the error of defective ones is unbounded
            return values, RANK * np.linalg.norm(balanced) / np.abs(np.einsum("ij,ij->j", left.conj(), right))

    @property
    def drifting(self) -> tuple[str, ...]:
        """Coordinates that move at a constant rate."""
        return tuple(name for name, rate in zip(self.model.coordinate_names, self.v, strict=True) if rate)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Exported names of the 2 nv + nx states of a linear model, in its order."""
        return tuple(signal.name for signal in state_signals(self.model))

    def deviation(self, q: Any, v: Any, system: Any = None, t: float = 0.0, x: Any = None) -> Array:
        """Return the state (2 nv + nx) of the linear model that corresponds to a state of the nonlinear one.

        Displacements in rad or m, their rates, and first-order states in their units.

        With `system`, a linear model made about this point, only its states, in its order. `q` and `v` are the nonlinear
        state, `x` its first-order states, `t` the time (s) since the moving reference was at the point.

        Raises
        ------
        ModelError
            If the system has states that this model lacks.
        """
        reference, moved = self.reference(float(t))
        displacements = self.model.difference(reference, q)
        rates = read_state("v", v, self.model.coordinate_names) - moved
        rates = rates - float(t) * self.model.mechanism.bracket(self.a) @ displacements
        states = self.model.mechanism.inputs.read_states(x) - self.x
        whole = np.concatenate([displacements, rates, states])
        if system is None:
            return whole
        names = self.state_names
        unknown = [label for label in system.state_labels if label not in names]
        if unknown:
            advice = did_you_mean(unknown[0], names)
            raise ModelError(Finding("unknown-state", "system", unknown[0], "a state of the model", advice))
        return whole[[names.index(label) for label in system.state_labels]]

    def _repr_html_(self) -> str:
        first, *lines = str(self).splitlines()
        return page(
            "operating point",
            first.removeprefix("operating point of "),
            table("values", (line.strip().split(" = ") for line in lines)),
        )

    def __str__(self) -> str:
        model = self.model
        lines = [f"operating point of {model.name!r}: {self.stability}, residual {np.abs(self.residual).max(initial=0.0):.1e}"]
        lines += [
            _line(*each)
            for each in zip(model.configuration_names, self.q, model.mechanism.assembly.configuration_units, strict=True)
        ]
        by_kind = (Kind.RATE, ".v", self.v), (Kind.ACCELERATION, ".a", self.a), (Kind.EFFORT, ".tau", self.tau)
        for kind, suffix, values in by_kind:
            signals = signals_of(model, of_all_coordinates(kind, model.coordinate_names, suffix))
            lines += [_line(signal.path, x, signal.unit) for signal, x in zip(signals, values, strict=True) if x]
        if self.u is not None:
            lines += [_line(*each) for each in zip(model.input_names, self.u, model.mechanism.inputs.units, strict=True)]
        lines += [_line(*each) for each in zip(model.state_names, self.x, model.mechanism.inputs.state_units, strict=True)]
        numbers = model.parameters() if self.parameters else {}
        lines += [_line(name, x, numbers[name][1]) for name, x in self.parameters.items()]
        for what, names in (("free", self.free), ("overdetermined", self.overdetermined)):
            lines += [f"  {what}: {', '.join(names)}"] if names else []
        return "\n".join(lines)


def _line(name: str, value: float, unit: str) -> str:
    return f"  {name} = {value:.6g}" + (f" {unit}" if unit != "1" else "")


def read_point(model: Any, point: Any) -> OperatingPoint:
    """Return an operating point from an `OperatingPoint`, ``(q, v)``, ``(q, v, tau)``, or a configuration at rest, undisturbed.

    Raises `ModelError` if it is none of these, belongs to a model with other coordinates, or leaves loops open.
    """
    read_model(model)
    read = _point_of(model, point)
    read.refuse_open()
    return read.undisturbed


def read_stacked_states(model: Any, states: Any) -> list[Array]:
    """Return stacked q, v and tau (n, ...) from ``(q, v, tau)``, ``(q, v)`` or q; nothing if these are no stacks.

    Raises `ModelError` for unusable ones, and unequal numbers of rows.
    """
    parts = states if isinstance(states, tuple | list) and len(states) in (2, 3) else (states,)
    if axes_of(parts[0]) != 2:
        return []
    rest = [np.zeros((len(parts[0]), read_model(model).nv))] * (3 - len(parts))
    return read_states(model.mechanism, dict(zip(("q", "v", "tau"), (*parts, *rest), strict=True)), stacked=True)


def _point_of(model: Any, point: Any) -> OperatingPoint:
    if isinstance(point, OperatingPoint):
        if point.model.coordinate_names != model.coordinate_names:
            other = f"a point of {point.model.name!r}"
            raise ModelError(Finding("other-model", "point", other, f"a point of {model.name!r}", "trim this model"))
        changed = changed_model(model, point.parameters) if point.parameters and point.model is not model else model
        if changed is point.model:
            return point
        of = point.q, point.v, point.tau, point.u, point.wrenches, point.parameters
        return OperatingPoint(changed, *of, x=point.x, a=point.a)
    if isinstance(point, tuple | list) and len(point) in (2, 3) and all(axes_of(part) == 1 for part in point):
        return OperatingPoint(model, *point)
    if getattr(point, "ndim", None) == 1 or axes_of(point) == 1:
        return OperatingPoint(model, point)
    advice = "pass what tt.trim returns"
    raise ModelError(Finding("wrong-type", "point", point, "a tt.OperatingPoint, (q, v), (q, v, tau) or q", advice))
