"""Gain-scheduled controllers of families: `lpvsyn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import attributes_page, counted
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE, SAME
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.robust.lyapunov_functions import ends_of_rates, monomials
from titop.solvers.robust.lyapunov_tests import check_numbers, read_rates
from titop.solvers.robust.varying_members import Members
from titop.solvers.signals.exported import numbers_by_name
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.workers import one_thread
from titop.solvers.synthesis.general_plant import GeneralPlant
from titop.solvers.synthesis.riccati import Parts
from titop.solvers.synthesis.scheduled_controllers import controller_at
from titop.solvers.synthesis.scheduled_plants import ScheduledPlant, read_scheduled
from titop.solvers.synthesis.scheduled_search import LevelPoints, ScheduledLevel, ScheduledSearch

if TYPE_CHECKING:
    from control import StateSpace

#: Perturbations that are tried where controls are in no error, or measurements have no noise, the largest first.
_PERTURBATIONS = (10 * COARSE, COARSE, NEGLIGIBLE, CLOSE)


class ScheduledFormula(NamedTuple):
    """What computes a controller: the plant, and X and Y as they were found in their search."""

    plant: ScheduledPlant
    exponents: Array
    search: ScheduledSearch
    found: ScheduledLevel


@dataclass(frozen=True)
class LPVController:
    """A controller ``u = K(rho) y`` that follows the parameters of a family; the `family` of a `ScheduledController`.

    Its states estimate the plant's, with the same meaning at all parameters. ``-K`` takes the error, ``reference - y``, as
    controllers in simulations do.

    Attributes
    ----------
    parameters : tuple of str
    needs_rates : bool
        Whether it takes the parameters' rates too: give `ScheduledController` time constants ``rates=``.
    formula : ScheduledFormula
        What computes its matrices.
    sign : float
        -1 where it takes the error.
    """

    parameters: tuple[str, ...]
    needs_rates: bool
    formula: ScheduledFormula
    sign: float = 1.0

    def __neg__(self) -> LPVController:
        return replace(self, sign=-self.sign)

    def at(self, rho: Mapping[str, float], rates: Mapping[str, float] | None = None) -> StateSpace:
        """Return the controller at some parameters.

        Parameters
        ----------
        rho : mapping of name to float
            All parameters, in their units.
        rates : mapping of name to float, optional
            In units per second, of a controller that needs them; others are zero.

        Returns
        -------
        control.StateSpace
            In continuous time.

        Raises
        ------
        ModelError
            For unknown or missing parameters, and values outside the family.
        """
        K = self._member(rho, rates)[1]
        return K if self.sign > 0 else -K

    def _member(self, rho: Mapping[str, float], rates: Mapping[str, float] | None = None) -> tuple[GeneralPlant, StateSpace]:
        values = numbers_by_name("rho", read_mapping("rho", rho), self.parameters, whole=True)
        moving = dict.fromkeys(self.parameters, 0.0)
        if self.needs_rates:
            moving |= numbers_by_name("rates", read_mapping("rates", rates or {}), self.parameters)
        family, exponents, search, found = self.formula
        plant = family.at(values)
        s, slopes = family.family.place(values)
        motion = np.array([[moving[name] for name in self.parameters]]) / family.units.rate
        members = Members(s[None], slopes[None], np.zeros((1, 0, 0)))
        points = LevelPoints.of([family.parts(plant)], members, exponents, motion)
        functions = replace(search, points=points).functions(0, 0, found.X, found.Y)
        K = family.controller(plant, controller_at(points.parts[0], functions, found.level))
        return plant, plant.name_controller(K)


@dataclass(frozen=True)
class LPVSynthesis:
    """A scheduled controller and what is proved of its loop; unpacks as ``controller, loop, gain``.

    Attributes
    ----------
    controller : LPVController
    loop : LPVModel
        From the disturbances to the errors at the family's points, the parameters resting; the plant's states first.
    gain : float
        The energy of the errors is at most ``gain**2`` times that of the disturbances, from rest, however the parameters move
        within their rates. In output units over input units.
    proof : bool
        Whether this holds for all members between the points, as the family interpolates them; else at `points` alone.
    optimum : float
        The least gain for which functions of this form exist at the points; the controller steps back from it by a hundredth.
    rates : dict
        Bounds of the rates (units per second); other parameters may change arbitrarily fast.
    points : dict of name to array (k,)
        Where the gain was tested: at the points of the family, and between them.
    """

    controller: LPVController
    loop: LPVModel
    gain: float
    proof: bool
    optimum: float
    rates: dict[str, float]
    points: dict[str, Array]

    def __iter__(self) -> Any:
        return iter((self.controller, self.loop, self.gain))

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        count = len(next(iter(self.points.values())))
        how = "proved between the points too" if self.proof else f"tested at {count} points, not proved between them"
        return f"{counted(len(self.loop.states) // 2, 'state')}, gain {self.gain:.6g}, optimum {self.optimum:.6g}; {how}"


@one_thread()
def lpvsyn(
    family: Any,
    measurements: str | Sequence[str] | int,
    controls: str | Sequence[str] | int,
    rates: Mapping[str, float] | None = None,
    *,
    weighted: Callable[[StateSpace], StateSpace] | None = None,
    degree: int = 1,
    points: int = 3,
    rate_feedback: bool = False,
    progress: bool = True,
) -> LPVSynthesis:
    """Return a gain-scheduled controller ``u = K(rho) y`` with the least induced L2 gain, but for a hundredth.

    Without `rates` parameters may change arbitrarily fast: two constant matrices prove the gain (Apkarian and Gahinet 1995).
    With rates these are polynomials of the parameters (Wu, Yang, Packard and Becker 1996), for which the gain is lower, or a
    controller exists at all. They are found by matrix inequalities at the points of the family; the loop is then tested there
    and at members between, which are added where it fails.

    Parameters
    ----------
    family : LPVModel or LFTModel
        Of real parameters, in continuous time. A linear fractional model is sampled on a grid.
    measurements, controls : str or sequence of str, or int
        As of `hinfsyn`: all other outputs are errors, all other inputs disturbances.
    rates : mapping of name to float
        Largest rate of a parameter, in its unit per second; 0 for a constant one. Omitted parameters may change arbitrarily
        fast.
    weighted : callable ``f(member) -> control.StateSpace``, optional
        Adds weights, disturbances and errors to a member; all results have the same states and signals.
    degree : int
        Of the polynomials, in the parameters that have rates.
    points : int
        Values of each parameter on the grid of a linear fractional model.
    rate_feedback : bool
        Let the controller use measured rates, so that both matrices may depend on the parameters. Otherwise one of them does:
        both ways are tried (Apkarian and Adams 1998).
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    LPVSynthesis

    Raises
    ------
    ModelError
        For unusable arguments; members that no controller can stabilize, with the point and the mode; members of different
        states; if no function of this form exists; and if the solver is missing (``pip install "titop[robust]"``).

    See Also
    --------
    hinfsyn : for one plant.
    lyapunov_stability : of the loop that results, by another function: ``tt.lyapunov_stability(found.loop, rates)``.

    Notes
    -----
    Members are linear models about points with constant parameters: other effects of a changing parameter are neglected, as in
    `lyapunov_stability`. Cost: with 20 states four seconds for constant matrices, twenty with rates, for each round of points;
    it grows with the fourth power of the states, and with the square of the number of monomials.

    Examples
    --------
    A mass on a spring whose stiffness follows a parameter:

    >>> import control, numpy as np, titop as tt
    >>> signals = {"inputs": ["force", "noise", "u"], "outputs": ["error", "effort", "y"]}
    >>> B, C, D = [[0, 0, 0], [1, 0, 1]], [[1, 0], [0, 0], [1, 0]], [[0, 0, 0], [0, 0, 1], [0, 0.1, 0]]
    >>> members = [control.ss([[0, 1], [-k, -0.1]], B, C, D, **signals) for k in (0.5, 1.5)]
    >>> K, loop, gain = tt.lpvsyn(tt.LPVModel.of({"k": [0.5, 1.5]}, members), "y", "u")
    >>> K.at({"k": 1.0}).nstates, all(loop.at(k=k).poles().real.max() < 0 for k in (0.5, 1.0, 1.5))
    (2, True)
    >>> scheduled = tt.ScheduledController(-K, {"k": lambda t: 1 + 0.5 * np.sin(t)}, sample_time=0.05)
    """
    check_numbers(degree, points, COARSE)
    plant, grid, between = read_scheduled(family, measurements, controls, weighted, points)
    names = plant.family.names
    bounds = read_rates(rates, names)
    exponents = monomials(len(names), np.array([name in bounds for name in names], dtype=bool), degree)
    motions = ends_of_rates(np.array([bounds.get(name, 0.0) for name in names]) / plant.units.rate)
    members = grid.join(between)
    plants = [plant.at(plant.family.values(s)) for s in members.s]

    def at_points(plant: ScheduledPlant) -> LevelPoints:
        return LevelPoints.of([plant.parts(each) for each in plants], members, exponents, motions)

    every, terms = at_points(plant), len(exponents)
    kinds = [(terms, terms)] if rate_feedback or not motions.any() else [(terms, 1), (1, terms)]
    with progress_bar(progress=progress, desc="gain-scheduled controllers", unit=" searches") as bar:
        if not all(parts.is_regular for parts in every.parts):
            plant, every = _regular(plant, at_points, every, kinds[0])
        searches = [ScheduledSearch(every, *kind) for kind in kinds]
        begun = sorted(((each.least(each.first()), each) for each in searches), key=lambda pair: pair[0])
        search, found = begun[0][1], begun[0][1].run(begun[0][0], bar.update)
        for least, other in begun[1:]:
            # more points only raise its least level
            if not found.proved <= least and (better := other.run(least, bar.update)).proved < found.proved:
                search, found = other, better
    if not np.isfinite(found.proved):
        got, expected = "no function of this form was found", "functions that prove a gain at all points"
        advice = "give rates, or a higher degree; or narrow the ranges of the parameters"
        raise ModelError(Finding("no-controller", "family", got, expected, advice))
    needs_rates = rate_feedback and terms > 1 and bool(motions.any())
    controller = LPVController(names, needs_rates, ScheduledFormula(plant, exponents, search, found))
    affine = weighted is None and isinstance(family, LPVModel) and terms == 1 and found.proved <= found.level
    values = [plant.family.values(s) for s in members.s]
    return LPVSynthesis(
        controller,
        _loops(controller, family, values[: len(grid.s)]),
        max(found.proved, found.level) * plant.units.gain,
        affine and _channels_rest(every.parts),
        found.least * plant.units.gain,
        bounds,
        {name: np.array([row[name] for row in values]) for name in names},
    )


def _regular(
    plant: ScheduledPlant, at_points: Callable[[ScheduledPlant], LevelPoints], every: LevelPoints, kind: tuple[int, int]
) -> tuple[ScheduledPlant, LevelPoints]:
    """Return a plant with the largest perturbation that leaves the least level at some points as it is."""
    search = ScheduledSearch(every, *kind)
    least = search.least(search.first())
    for size in _PERTURBATIONS:
        perturbed = replace(plant, perturbation=size)
        points = at_points(perturbed)
        search = ScheduledSearch(points, *kind)
        if search.least(search.first()) <= (1 + COARSE) * least:
            break
    return perturbed, points


def _channels_rest(parts: Sequence[Parts]) -> bool:
    """Tell whether what controls move and what measurements see is the same at all points.

    Then the inequalities are affine in the members, thus hold for all that are interpolated.
    """
    fixed = [np.hstack([part.ravel() for part in (p.B2, p.D12, p.C2, p.D21)]) for p in parts]
    return all(np.abs(each - fixed[0]).max() <= SAME * np.abs(fixed[0]).max() for each in fixed)


def _loops(controller: LPVController, family: Any, values: Sequence[Mapping[str, float]]) -> LPVModel:
    """Return the loops at points, the parameters resting."""
    names = controller.parameters
    columns = {name: np.array([row[name] for row in values]) for name in names}
    axes = {name: np.unique(column) for name, column in columns.items()}
    is_grid = np.prod([len(axis) for axis in axes.values()]) == len(values)
    order = np.lexsort([columns[name] for name in reversed(names)])
    members = [plant.name_loop(K) for plant, K in (controller._member(values[k]) for k in order)]
    units = getattr(family, "units", {})
    return LPVModel.of(axes if is_grid else {name: column[order] for name, column in columns.items()}, members, "loop", units)
