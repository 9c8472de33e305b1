"""Tables of modes: of a body clamped at its parent port, of a system about a point, of a linear model.

Bodies and systems at rest have normal modes, ``(K - omega^2 M) phi = 0``, with the damping that the modes see,
``phi^T D phi = 2 zeta omega``, and effective masses: with L the wrenches on the resting world by unit accelerations of the
coordinates, those of a mode are ``(phi^T L)^2``. Linear models have the eigenvalues and eigenvectors of A instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import page, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, NEGLIGIBLE, ROUNDING, SAME, TINY
from titop.blocks.contract.block import Block
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.plain_joints import Weld
from titop.graph.system import System
from titop.solvers.engines.reference.reference_engine import reference_passes
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.linearize import linearize
from titop.solvers.linear.state_space import is_state_space, refuse_not_finite
from titop.solvers.model.closures import reduction
from titop.solvers.model.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Directions of effective masses.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


class ModeRow(NamedTuple):
    """One mode: number from 1, frequency (Hz), damping ratio, direction, share of the mass there, dominant coordinate."""

    number: int
    frequency: float
    damping: float
    direction: str
    share: float
    dominant: str
    participation: float


@dataclass(frozen=True)
class Modes:
    """Modes, the slowest first.

    Attributes
    ----------
    frequency : (n,) array, Hz
        Natural frequencies; of a linear model, those of the poles' moduli, infinite for a delay of whole samples.
    damping : (n,) array
        Damping ratios; -1 for motions that diverge without oscillating, NaN for damped ones without frequency.
    names : tuple of str
        Coordinates, or the states of a linear model.
    participation : (n, len(names)) array
        Shares of the coordinates in a mode's kinetic energy, or of the states in a pole (by left and right eigenvectors):
        their sizes, the sum of which is one.
    effective_mass : (n, 6) array, kg and kg m^2
        In translations along and rotations about the axes of the world, or of the body at its parent port. NaN in motion, under
        loads that follow the body, and for linear models.
    total_mass : (6,) array, kg and kg m^2
        That of the whole in these directions: the sum over all modes, with what does not move against the world.
    shapes : (len(names), n) array
        Normal modes of unit modal mass, or eigenvectors.
    title : str
    point : OperatingPoint or None
        Where the normal modes are; None for eigenvectors.
    motions : (nv, n) array or None
        All coordinates in the normal modes, with those that follow by closures and gears.
    """

    frequency: Array
    damping: Array
    names: tuple[str, ...]
    participation: Array
    effective_mass: Array
    total_mass: Array
    shapes: Array
    title: str
    point: OperatingPoint | None = field(default=None, repr=False)
    motions: Array | None = field(default=None, repr=False)

    @property
    def rows(self) -> list[ModeRow]:
        """The table, a row for each mode; ``pandas.DataFrame(modes.rows)`` reads it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(self.total_mass > 0, self.effective_mass / self.total_mass, 0.0)
        result = []
        for k, (frequency, damping, parts) in enumerate(zip(self.frequency, self.damping, self.participation, strict=True)):
            moved, turned = (int(group.argmax()) for group in (shares[k, :3], shares[k, 3:]))
            at = moved if shares[k, moved] > COARSE else 3 + turned
            known, first = bool(shares[k, at] > NEGLIGIBLE), int(parts.argmax())
            direction, share = (DIRECTIONS[at], float(shares[k, at])) if known else ("", float("nan"))
            result.append(
                ModeRow(k + 1, float(frequency), float(damping), direction, share, self.names[first], float(parts[first]))
            )
        return result

    def _repr_html_(self) -> str:
        head = "mode", "Hz", "damping", "along", "mass", "dominant", "share"
        rows = ([*r[:4], f"{r.share:.1%}" if r.direction else "", r.dominant, f"{r.participation:.0%}"] for r in self.rows)
        return page(self.title, "", table("the slowest first", rows, head))

    def __str__(self) -> str:
        lines = [self.title, f"{'mode':>5}{'Hz':>12}{'damping':>10}  {'along':5}{'mass':>7}  dominant"]
        for row in self.rows:
            share = f"{row.share:7.1%}" if row.direction else f"{'':7}"
            numbers = f"{row.number:5}{row.frequency:12.5g}{row.damping:10.4f}"
            lines.append(f"{numbers}  {row.direction:5}{share}  {row.dominant} ({row.participation:.0%})")
        if np.isfinite(self.effective_mass).all():
            whole = np.where(self.total_mass > 0, self.total_mass, 1.0)
            sums = zip(DIRECTIONS, self.effective_mass.sum(axis=0) / whole, self.total_mass, strict=True)
            lines.append("all modes: " + ", ".join(f"{part:.1%} {name}" for name, part, mass in sums if mass > 0))
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Draw damping ratios over frequencies, and the sums of effective masses along the axes.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from titop.blocks.basics.figure import Figure

        has_mass = bool(np.isfinite(self.effective_mass).all())
        figure = Figure(figsize=(7, 6 if has_mass else 4), layout="constrained")
        axes = figure.subplots(1 + has_mass, 1, sharex=True, squeeze=False)[:, 0]
        shown = (self.frequency > 0) & np.isfinite(self.frequency)
        if shown.any():
            axes[0].vlines(self.frequency[shown], 0.0, self.damping[shown], linewidth=1)
            axes[0].plot(self.frequency[shown], self.damping[shown], "o", markersize=4)
            damped = self.damping[shown & (self.damping > 0)]
            if len(damped) and damped.min() < 10 * COARSE * damped.max():
                axes[0].set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(damped.min())))
        axes[0].set_xscale("log")
        axes[0].set_ylabel("damping ratio")
        axes[0].set_title(self.title, fontsize=10)
        if has_mass:
            for k in np.flatnonzero(self.total_mass[:3] > 0):
                sums = np.cumsum(self.effective_mass[:, k]) / self.total_mass[k]
                axes[1].step(
                    self.frequency[shown], sums[shown], where="post", label=DIRECTIONS[k], linestyle=("-", "--", ":")[k]
                )
            axes[1].set_ylabel("sum of effective masses / mass")
            axes[1].set_ylim(0, 1.05)
            axes[1].legend()
        axes[-1].set_xlabel("frequency [Hz]")
        for axis in axes:
            axis.grid(alpha=0.3, which="both")
        return figure


