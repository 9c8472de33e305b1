"""What users have in their hands pickles: a fresh process, which has imported nothing, answers with the same numbers."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt


def crane() -> tt.System:
    s = tt.System("crane", gravity=[0, 0, -9.81])
    trolley, load = tt.RigidBody("trolley", mass=2.0), tt.RigidBody("load", mass=0.5, com=[0, 0, -0.8])
    s.connect("world", trolley, joint=tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(trolley, load, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    return s


def hinge_mass(model: tt.Model) -> dict[str, float]:
    return {"mass": float(model.mass_matrix([0.0, 0.3])[1, 1])}


def member(rho: Any) -> control.StateSpace:
    return control.ss([], [], [], [[2.0 + rho["angle"]]], inputs=["hinge_q"], outputs=["rail"], name="gain")


def response(system: control.StateSpace) -> Any:
    return system(1.2j), system.input_labels, system.output_labels, system.state_labels, system.name, system.dt


#: What is asked of each object, by name.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "system": lambda s: s.resolve("reference").mass_matrix([0.0, 0.3]),
    "model": lambda m: m.forward_dynamics([0.0, 0.3], [0.1, 0.2]),
    "reference": lambda m: m.forward_dynamics([0.0, 0.3], [0.1, 0.2]),
    "trajectory": lambda t: (t.q, t.a, t.model.energy(t.q[-1], t.v[-1])),
    "loop's trajectory": lambda t: (t.q, t.control.y, t.control.u),
    "loops' trajectory": lambda t: (t.q, [control.u for control in t.controls]),
    "loop": lambda x: (response(x.controller), x.sample_time, x.delay, x.reference),
    "point": lambda p: (p.q, p.tau, p.residual),
    "linear": lambda x: (response(x), tt.signal_table(x), x.operating_point),
    "sampled": lambda x: (response(x), tt.signal_table(x)),
    "family": lambda f: (response(f.at(load_mass=0.4)), f.parameters["load.mass"]),
    "fractional": lambda f: (response(f.at(load_mass=0.52)), f.check(1)),
    "composed": lambda f: response(f.at(load_mass=0.52)),
    "closed": lambda f: (response(f.at(load_mass=0.52)), f.check(1)),
    "robust": lambda r: (r.robust, r.upper),
    "samples": lambda s: (s.outcomes["mass"], s.parameters["load.mass"]),
    "controller": response,
    "transfer function": lambda x: (x(1.2j), x.input_labels),
    "scheduled": lambda c: response(c.at({"angle": 0.5})),
    "nonlinear": lambda s: s.dynamics(0, np.array([0.0, 0.3, 0.1, 0.2]), np.array([1.0])),
    "block": response,
}


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    s = crane()
    m = s.resolve()
    gains, names = [[1.0, 0.2]], {"inputs": ["hinge_q", "rail_v"], "outputs": ["rail"]}
    K = control.ss([[0.5]], [[0.1, 0.0]], [[0.1]], gains, 0.05, name="K", **names)
    loop = tt.Loop(control.ss(K.A, K.B, K.C, K.D, 0.1, **names), delay=0.01, reference={"hinge.q": 0.1})
    drives, t, start = (
        {"inputs": ["rail"], "outputs": ["hinge.q", "rail.v"], "omit": ["rail.q"]},
        np.linspace(0, 0.5, 6),
        ([0, 0.1], [0, 0]),
    )
    linear = tt.linearize(m, tt.trim(m), **drives)
    fractional = tt.lft(m, m.neutral(), {"load.mass": tt.percent(10)}, **drives)
    closed = fractional.close(control.ss([], [], [], [[-1.0, -0.2]], **names))
    return {
        "system": s,
        "model": m,
        "reference": s.resolve("reference"),
        "trajectory": tt.simulate(m, t, *start),
        "loop's trajectory": tt.simulate(m, t, *start, controller=K),
        "loops' trajectory": tt.simulate(m, t, *start, controller=[K, loop]),
        "loop": loop,
        "point": tt.trim(m),
        "linear": linear,
        "sampled": control.c2d(linear[0, 0], 0.1),
        "family": tt.lpv(m, {"load.mass": [0.3, 0.5]}, **drives),
        "fractional": fractional,
        "composed": fractional * 2.0 + fractional,
        "closed": closed,
        "robust": tt.robust_stability(closed),
        "samples": tt.monte_carlo(m, {"load.mass": tt.percent(10)}, hinge_mass, 3),
        "controller": K,
        "transfer function": control.tf([1.0], [1.0, 2.0], inputs=["a"], outputs=["b"]),
        "scheduled": tt.ScheduledController(member, {"angle": "hinge.q"}, 0.05),
        "nonlinear": m.to_nlsys(["rail"], ["hinge.q"]),
        "block": tt.block_system(m, m.neutral(), "load"),
    }


def answer(item: tuple[str, Any]) -> Any:
    name, value = item
    return QUESTIONS[name](value)


def test_copies_answer_the_same(objects: dict[str, Any]) -> None:
    assert objects.keys() == QUESTIONS.keys()
    for name, value in objects.items():
        np.testing.assert_equal(answer((name, pickle.loads(pickle.dumps(value)))), answer((name, value)), err_msg=name)


@pytest.mark.long
def test_a_fresh_process_answers_the_same(objects: dict[str, Any]) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(answer, objects.items(), chunksize=len(objects))
    for (name, value), there in zip(objects.items(), found, strict=True):
        np.testing.assert_equal(there, answer((name, value)), err_msg=name)


def test_copies_of_plain_state_spaces(objects: dict[str, Any]) -> None:
    """A copy of python-control's own kind answers from its own matrices, not from those of what was copied."""
    copied = objects["controller"].copy(name="copy")
    assert type(copied) is control.StateSpace
    assert response(copied)[1:4] == response(objects["controller"])[1:4]
    copied.A[:] = 0.0
    assert copied.dynamics(0, np.ones(1), np.zeros(2)) == 0.0
    assert objects["controller"].dynamics(0, np.ones(1), np.zeros(2)) == 0.5
