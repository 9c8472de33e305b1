"""Plants, blocks and goals that tests of tuning share."""

from __future__ import annotations

from collections.abc import Sequence

import control
import numpy as np

import titop as tt
from titop.solvers.tuning.objective import Objective
from titop.solvers.tuning.tuning_problem import TuningProblem

#: Two masses and a spring, damped a little: forces on both, both places.
SIGNALS = {"inputs": ["push", "pull"], "outputs": ["near", "far"]}


def two_masses(spring: float = 1.0, damping: float = 0.05) -> control.StateSpace:
    """Return two masses of 1 kg and 2 kg, tied by a spring and held by a weak one."""
    K = np.array([[spring + 0.2, -spring], [-spring, spring + 0.1]])
    inverse = np.diag([1.0, 0.5])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -damping * inverse @ K]])
    B = np.vstack([np.zeros((2, 2)), inverse])
    C = np.hstack([np.eye(2), np.zeros((2, 2))])
    return control.ss(A, B, C, np.zeros((2, 2)), name="masses", **SIGNALS)


def objective_of(
    plant: object, blocks: object, goals: Sequence[tt.Goal] | tt.Goal, sign: int = -1, delay: object = 0.0
) -> Objective:
    """Return the function that `tt.tune` minimises."""
    return TuningProblem.read(plant, blocks, goals, sign, delay).objective()


#: Blocks of every kind, from one or both places to one or both forces.
TUNABLES = {
    "gain": tt.Tunable.gain("k", "near", "push"),
    "matrix": tt.Tunable.matrix("k", ["near", "far"], ["push", "pull"]),
    "bounded": tt.Tunable.matrix("k", ["near", "far"], ["push"], lower=0.0, upper=[[2.0, np.inf]]),
    "pid": tt.Tunable.pid("pid", "near", "push"),
    "pd": tt.Tunable.pid("pd", "near", "push", ki=0, bounds={"time": (0.02, 0.2), "kd": (-np.inf, 5.0)}),
    "lead": tt.Tunable.lead("lead", "near", "push"),
    "notch": tt.Tunable.notch("notch", "near", "push"),
    "low_pass": tt.Tunable.low_pass("filter", "near", "push", gain=None),
    "slow": tt.Tunable.low_pass("filter", "near", "push", gain=0.3, order=1),
    "state_space": tt.Tunable.state_space("K", ["near", "far"], ["push", "pull"], 3),
    "proper": tt.Tunable.state_space("K", ["near", "far"], ["push"], 2, proper=False),
    "observer": tt.Tunable.observer("observer", two_masses(), ["near"], ["push", "pull"]),
    "function": tt.Tunable.function(
        "own", lambda t: ([[-2.0 - t[0] ** 2]], [[1.0]], [[t[1]]], [[t[0] * t[1]]]), [0.3, 0.2], ["near"], ["push"]
    ),
    "cascade": (
        tt.Tunable.pid("outer", "far", "inner", ki=0),
        tt.Tunable.lead("middle", "inner", "push"),
        control.ss([[-3.0]], [[1.0]], [[2.0]], [[0.1]], inputs=["near"], outputs=["pull"], name="fixed"),
        tt.Tunable.gain("beside", "near", "inner"),
    ),
    "references": tt.Tunable.matrix("k", ["r_near", "near", "far"], ["push", "pull"]),
}

#: Goals of every kind.
GOALS = {
    "gain": tt.Goal.gain(["push", "near"], ["far", "pull"], weight=control.tf([1.0, 0.5], [1.0, 3.0])),
    "band": tt.Goal.gain("push", "far", band=(0.5, 3.0), weight=2.0),
    "h2": tt.Goal.h2(["push", "pull"], ["near", "far"]),
    "shape": tt.Goal.shape("push", control.tf([1.0, 2.0], [1.0, 0.01])),
    "shapes": tt.Goal.shape(["near", "far"], control.tf([1.0, 2.0], [1.0, 0.01])),
    "margins": tt.Goal.margins("push"),
    "all margins": tt.Goal.margins(["push", "pull"], skew=0.4),
    "opened": tt.Goal.margins("push", opened="pull"),
    "decay": tt.Goal.poles(decay=0.01),
    "damping": tt.Goal.poles(damping=0.05, fastest=10.0),
    "tracking": tt.Goal.tracking("near", time=3.0, overshoot=0.1),
    "rejection": tt.Goal.rejection("push", 2.0, band=(0.1, 0.5)),
}
