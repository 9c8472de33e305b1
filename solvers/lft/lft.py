"""Linear fractional models of systems with uncertain parameters; for wide ranges of angles several, one for each arc."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import read_count, real_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.lft import refusals
from titop.solvers.lft.delta_blocks import channel_signals
from titop.solvers.lft.fractions import Fractional, degrees, recentre, reduce_fraction
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.lft.members import Family
from titop.solvers.lft.moving_equilibria import Equilibria, How, MovingCoordinate, moving_ranges, with_moving
from titop.solvers.lft.other_values import accelerations_at, held_point, is_of_point, value_at
from titop.solvers.lft.system_loop import SystemLoop
from titop.solvers.lft.uncertainty import WIDEST_HALF, WIDEST_QUARTER, Uncertain, Uncertainty
from titop.solvers.linear.linear_equations import names_of
from titop.solvers.linear.path_series import noise_inputs, read_timings
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal as Named
from titop.solvers.signals.system_inputs import SystemInputs

#: Number of members that are checked if states are omitted.
_MEMBERS = 3


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
    equilibrium: Callable[..., OperatingPoint] | None = None,
    moving: How = "fitted",
    tolerance: float = 1e-2,
    progress: bool = True,
    noise: bool = False,
) -> LFTModel:
    """Return a linear model that is an exact function of uncertain parameters: ``M`` closed by ``Δ = diag(δ_i 1)``.

    Each block's law is written as a product of factors in which its uncertain numbers occur as few times as possible; each
    occurrence is a channel ``w = δ z``. All blocks form one linear loop, which is solved once. States and repetitions that no
    input reaches, or that no output observes, are then removed.

    By default configuration and rates of the operating point are the same for all values of the parameters, and the efforts
    are those that hold it there (so they depend on gravity and on springs that are deflected at the point). A point that
    accelerates, such as that of a rocket under thrust, keeps its accelerations for all values, by fictitious efforts.

    With `equilibrium`, the point is instead an equilibrium that depends on the parameters. Each of its quantities that changes
    and has an effect is a further delta. If fitted, it follows the parameters by a quotient of polynomials, with as few
    repetitions of these as were found to suffice: the model is then exact except for the fit's error, stated in ``.moving``.
    If independent, the deltas stay: their box contains more than the equilibria, so that what is proved for it is guaranteed,
    but conservative. Parameters that act through the equilibrium alone have no block then.

    The model holds for constant parameters; for parameters that change with time, see `lyapunov_stability`.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        The result of `trim`, or any state.
    parameters : mapping of name, or tuple of names, to range
        ``(90, 110)`` or ``tt.percent(15)``; the nominal value may be off the middle, or at an end. Names are those of
        ``m.parameters()``, angles and displacements of joints ``"sada.q"``, rates ``"wheel.v"``, thrusts at the point
        ``"jet.u"``, and gains ``"motor.gain"`` of inputs or outputs (nominal 1). A gain named like a signal is that of the
        signal alone; another name stands for the entries of a vector, or for all signals of an owner. Flexible bodies defined
        by frequencies also have ``"panel.mode1.stiffness"``, the square of the frequency at the same damping coefficient, and
        ``"panel.mass_scale"`` (nominal 1), a factor on mass, inertia, modal masses and stiffnesses, at the same
        frequencies, ratios and mode shapes. Several names in a tuple share one delta, named after the first: the same range
        for each, or the same percentage.
    inputs, outputs, omit, hold, independent
        As in `linearize`.
    quarters : sequence of str
        Angles that enter by the tangent of their quarter instead of their half: ranges up to 480 degrees instead of 240, with
        twice the repetitions.
    reduce : bool
        False keeps all states, with their names, and all repetitions.
    fits : sequence of str, or mapping of str to float
        Parameters in which laws of blocks may be non-rational: they are fitted by polynomials of the lowest degree that meets
        the law's entries to a tolerance, 1e-4 of the largest of their row or column by default. `LFTModel.error` is the
        effect on the response.
    equilibrium : callable, optional
        Maps a changed model to its `OperatingPoint`: ``lambda m: tt.trim(m, ...)``. At nominal values it must return `point`;
        all its points must have the accelerations of `point`, none for an equilibrium. If
        coordinates, rates or inputs are among the parameters, a second argument maps these names to values. It is called at
        corners, at points spread over the box, and at 30 random points that are not used for the fits.
    moving : {"fitted", "independent"}
        How the changing quantities depend on the parameters: coordinates ``"hinge.q"``, rates ``"shaft.v"`` and inputs
        ``"jet.u"``. Independent ranges are those found, extended by a tenth at each end.
    tolerance : float
        Largest error of fitted quantities at the random points, relative to the change of each. `LFTModel.error` is its
        effect on the response.
    progress : bool
        Show a progress bar on a terminal if equilibria take longer than a second.
    noise : bool
        As in `linearize`.

    Returns
    -------
    LFTModel

    Notes
    -----
    Exact parameters are masses, centres, inertias, stiffness, damping, armature; frequencies and ratios of modes, their
    participation and their displacement of ports; positions of ports and placements; rotations about one axis of a frame
    (``"hub.A.rotation.z"``, the other components zero; ranges as of angles); gravity, forces, gears; time constants,
    frequencies and damping of filters in paths of devices; section, density and length of an Euler-Bernoulli `Beam` that is
    straight at the point, without damping ratio (with one, its length alone). Whether a law is rational is checked 30 % to
    either side of the middle of a range, or farther.

    A beam's length takes 4 repetitions for each coordinate in bending that takes part, 4 for its rigid motion there, and
    a few if its tip carries something; a ``mass_scale`` 6 or fewer, one more if wrenches act on the body's ports;
    a participation 2, a modal stiffness 1.

    A fit is needed for rotations about other axes, axes of joints, sections of beams with damping ratios, and of Timoshenko
    beams unless these are so thin that polynomials of fourth degree meet their law to 1e-10 of its entries: these count as
    exact. Not possible are directions of actuators and sensors, and parameters that move ports of closures relative to each
    other.

    Raises
    ------
    ModelError
        For unknown names and unusable ranges; parameters with a non-rational dependence, or without any effect; ranges
        in which a block rejects values, or masses become indefinite; equilibria that move closures, attitudes or ports
        of bent bodies, or that no quotient of polynomials meets.
    ConvergenceError
        If the function finds no equilibrium, with the values.

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

    The static deflection of an arm on a spring grows with its mass:

    >>> s = tt.System("arm", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("arm", 2.0, com=[1, 0, 0]), joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=40.0))
    >>> m = s.resolve()
    >>> arm = tt.lft(m, tt.trim(m), {"arm.mass": (1.5, 2.5)}, ["hinge"], ["hinge.q"], equilibrium=tt.trim)
    >>> [(own.name, own.degree, f"{own.error:.0e}") for own in arm.moving]
    [('hinge.q', 1, '7e-05')]
    """
    at = read_point(model, point)
    if moving not in ("fitted", "independent"):
        raise ModelError(Finding("unknown-choice", "moving", moving, "'fitted' or 'independent'", "choose one of them"))
    uncertainty = Uncertainty(at, parameters, quarters, fits)
    refusals.refuse_irrational(at.model, uncertainty)
    refusals.refuse_corners(at, uncertainty)
    equilibria = None
    if equilibrium is not None:
        equilibria = Equilibria(at, uncertainty, equilibrium, progress)
        uncertainty = Uncertainty(at, {**parameters, **moving_ranges(equilibria, moving)}, quarters, fits)
    inputs = noise_inputs(at.model, inputs, outputs, noise) if noise else inputs
    signals = inputs, outputs, omit, hold, independent
    system = SystemLoop(at, uncertainty, *signals)
    refusals.warn_of_motion(at, system.a)
    refusals.refuse_rescaled(system.model, uncertainty, system.ends)
    family = Family(at, uncertainty, system.a, signals)
    small, states = system.fraction(reduce), system.left
    if system.ends.omitted.size:
        small, states = _omit(small, system, family)
    named = [system.ends.states[k] for k in states]
    small = reduce_fraction(small) if reduce else small
    # not earlier: products with values off the middle turn zeros into rounding
    small = recentre(small, [*(each.middle for each in uncertainty.all), 0.0])
    if system.frozen and not uncertainty.fits:
        refusals.refuse_inexact(_assemble(small, uncertainty.all, named, system, family).check(2, corners=False), system.frozen)
    uncertain: tuple[Uncertain, ...] = uncertainty.all
    follow: tuple[MovingCoordinate, ...] = ()
    if equilibria is not None:
        refusals.refuse_unbalanced(equilibria, system)
        small, uncertain, follow = with_moving(small, uncertain, equilibria, moving, tolerance)
        if moving == "fitted":
            small, family = reduce_fraction(small) if reduce else small, family._replace(equilibria=equilibria)
    refusals.refuse_idle([each.name for each in uncertain], small)
    result = _assemble(small, uncertain, named, system, family, follow)
    refusals.refuse_ill_posed(small, result.blocks)
    if uncertainty.fits or (follow and moving == "fitted"):
        result = replace(result, error=result.check())
        refusals.warn_of_error(result.error)
    return result


def _assemble(
    model: Fractional,
    uncertain: Sequence[Uncertain],
    states: Sequence[Named],
    system: SystemLoop,
    family: Family,
    moving: tuple[MovingCoordinate, ...] = (),
) -> LFTModel:
    least = degrees(model, len(uncertain), np.random.default_rng(0))
    counted = tuple(
        each._replace(block=each.block._replace(repetitions=size, columns=size, degree=degree))
        for each, size, degree in zip(uncertain, model.sizes, least, strict=False)
    )
    blocks = tuple(each.block for each in counted)
    if model.sizes[-1] < len(states):
        states = [Named(f"x{k + 1}", "1") for k in range(model.sizes[-1])]
    w, z = channel_signals(blocks)
    n = len(model.A) - model.sizes[-1]
    A, B = model.A[n:, n:], np.hstack([model.A[n:, :n], model.B[n:]])
    C = np.vstack([model.A[:n, n:], model.C[:, n:]])
    D = np.block([[model.A[:n, :n], model.B[:n]], [model.C[:, :n], model.D]])
    ends, at = system.ends, system.point.model
    matrices, named = ends.with_paths(at, (A, B, C, D), states, len(w))
    M = named_system(matrices, named, [*w, *ends.inputs.signals], [*z, *ends.output_signals], at.name)
    signals = [*ends.inputs.signals, *ends.output_signals]
    return LFTModel(M, blocks, counted, family, moving=moving, paths=read_timings(at, signals) if ends.has_paths else ())


def _omit(model: Fractional, system: SystemLoop, family: Family) -> tuple[Fractional, Array]:
    """Return the model without omitted states, and the remaining states.

    Raises `ModelError` as `linearize` of random members, if something depends on a state to omit.
    """
    if system.model.is_constrained:
        independent = names_of(system.model, system.states, system.ends.inputs)
        family = family._replace(signals=(*family.signals[:-1], independent))
    for deltas in np.random.default_rng(0).uniform(-1.0, 1.0, (_MEMBERS, len(family.uncertainty.all))).tolist():
        names = (uncertain.name for uncertain in family.uncertainty.all)
        family.member(family.uncertainty.values_at(dict(zip(names, deltas, strict=True))))
    left = ~np.isin(system.left, system.ends.omitted)
    kept = np.concatenate([np.full(sum(model.sizes[:-1]), True), left])
    sizes = *model.sizes[:-1], int(left.sum())
    return Fractional(model.A[np.ix_(kept, kept)], model.B[kept], model.C[:, kept], model.D, sizes), system.left[left]


# -- arcs -------------------------------------------------------------------------------------------------------------------


def lft_arcs(
    model: Any,
    point: Any,
    parameters: Mapping[Any, Any],
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    arcs: Mapping[str, int] | None = None,
    **options: Any,
) -> tuple[LFTModel, ...]:
    """Return linear fractional models that together cover wide ranges of angles, one model for each arc.

    The nominal angle of an arc is that of the point if it lies inside, else the arc's middle. The operating point there is the
    given one with this angle, held by efforts; with a function `equilibrium` it is its result.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
    parameters : mapping of name, or tuple of names, to range
        As in `lft`; angles may have ranges of any width.
    inputs, outputs
        As in `linearize`.
    arcs : mapping of name to int, optional
        Number of arcs of equal width for the range of an angle. By default as few as `lft` accepts: of 240 degrees at
        most, for angles among `quarters` 480. Narrow arcs keep tangents, and so the numbers of the model, small.
    **options
        `quarters`, `equilibrium` and all others of `lft`.

    Returns
    -------
    tuple of LFTModel
        The arcs are `lower` and `upper` of their blocks. With several angles all combinations, the last varying fastest.

    Raises
    ------
    ModelError
        For unknown angles and unusable numbers of arcs, and as `lft`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> turn = {"hinge.q": (-3.2, 3.2)}
    >>> parts = tt.lft_arcs(s.resolve(), [0.0], turn, ["hinge"], ["hinge.q"], arcs={"hinge.q": 3})
    >>> [(round(part.blocks[0].lower, 3), round(part.blocks[0].upper, 3)) for part in parts]
    [(-3.2, -1.067), (-1.067, 1.067), (1.067, 3.2)]
    """
    at, all_bounds = read_point(model, point), read_mapping("parameters", parameters)
    cuts = _cuts(at, all_bounds, options.get("quarters", ()), arcs)
    a = accelerations_at(at, SystemInputs(at.model, inputs, options.get("hold", ())))
    models = []
    for chosen in itertools.product(*cuts.values()):
        ranges = dict(zip(cuts, chosen, strict=True))
        angles = {name: arc.nominal for key, arc in ranges.items() for name in _names(key)}
        bounds = {key: (ranges[key].lower, ranges[key].upper) if key in ranges else value for key, value in all_bounds.items()}
        there = _point_at(at, all_bounds, angles, options.get("equilibrium"), a)
        models.append(lft(model, there, bounds, inputs, outputs, **options))
    return tuple(models)


class Arc(NamedTuple):
    """A part of the range of an angle (rad), with its nominal angle."""

    lower: float
    upper: float
    nominal: float


def _names(key: Any) -> tuple[str, ...]:
    return key if isinstance(key, tuple) else (key,)


def _cuts(point: OperatingPoint, all_bounds: Mapping[Any, Any], quarters: Any, arcs: Any) -> dict[Any, list[Arc]]:
    """Return the arcs of each angle whose range is divided."""
    counts = None if arcs is None else dict(read_mapping("arcs", arcs))
    wide = set(_names(quarters)) if isinstance(quarters, str) else set(quarters)
    found = {}
    for key, bounds in all_bounds.items():
        names, numbers = _names(key), real_array(bounds)
        if numbers is None or numbers.shape != (2,) or not all(_is_angle(point, name) for name in names):
            continue
        width = float(numbers[1] - numbers[0])
        if counts is None:
            count = math.ceil(width / (WIDEST_QUARTER if wide & set(names) else WIDEST_HALF) * (1 - SAME))
        else:
            count = _count(next((counts.pop(name) for name in names if name in counts), 1))
        if count > 1:
            found[key] = _arcs(float(numbers[0]), float(numbers[1]), count, value_at(point, names[0]))
    for name in counts or ():
        expected, advice = "an angle among the parameters, its range as (lower, upper)", "see tt.lft"
        raise ModelError(Finding("unknown-angle", "arcs", name, expected, advice))
    return found


def _arcs(lower: float, upper: float, count: int, nominal: float) -> list[Arc]:
    edges = np.linspace(lower, upper, count + 1).tolist()
    inside = SAME * (upper - lower)
    return [Arc(a, b, nominal if a + inside < nominal < b - inside else (a + b) / 2) for a, b in itertools.pairwise(edges)]


def _count(number: Any) -> int:
    return read_count(Finding("bad-count", "arcs", number, "a whole number, one at least", "two for a full turn, or more"), 1)


def _is_angle(point: OperatingPoint, name: Any) -> bool:
    model, (stem, end) = point.model, split_end(name) if isinstance(name, str) else ("", "")
    if end != "q" or stem not in model.coordinate_names:
        return False
    return model.mechanism.assembly.coordinate_units[model.coordinate_names.index(stem)] == "rad"


def _point_at(
    point: OperatingPoint, bounds: Mapping[Any, Any], angles: Mapping[str, float], equilibrium: Any, a: Array
) -> OperatingPoint:
    """Return the point with other angles, held there, or as the function `equilibrium` returns it."""
    model = point.model
    if not angles:
        return point
    if equilibrium is not None:
        paths = [name for key in bounds for name in _names(key) if is_of_point(model, name)]
        return equilibrium(model, {path: value_at(point, path) for path in paths} | dict(angles))
    return held_point(point, model, angles, a)
