"""Controllers of full order around a plant that is tuned: reduced, they are starts; and modes that no controller moves."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal
from titop.solvers.synthesis.general_plant import GeneralPlant, refuse_hidden_modes
from titop.solvers.synthesis.reduce_controller import reduce_controller
from titop.solvers.synthesis.synthesize import solve_h2, solve_hinf
from titop.solvers.tuning.goal_terms import PeakTerm, VarianceTerm
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_problem import TuningProblem

_Term = PeakTerm | VarianceTerm


def refuse_unreached_modes(objective: Objective, problem: TuningProblem) -> None:
    """Refuse unstable modes of the first plant that no block drives, or none sees, by name."""
    refuse_hidden_modes(_general_plant(objective, problem, []))


def full_order_start(objective: Objective, problem: TuningProblem) -> Array | None:
    """Return the numbers of a state space that is a reduced controller of full order, None where there is no such thing.

    It is that of the least H-infinity norm of all gains together, or of the least H2 norm.
    """
    block = objective.blocks.blocks[0]
    terms: list[_Term] = [
        r.term
        for r in objective.requirements
        if not (r.opened or r.of_controller)
        and isinstance(r.term, PeakTerm | VarianceTerm)
        and not getattr(r.term, "inverse", False)
    ]
    if len(objective.blocks.blocks) > 1 or block.numbers_of is None or not block.states or not terms:
        return None
    solve = solve_h2 if all(isinstance(term, VarianceTerm) for term in terms) else solve_hinf
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            full = solve(_general_plant(objective, problem, terms))
            K = full.controller
            if K.nstates > block.states:
                K = reduce_controller(K, block.states, loop=full).controller
    except ModelError:
        return None
    reduced, more = Matrices.of(K), block.states - K.nstates
    passing = Matrices(-objective.rate * np.eye(more), np.zeros((more, 0)), np.zeros((0, more)), np.zeros((0, 0)))
    whole = side_by_side([reduced, passing])
    states = [Signal(f"x[{k}]", "") for k in range(block.states)]
    inputs, outputs = ([Signal(name, "") for name in names] for names in (block.inputs, block.outputs))
    x = np.random.default_rng(0).standard_normal(objective.size) * NEGLIGIBLE
    start = named_system(whole, states, inputs, outputs, "start")
    x[: len(objective.coordinates)] += objective.coordinates.places(block.numbers_of(start))
    return x


def _general_plant(objective: Objective, problem: TuningProblem, terms: Sequence[_Term]) -> GeneralPlant:
    """Return the first plant between what terms are about and what blocks give and take, without the blocks' states."""
    plant, count = objective.augmented(0), objective.blocks.wires.states
    n = len(plant.A) - count
    none = np.zeros(0, int)
    rows, columns = (np.concatenate([none, *(getattr(term, side) for term in terms)]) for side in ("rows", "columns"))
    direct = [getattr(term, "offset", 0.0) * np.eye(len(term.rows), len(term.columns)) for term in terms]
    D11 = plant.D11[rows[:, None], columns] + block_diag(np.zeros((0, 0)), *direct)
    weights = [weight.system if (weight := getattr(term, "weight", None)) else Matrices.constant(np.eye(1)) for term in terms]
    parts = [of.scale(np.array([1 / term.bound])) for of, term in zip(weights, terms, strict=True) for _ in term.rows]
    into, out = plant.B2[:n, count:], plant.C2[count:, :n]
    system = Matrices(
        plant.A[:n, :n],
        np.hstack([plant.B1[:n, columns], into]),
        np.vstack([plant.C1[rows, :n], out]),
        np.block([[D11, plant.D12[rows, count:]], [plant.D21[count:, columns], plant.D22[count:, count:]]]),
    )
    if parts:
        system = system.in_series(side_by_side([*parts, Matrices.constant(np.eye(len(out)))]))
    states = [*problem.family.states, *(Signal(f"delay.x[{k}]", "") for k in range(len(system.A)))][: len(system.A)]
    named = [
        [Signal(f"{name}[{k}]", "") for k in range(size)]
        for name, size in (("w", len(columns)), ("u", into.shape[1]), ("z", len(rows)), ("y", len(out)))
    ]
    return GeneralPlant(system, 0.0, states, *named)
