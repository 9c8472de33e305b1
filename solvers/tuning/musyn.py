"""Mu synthesis: a controller for a whole family of linear models, robust performance by titop's own bound of mu: `musyn`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.basics.user_input import read_count
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import middle_rate
from titop.solvers.robust.scalings import Centres, Scaling
from titop.solvers.robust.uncertain_loop import centre_system, check_sizes, read_blocks, to_sampled
from titop.solvers.robust.worst_case_gain import robust_gain
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import SweepInterrupt
from titop.solvers.support.workers import one_thread
from titop.solvers.synthesis.general_plant import GeneralPlant, read_plant
from titop.solvers.synthesis.reduce_controller import reduce_controller
from titop.solvers.synthesis.synthesize import Synthesis, solve_hinf
from titop.solvers.tuning.controller_blocks import ControllerBlocks
from titop.solvers.tuning.goals import Goal
from titop.solvers.tuning.minimax import Found, minimise_maximum
from titop.solvers.tuning.objective import Member, Objective, Requirement
from titop.solvers.tuning.structured_levels import MuTerm
from titop.solvers.tuning.tunables import Tunable
from titop.solvers.tuning.tuned_loop import AugmentedPlant, Plant, augment

#: H-infinity controllers with constant scalings, of which the best is where the search starts.
_STARTS = 5
#: The search ends after so many rounds, or when the last ones together gain less than a part.
_ROUNDS, _LAST, _GAINED = 40, 6, 5 * NEGLIGIBLE
#: Steps of a round.
_STEPS = 30


@one_thread()
def musyn(
    lft: Any,
    measurements: Any = None,
    controls: Any = None,
    *,
    nmeas: int | None = None,
    ncon: int | None = None,
    blocks: Sequence[DeltaBlock] | None = None,
    order: int | None = None,
    progress: bool = True,
) -> Synthesis:
    """Return a controller ``u = K y`` of the best robust performance: with ranges ``1 / β`` times as large the gain is β.

    The least β is sought. That is mu of the uncertainty and a full block around all disturbances and errors, as `robust_gain`
    bounds it. Blocks may be real, repeated, complex and full. The search starts from H-infinity controllers with constant
    scalings. Then scalings D and G that prove a level at all frequencies, and the controller that lowers the bound that they
    give, are improved by turns: scalings are not fitted, so that the controller has no more states than the plant.

    Parameters
    ----------
    lft : LFTModel or control.StateSpace
        Open, with weights, so that a gain of one is what is required (`LFTModel.append`, `LFTModel.prepend`); the first
        channels of a state space are those of the blocks. In continuous time or sampled.
    measurements, controls, nmeas, ncon
        As of `hinfsyn`.
    blocks : sequence of DeltaBlock, optional
        For a state space.
    order : int, optional
        States of the controller, as many as the plant has if omitted, and no more.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second. Ctrl-C raises `SweepInterrupt`, whose `found` is
        the best so far.

    Returns
    -------
    Synthesis
        Its `gain` is the upper bound that its `proof` proves, infinite where nothing was proved; its `optimum` is NaN: no
        method tells the least. Its states are not estimates of the plant's, as those of `hinfsyn`, `h2syn` and `mixsyn` are.

    Raises
    ------
    ModelError
        As `hinfsyn`, and for a model without uncertainty.

    Notes
    -----
    D-K and D-G-K iteration (Balas, Packard and Doyle; Young 1996), with scalings between frequencies in place of fitted ones,
    and steps of `tune`'s search in place of H-infinity synthesis. Its optima are local. A sweep over frequency a round, and
    some hundred evaluations of the bound: half a minute for 7 states.

    Examples
    --------
    >>> import control, titop as tt
    >>> A, B, C = [[-1.0]], [[0.4, 0.5, 0, 1]], [[1], [1], [0], [1]]
    >>> D = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0.1], [0, 0, 0.1, 0]]
    >>> names = {"inputs": ["w", "force", "noise", "u"], "outputs": ["z", "error", "effort", "y"]}
    >>> K, loop, gain = tt.musyn(control.ss(A, B, C, D, **names), "y", "u", blocks=[tt.DeltaBlock.real("a")])
    >>> K.nstates, bool(gain < 0.5)
    (1, True)
    """
    blocks = getattr(lft, "blocks", None) if blocks is None else blocks
    if not blocks:
        expected, advice = "an LFTModel with uncertain blocks, or a state space with blocks=[...]", "or use tt.hinfsyn"
        raise ModelError(Finding("no-uncertainty", "lft", "no uncertain blocks", expected, advice))
    structure, model = read_blocks(blocks), getattr(lft, "M", lft)
    plant = read_plant(model, measurements, controls, nmeas, ncon)
    check_sizes(structure, plant.system.D)
    search = _MuSearch(plant, structure, order)
    stopped = False
    try:
        search.run(progress)
    except KeyboardInterrupt:
        stopped = True
    result = search.result()
    if stopped:
        raise SweepInterrupt("mu synthesis was stopped; the best controller so far is in `found`", result)
    return result


class _MuSearch:
    """A search for the controller of a plant with an uncertainty; all in continuous time, ranges centred."""

    def __init__(self, plant: GeneralPlant, structure: Structure, order: Any) -> None:
        self.given, self.blocks, (self.w, self.z) = plant, structure.blocks, structure.shape
        system, centred = centre_system(plant.continuous, structure)
        self.plant = replace(plant, system=system, period=0.0)
        rows, columns = len(plant.errors), len(plant.disturbances)
        if rows <= self.z or columns <= self.w:
            where = "measurements" if rows <= self.z else "controls"
            expected, advice = "an error and a disturbance besides the uncertainty", "append weighted signals to the plant"
            raise ModelError(Finding("no-channel", where, "all but the uncertainty's", expected, advice))
        n = len(system.A)
        wrong = Finding("bad-value", "order", order, f"a number of states from 0 to {n}", "the plant has no more")
        self.order = n if order is None else read_count(wrong, 0, n)
        performance = DeltaBlock.full("performance", columns - self.w, rows - self.z)
        self.term = MuTerm(Centres(Structure.of([*centred.blocks, performance])), np.arange(rows), np.arange(columns))
        self.level, self.best = np.inf, Matrices.of(solve_hinf(self._first_plant()).controller)

    def _first_plant(self) -> GeneralPlant:
        """Return the plant without uncertainty, but with it where its best controllers would be infinitely fast."""
        plant, (w, z) = self.plant, (self.w, self.z)
        part = plant.system.part(np.arange(z, len(plant.system.C)), np.arange(w, plant.system.B.shape[1]))
        nominal = replace(plant, system=part, disturbances=plant.disturbances[w:], errors=plant.errors[z:])
        return nominal if nominal.balance(part)[0].is_regular else plant

    def run(self, progress: bool) -> None:
        self._start_at_constant_scalings()
        objective, x = self._objective()
        levels: list[float] = []
        with progress_bar(progress=progress, total=_ROUNDS, desc="mu synthesis", unit="round") as bar:
            for _ in range(_ROUNDS):
                S = objective.blocks.gain(objective.theta(x), {})
                (loop,) = (objective.loops(0, S) or {}).values()
                level = self.term.prove(loop.system)
                if level < self.level:
                    n = self.order
                    self.level, self.best = level, Matrices(S[:n, :n], S[:n, n:], S[n:, :n], S[n:, n:])
                levels.append(self.level)
                if not np.isfinite(level) or (len(levels) > _LAST and levels[-1] > levels[-1 - _LAST] * (1 - _GAINED)):
                    break
                self.term.renew(loop.system, level)
                pieces = objective(x)
                if pieces is None:
                    break
                x = minimise_maximum(objective, Found(x, pieces), _STEPS).x
                bar.update()

    def _start_at_constant_scalings(self) -> None:
        """Find the best H-infinity controller of the plant with constant scalings, those at the highest bound of the last."""
        system, (rows, columns) = self.plant.system, (len(self.plant.errors), len(self.plant.disturbances))
        p, m = len(system.C) - rows, system.B.shape[1] - columns
        scaling = self._judge(self.best)
        for _ in range(_STARTS):
            D_w, D_z = (block_diag(np.real(part), np.eye(count)) for part, count in ((scaling.D_w, m), (scaling.D_z, p)))
            scaled, _ = Scaling(D_w, D_z, np.zeros((columns + m, rows + p))).normalise(system)
            scaling = self._judge(Matrices.of(solve_hinf(replace(self.plant, system=scaled)).controller))
        if self.order < len(self.best.A):
            less = reduce_controller(self.plant.name_controller(self.best, False), self.order, self.plant.named)
            self.best, self.level = Matrices.of(less.controller), np.inf

    def _judge(self, K: Matrices) -> Scaling:
        """Keep a controller if its bound is the lowest, and return the scaling at its highest."""
        closed = self.plant.close(K)
        level = self.term.prove(closed)
        if level < self.level:
            self.level, self.best = level, K
        return self.term.worst

    def _objective(self) -> tuple[Objective, Any]:
        """Return the bound as a function of the controller's numbers, and those of the best so far."""
        plant = self.plant
        names = [s.name for s in plant.measurements], [s.name for s in plant.controls]
        block = Tunable.state_space("controller", *names, self.order, start=plant.name_controller(self.best, False))
        inputs, outputs = [*plant.disturbances, *plant.controls], [*plant.errors, *plant.measurements]
        blocks = ControllerBlocks(block, inputs[self.w :], outputs[self.z :], 1)
        whole, rate = Plant.of(plant.system, (self.w, self.z)), middle_rate(plant.system.A)
        coordinates = blocks.scale(AugmentedPlant(augment(whole, blocks.wires), blocks.sizes), rate)
        requirement = Requirement(0, self.term, (), slice(len(coordinates), len(coordinates)), False)
        goal = Goal.gain([s.name for s in inputs[self.w :]], [s.name for s in outputs[self.z :]])
        objective = Objective(blocks, [goal], [requirement], coordinates, rate)
        objective.add(Member(whole))
        return objective, coordinates.places(np.array([parameter.start for parameter in blocks.parameters]))

    def result(self) -> Synthesis:
        """Return the best controller with its proof, in the user's time."""
        plant = self.given
        K = plant.name_controller(to_sampled(self.best, plant.period) if plant.period else self.best, False)
        loop = plant.name_loop(K)
        inputs, outputs = ([s.path for s in each] for each in (plant.disturbances[self.w :], plant.errors[self.z :]))
        proof = robust_gain(loop, inputs, outputs, blocks=self.blocks, tolerance=NEGLIGIBLE, progress=False)
        return Synthesis(K, loop, proof.upper, np.nan, plant.named, proof)
