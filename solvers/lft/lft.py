"""Linear fractional models of systems with uncertain parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.fractional import degrees, recentred
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.lft.members import Members
from titop.solvers.lft.rational import refuse_irrational
from titop.solvers.lft.structured_reduction import Fractional, reduced
from titop.solvers.lft.system_loop import SystemLoop
from titop.solvers.lft.uncertain import Uncertainty
from titop.solvers.linear.linearize import named_system
from titop.solvers.linear.omission import read_omitted
from titop.solvers.signals.exported import Signal as Named
from titop.solvers.signals.exported import state_signals

if TYPE_CHECKING:
    from control import StateSpace

#: An omitted state enters nothing where its column is below this part of the matrix.
_NOTHING = 1e-11


def lft(
    model: Any,
    point: Any,
    parameters: Mapping[Any, Any],
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    omit: Sequence[str] | str = (),
    hold: Sequence[str] | str = (),
    independent: Sequence[str] | None = None,
    quarters: Sequence[str] | str = (),
    reduce: bool = True,
    fits: Sequence[str] | str | Mapping[str, float] = (),
) -> LFTModel:
    """Return a linear model that is an exact function of uncertain parameters: ``M`` closed by ``Δ = diag(δ_i 1)``.

    Each block's law is taken as a product of factors in which its uncertain numbers stand as few times as possible; each of
    these places is a channel ``w = δ z``. All blocks form one linear loop, which is solved once. Then states and repetitions
    that no input reaches or no output shows are left out.

    Configuration and rates of the operating point stay as they are for all values of the parameters, and efforts are those
    that hold it there (so they are of gravity, of springs that are bent at the point). The model holds for constant parameters.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        What `trim` returns, or any state.
    parameters : mapping of name, or tuple of names, to range
        ``(90, 110)`` or ``tt.percent(15)``, around the nominal value, also off the middle. Names are those of
        ``m.parameters()``, angles and displacements of joints ``"sada.q"``, rates ``"wheel.v"``, and gains ``"motor.gain"`` of
        inputs and outputs (nominal 1); of flexible bodies by frequencies also ``"panel.mode1.stiffness"``, the square of the
        frequency at the same damping coefficient, and ``"panel.mass_scale"`` (nominal 1): so many times the mass, inertia and
        modal mass and stiffness, at the same frequencies, ratios and mode shapes. Several names in a tuple have one delta,
        known by the first: the same range for each, or the same percentage.
    inputs, outputs, omit, hold, independent
        As in `linearize`.
    quarters : sequence of str
        Angles that enter by the tangent of their quarter instead of their half: ranges up to 480 degrees instead of 240, for
        twice the repetitions.
    reduce : bool
        False keeps all states, with their names, and all repetitions.
    fits : sequence of str, or mapping of str to float
        Parameters in which laws of blocks need not be rational: they are fitted by polynomials of the lowest degree that meets
        the law's entries to a tolerance, 1e-4 of the largest of their row or column by default. What this does to the response
        is `LFTModel.error`.

    Returns
    -------
    LFTModel

    Notes
    -----
    Exact are masses, centres, inertias, stiffness, damping, armature; frequencies and ratios of modes, their participation and
    what they move of ports; positions of ports and placements; rotations about one axis of a frame (``"hub.A.rotation.z"``, the
    other components zero; ranges as of angles); gravity, forces, gears; section, density and length of an Euler-Bernoulli
    `Beam` that is straight at the point, without damping ratio (with one, its length alone). Whether a law is rational is
    judged 30 % to either side of the middle of a range, or farther.

    Of a beam's length there are 4 repetitions for each coordinate in bending that takes part, 4 for its rigid motion there, and
    a few where its tip carries something; of a ``mass_scale`` 6 or fewer, one more where something acts on the body's ports; of
    a participation 2, of a modal stiffness 1.

    To be fitted are rotations about other axes, axes of joints, sections of Timoshenko beams and of those with damping ratios.
    Refused are directions of actuators and sensors, and what moves ports of closures against each other.

    Raises
    ------
    ModelError
        For unknown names and unusable ranges; parameters that are not rational, or that nothing depends on; ranges in which a
        block refuses values, or masses lose their definiteness.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> swing = tt.lft(m, m.neutral(), {"bob.mass": tt.percent(10)}, inputs=["hinge"], outputs=["hinge.q"])
    >>> [(block.name, block.repetitions) for block in swing.blocks]
    [('bob.mass', 1)]
    >>> swing.at({"bob.mass": 1.9}).B.round(6).ravel().tolist()
    [0.0, 0.526316]
    """
    at = read_point(model, point)
    uncertainty = Uncertainty(at, parameters, (quarters,) if isinstance(quarters, str) else quarters, fits)
    refuse_irrational(at.model, uncertainty)
    _refuse_corners(at, uncertainty)
    system = SystemLoop(at, uncertainty, inputs, outputs, hold, independent)
    _warn_of_motion(at, system.a)
    names = [uncertain.name for uncertain in uncertainty.all]
    whole = system.fractional(names)
    signals = state_signals(at.model)
    whole, kept = _omitted(whole, system.states, read_omitted(at.model, omit), signals)
    small = reduced(whole) if reduce else whole
    # not before: products with what is off the middle turn zeros into rounding
    small = recentred(small, [*(uncertain.middle for uncertain in uncertainty.all), 0.0])
    states = [signals[k] for k in kept]
    if small.sizes[-1] < len(kept):
        states = [Named(f"x{k + 1}", "1") for k in range(small.sizes[-1])]
    _refuse_idle(names, small)
    found = degrees(small, len(names), np.random.default_rng(0))
    blocks = tuple(
        uncertain.block._replace(repetitions=size, columns=size, degree=degree)
        for uncertain, size, degree in zip(uncertainty.all, small.sizes, found, strict=False)
    )
    M = _named(small, blocks, states, system.inputs, system.outputs, at.model.name)
    members = Members(at, uncertainty, system.a, inputs, outputs, omit, hold, independent)
    uncertain = tuple(own._replace(block=block) for own, block in zip(uncertainty.all, blocks, strict=True))
    result = LFTModel(M, blocks, uncertain, members)
    if uncertainty.fits:
        return replace(result, error=result.check())
    if not system.is_exact:
        _refuse_inexact(result)
    return result


def _named(
    model: Fractional,
    blocks: Sequence[DeltaBlock],
    states: Sequence[Named],
    inputs: Sequence[Named],
    outputs: Sequence[Named],
    name: str,
) -> StateSpace:
    """Return the model, whose last delta is 1/s, as a named system with its channels first."""
    w = [Named(f"{block.name}.w[{k}]", "1") for block in blocks for k in range(block.repetitions)]
    z = [Named(f"{block.name}.z[{k}]", "1") for block in blocks for k in range(block.columns)]
    n = len(model.A) - model.sizes[-1]
    A, B = model.A[n:, n:], np.hstack([model.A[n:, :n], model.B[n:]])
    C = np.vstack([model.A[:n, n:], model.C[:, n:]])
    D = np.block([[model.A[:n, :n], model.B[:n]], [model.C[:, :n], model.D]])
    return named_system((A, B, C, D), states, [*w, *inputs], [*z, *outputs], name)


def _omitted(model: Fractional, states: Array, omitted: Array, signals: Sequence[Named]) -> tuple[Fractional, Array]:
    """Return the model without omitted states."""
    strange = np.setdiff1d(omitted, states)
    if strange.size:
        path = signals[strange[0]].path
        raise ModelError(Finding("no-state", "omit", path, "a state of the model", "it is held, or follows from others"))
    out = np.flatnonzero(np.isin(states, omitted)) + sum(model.sizes[:-1])
    kept = np.setdiff1d(np.arange(len(model.A)), out)
    columns = np.vstack([model.A[kept][:, out], model.C[:, out]])
    if columns.size and np.abs(columns).max() > _NOTHING * max(np.abs(model.A).max(), np.abs(model.C).max(initial=0.0)):
        worst = int(np.abs(columns).max(axis=0).argmax())
        path = signals[np.intersect1d(states, omitted)[worst]].path
        advice = "rates, outputs or uncertain terms depend on it: keep it"
        raise ModelError(Finding("not-omissible", "omit", path, "a coordinate on which nothing depends", advice))
    sizes = (*model.sizes[:-1], model.sizes[-1] - len(out))
    small = Fractional(model.A[np.ix_(kept, kept)], model.B[kept], model.C[:, kept], model.D, sizes)
    return small, states[~np.isin(states, omitted)]


def _warn_of_motion(point: OperatingPoint, a: Array) -> None:
    """Warn of a point that is no equilibrium."""
    if a.any():
        worst = int(np.abs(a).argmax())
        found = f"accelerated by {a[worst]:.3g}"
        advice = "find an equilibrium with tt.trim; members keep these accelerations, and hold for short times only"
        where = f"point: {point.model.coordinate_names[worst]}"
        warn([Finding("no-equilibrium", where, found, "no acceleration", advice)], stacklevel=4)


def _refuse_idle(names: Sequence[str], model: Fractional) -> None:
    """Refuse parameters on which nothing depends."""
    idle = [name for name, size in zip(names, model.sizes, strict=False) if not size]
    if idle:
        expected, advice = "a parameter on which the response depends", "leave it out, or choose other inputs and outputs"
        raise ModelError([Finding("idle-parameter", "parameters", name, expected, advice) for name in idle])


def _refuse_corners(point: OperatingPoint, uncertainty: Uncertainty) -> None:
    """Refuse ranges at whose ends a block refuses its values, block by block."""
    owners: dict[str, list[str]] = {}
    for uncertain in uncertainty.all:
        for member in uncertain.members:
            if member.path in uncertainty.known or member.shares:
                owned = owners.setdefault(owner_of(member.path), [])
                if uncertain.name not in owned:
                    owned.append(uncertain.name)
    for owner, names in owners.items():
        block = point.model.assembly.blocks.get(owner)
        if block is None:
            continue
        known = block.check()[0]
        for corner in itertools.product((-1.0, 1.0), repeat=len(names)):
            changed = uncertainty.of_model(uncertainty.changed(dict(zip(names, corner, strict=True))))
            own = {path: value for path, value in changed.items() if path.startswith(f"{owner}.") and ".placement." not in path}
            wrong = block.with_parameters({path.removeprefix(f"{owner}."): value for path, value in own.items()}).check()[0]
            if len(wrong) > len(known):
                shown = ", ".join(f"{path} = {value:.6g}" for path, value in own.items())
                expected, advice = "values that the block accepts", f"narrow the range: {wrong[0]}"
                raise ModelError(Finding("bad-range", "parameters", shown, expected, advice))


def _refuse_inexact(model: LFTModel) -> None:
    """Refuse models with outputs that depend on uncertain parameters in other ways than known."""
    error = model.check(2, corners=False)
    if error > 1e-8:
        advice = "outputs that are functions, angles or tendons' may depend on uncertain angles and positions: leave them out"
        raise ModelError(
            Finding("inexact-output", "outputs", f"an error of {error:.2g}", "outputs exact in the parameters", advice)
        )