def modes(model_or_system: Any, point: Any = None) -> Modes:
    """Return the table of modes of a body, a system or a linear model.

    Parameters
    ----------
    model_or_system : Block, Model or control.StateSpace
        A body with coordinates of its own, clamped at its parent port, without gravity; a system; or a linear model, such as a
        closed loop.
    point : OperatingPoint, (q, v, tau), (q, v) or q, optional
        Of a body or a system; the neutral configuration by default.

    Returns
    -------
    Modes
        ``str`` of it is a table.

    Raises
    ------
    ModelError
        For anything else, and for bodies without coordinates.

    Notes
    -----
    The damping of normal modes is what each sees alone: right to first order where damping couples them. First-order
    states, as those of filters of actuators, are held. The poles of ``tt.modes(tt.linearize(model, point))`` are exact. So are
    those of systems in motion and under loads that follow a body, for which this is returned.

    Examples
    --------
    >>> import titop as tt
    >>> boom = tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=2e-4, modes=4, damping_ratio=0.01)
    >>> first = tt.modes(boom).rows[0]
    >>> first.direction, round(first.share, 3), round(first.damping, 3), first.dominant
    ('z', 0.613, 0.01, 'boom.C_z')
    """
    if is_state_space(model_or_system):
        refuse_not_finite("the model", model_or_system)
        if point is not None:
            raise ModelError(Finding("bad-value", "point", point, "none: a linear model has its point", "leave it out"))
        return _of_poles(model_or_system, f"modes of {model_or_system.name}")
    if isinstance(model_or_system, Block) and not isinstance(model_or_system, Joint):
        return _of_system(_clamped(model_or_system), point, f"modes of {model_or_system.name}, clamped at its parent port")
    if isinstance(model_or_system, Model):
        return _of_system(model_or_system, point, f"modes of {model_or_system.name}")
    expected, advice = "a body, a model or a control.StateSpace", "resolve a system first"
    raise ModelError(Finding("wrong-type", "model_or_system", model_or_system, expected, advice))


def _clamped(body: Block) -> Model:
    if not body.nv:
        expected, advice = "a body with coordinates of its own", "see FlexibleBody, Beam, Rod and SoftBody"
        raise ModelError(Finding("no-coordinates", "model_or_system", body.name, expected, advice))
    system = System(body.name, gravity=[0, 0, 0])
    system.connect("world", body, Weld(f"{body.name}_root"))
    return system.resolve()


