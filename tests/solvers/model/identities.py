"""Random trees at random states, for identities that hold for every system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import titop as tt
from tests.systems import KINDS, random_state, random_tree

Array = NDArray[np.float64]

EPS = np.finfo(float).eps
SEEDS = st.integers(0, 2**32 - 1)
#: Reproducible: the same seeds in every run.
FEW = settings(max_examples=12, derandomize=True, deadline=None, database=None)
SOME = settings(max_examples=30, derandomize=True, deadline=None, database=None)
#: Eighth-order central difference: offset in steps, weight.
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
#: Seed of the systems that the controls break: eight bodies, every joint moves.
CONTROL = 7


class Case:
    """A random tree at a random state, with external wrenches on two of its ports.

    Parameters
    ----------
    seed : int
    engine : {"compiled", "reference"}
    kinds : sequence of str
        Kinds of joint to draw from; a tree of welds alone has no coordinate.
    base : {"free", "fixed", "any"}
    """

    def __init__(self, seed: int, engine: str = "compiled", kinds: Sequence[str] = KINDS, base: str = "any") -> None:
        self.rng = np.random.default_rng(seed)
        bodies = 8 if seed == CONTROL else int(self.rng.integers(1, 9))
        drives = bool(self.rng.integers(2)) or seed == CONTROL
        self.system = random_tree(self.rng, bodies, kinds, base, passive=drives, loads=drives)
        self.model = self.system.resolve(engine)
        self.q, self.v, self.a, self.tau = random_state(self.model, self.rng)
        ports = self.rng.choice(self.model.port_names[3:], 2, replace=False)
        self.wrenches = {str(port): self.rng.normal(size=6) for port in ports}

    @property
    def tolerance(self) -> float:
        """Ten rounding errors, amplified by the condition of the mass matrix, above the rounding of the passes themselves."""
        return tolerance(self.model, self.q)


def control_case(engine: str = "compiled", base: str = "free") -> Case:
    """Return a case in which every body moves and every kind of effort acts."""
    return Case(CONTROL, engine, [kind for kind in KINDS if kind != "Weld"], base)


def tolerance(model: tt.Model, q: Array) -> float:
    """Return the relative error that rounding may leave in a solution with the mass matrix at `q`."""
    return 1e-12 + 10 * EPS * (np.linalg.cond(model.mass_matrix(q)) if model.nv else 1.0)


def assert_equal(found: Any, expected: Any, relative: float) -> None:
    """Compare in norm: relative to the whole result, absolutely where that is below 1 (states and units are of order one)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) <= relative * max(1.0, float(np.linalg.norm(expected)))


def derivative(function: Callable[[float], Any], step: float = 4e-3) -> Any:
    """Return the derivative at 0; truncation (about step^8) and rounding (eps / step) are both below 1e-12 of the function."""
    return sum(weight / step * (np.asarray(function(k * step)) - np.asarray(function(-k * step))) for k, weight in STENCIL)


def heavier(model: tt.Model) -> tt.Model:
    """Return the model with all masses a millionth larger."""
    masses = {name: value for name, (value, _) in model.parameters().items() if name.endswith(".mass")}
    return model.with_parameters({name: value * (1 + 1e-6) for name, value in masses.items()})


def observations(c: Case, model: tt.Model) -> dict[str, Any]:
    """Return the results of all public functions of a model at the case's state, by function."""
    q, v, a, tau, wrenches = c.q, c.v, c.a, c.tau, c.wrenches
    ports = list(model.port_names[-3:])
    joints = model.joint_names[::3]
    hybrid = model.hybrid_dynamics(q, v, tau, a, list(model.coordinate_names[::2]), wrenches)
    return {
        "forward_dynamics": model.forward_dynamics(q, v, tau),
        "forward_dynamics with wrenches": model.forward_dynamics(q, v, tau, wrenches),
        "inverse_dynamics": model.inverse_dynamics(q, v, a),
        "inverse_dynamics with wrenches": model.inverse_dynamics(q, v, a, wrenches),
        "hybrid_dynamics": np.concatenate(hybrid),
        "mass_matrix": model.mass_matrix(q),
        "nonlinear_effects": model.nonlinear_effects(q, v),
        "gravity_effects": model.gravity_effects(q),
        "coriolis_matrix": model.coriolis_matrix(q, v),
        "passive_efforts": model.passive_efforts(q, v),
        "pose": [np.column_stack(model.pose(port, q)) for port in ports],
        "motion": [model.motion(port, q, v, a) for port in ports],
        "accelerometer": [model.accelerometer(port, q, v, a) for port in ports],
        "jacobian": [model.jacobian(port, q) for port in ports],
        "reaction": [model.reaction(joint, q, v, a, wrenches) for joint in joints],
        "energy": model.energy(q, v),
        "momentum": model.momentum(q, v),
        "center_of_mass": model.center_of_mass(q),
        "gravity": model.gravity,
    }


def assert_same(found: dict[str, Any], expected: dict[str, Any], relative: float) -> None:
    """Compare what two models tell."""
    for name in expected:
        assert_equal(found[name], expected[name], relative)