def _of_system(model: Model, point: Any, title: str) -> Modes:
    at = read_point(model, model.neutral() if point is None else point)
    if at.v.any() or at.model.mechanism.engine.turning.any() or not at.model.mechanism.places.all():
        return _of_poles(linearize(at.model, at), title)
    held = reduction(at.model, at.q, at.v, np.zeros(model.nv, dtype=bool))
    n = len(held.rates)
    T = np.eye(model.nv) if held.basis is None else held.basis[: model.nv, :n]
    names = [at.model.coordinate_names[k] for k in held.states[:n]]
    linear = linearize(at.model, at, independent=None if held.basis is None else names)
    M = T.T @ at.model.mass_matrix(at.q) @ T
    K, D = (-M @ part for part in (linear.A[n : 2 * n, :n], linear.A[n : 2 * n, n : 2 * n]))
    if np.abs(K - K.T).max(initial=0.0) > SAME * np.abs(K).max(initial=0.0):
        return _of_poles(linear, title)
    L, rigid = _base_terms(at)
    normal = _normal(M, D, (K + K.T) / 2, T.T @ L, np.diag(rigid), names, title)
    return replace(normal, point=at.of(model), motions=T @ normal.shapes)


def _normal(M: Array, D: Array, K: Array, L: Array, total: Array, names: list[str], title: str) -> Modes:
    from scipy.linalg import eigh

    squares, shapes = eigh(K, M)
    squares[np.abs(squares) < ROUNDING * np.abs(squares).max(initial=0.0)] = 0.0
    omega, rates = np.sqrt(np.abs(squares)), np.einsum("ik,ij,jk->k", shapes, D, shapes)
    with np.errstate(divide="ignore", invalid="ignore"):
        undamped = np.abs(rates) <= ROUNDING * np.abs(rates).max(initial=0.0)
        damping = np.where(omega > 0, rates / (2 * omega), np.where(undamped, 0.0, np.nan))
    damping[squares < 0] = -1.0
    order = np.argsort(omega * np.sign(squares), kind="stable")
    energy = np.abs(shapes * (M @ shapes))
    energy /= energy.sum(axis=0)
    effective = (shapes.T @ L) ** 2
    parts = omega / (2 * np.pi), damping, energy.T, effective
    frequency, damping, participation, effective = (part[order] for part in parts)
    return Modes(frequency, damping, tuple(names), participation, effective, total, shapes[:, order], title)


def _of_poles(system: Any, title: str) -> Modes:
    from scipy.linalg import eig

    poles, left, right = eig(np.asarray(system.A), left=True)
    if period := float(system.dt or 0.0):
        with np.errstate(divide="ignore"):
            poles = np.log(poles.astype(complex))
        poles.real, poles.imag = poles.real / period, poles.imag / period
    first = np.flatnonzero(poles.imag >= 0)
    first = first[np.argsort(np.abs(poles[first]), kind="stable")]
    poles, parts = poles[first], np.abs(left[:, first] * right[:, first]).T
    parts /= parts.sum(axis=1, keepdims=True) + TINY
    with np.errstate(divide="ignore", invalid="ignore"):
        damping = np.where(poles == 0, 0.0, np.where(np.isneginf(poles.real), 1.0, -poles.real / np.abs(poles)))
    unknown, frequency = np.full((len(first), 6), np.nan), np.abs(poles) / (2 * np.pi)
    return Modes(frequency, damping, tuple(system.state_labels), parts, unknown, np.full(6, np.nan), right[:, first], title)


def _base_terms(at: OperatingPoint) -> tuple[Array, Array]:
    """Return the wrenches (nv, 6) on the world by unit accelerations, and the inertia (6, 6) of the whole about its origin."""
    passes = reference_passes(at.model.mechanism.assembly)
    zero, imposed = np.zeros(at.model.nv), np.ones(at.model.nv, dtype=bool)
    states = passes.resting_states(at.q, imposed)
    passes.inward_elimination(states, zero, zero, zero, imposed)
    L, rigid = np.zeros((at.model.nv, 6)), np.zeros((6, 6))
    for k, (node, state) in enumerate(zip(passes.nodes[1:], states[1:], strict=True), start=1):
        column, place = state.M_hat[:, 6:], k
        while place:
            column, place = states[place].B.T @ column[:6], passes.nodes[place].parent
        L[node.v] = column[:6].T
        if not node.parent:
            rigid += state.B.T @ state.M_hat[:6, :6] @ state.B
    return L, rigid
