"""Displacements as inputs, against closed forms, accelerations as inputs and simulations of roads that move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.closed_systems import slider_crank
from tests.refusals import refusal
from tests.solvers.linear.quarter_car import quarter_car, response
from titop.blocks.basics.spatial import skew

OUTPUTS = ["body.dv[2]", "tyre.q", "strut.q"]
#: Products of matrices with entries up to 1e4, at the poles' frequencies, relative to the response.
ROUNDING = 1e-11


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_quarter_car_answers_as_its_closed_form(engine: str) -> None:
    model = quarter_car(engine)
    system = tt.linearize(model, model.neutral(), ["road.q"], OUTPUTS)
    assert system.state_labels == [f"{name}_remainder" for name in ("tyre_q", "strut_q", "tyre_v", "strut_v")]
    assert tt.signal_table(system)["road_q"] == ("road.q", "m")
    for omega in (1.0, 8.0, 70.0, 300.0):
        expected = response(1j * omega)
        assert np.abs(system(1j * omega)[:, 0] - expected).max() < ROUNDING * np.abs(expected).max()
    assert np.abs(system(8j)[:, 0] - response(8j, body=301.0)).max() > 1e-3 * np.abs(response(8j)).max()


def test_dampers_at_the_road_pass_its_rate_on() -> None:
    """The wheel then follows the rate of the road at once: its speed is an output, its acceleration is not."""
    model = quarter_car(tyre_damping=50.0)
    system = tt.linearize(model, model.neutral(), ["road.q"], [*OUTPUTS, "wheel.v[2]"])
    expected = response(60j, tyre_damping=50.0)
    assert np.abs(system(60j)[:3, 0] - expected).max() < ROUNDING * np.abs(expected).max()
    assert system.D[:, 0] == pytest.approx([50.0 / 40 * 1200.0 / 300, -1.0, 0.0, 50.0 / 40], rel=1e-12)
    with refusal("improper", "wheel.dv[2] needs the rate of road.q"):
        tt.linearize(model, model.neutral(), ["road.q"], ["wheel.dv[2]"])


def shaken_pendulum(rate: Any = (0.0, 0.0, 0.0)) -> tuple[tt.Model, tt.OperatingPoint]:
    """Return a bob on a spring below a free hub, held in place or turning."""
    s = tt.System("hub and bob", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("base"))
    bob = tt.RigidBody("bob", 2.0, com=[0.1, 0, -0.5], inertia=0.03)
    s.connect(hub, bob, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=30.0, damping=0.2))
    model = s.resolve()
    point = tt.trim(model, ["hinge", "base.tau"])
    return model, tt.OperatingPoint(model, point.q, [0, 0, 0, *rate, 0], point.tau)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # a point that accelerates
@pytest.mark.parametrize("rate", [(0.0, 0.0, 0.0), (0.3, -0.5, 2.0)])
def test_all_displacements_of_a_base_are_accelerations_integrated_twice(rate: Any) -> None:
    """In axes that turn with the base: ``v = dr/dt + w x r``, of positions and of rotations."""
    model, point = shaken_pendulum(rate)
    by_place, by_acceleration = (tt.linearize(model, point, [name], ["hinge.q"]) for name in ("base.q", "base.a"))
    turning, s = np.kron(np.eye(2), skew(np.array(rate))), 1.3j + 0.2
    expected = by_acceleration(s) @ (s * (s * np.eye(6) + turning))
    assert np.abs(by_place(s) - expected).max() < ROUNDING
    if any(rate):
        assert np.abs(by_place(s) - by_acceleration(s) * s**2).max() > 1e-3
        with refusal("not-separable", "name the whole joint"):
            tt.linearize(model, point, ["base.x.q"], ["hinge.q"])


def test_a_simulated_road_moves_the_car_alike() -> None:
    """A road ``1 - cos``, made by a linear system of its own, so that the linear model's motion is an exponential."""
    model, omega, t = quarter_car(), 20.0, np.linspace(0, 0.5, 11)
    system = tt.linearize(model, model.neutral(), ["road.q"], OUTPUTS)

    def road(time: float) -> tuple[float, float, float]:
        phase = omega * time
        return 0.05 * (1 - np.cos(phase)), 0.05 * omega * np.sin(phase), 0.05 * omega**2 * np.cos(phase)

    run = tt.simulate(model, t, np.zeros(3), np.zeros(3), prescribed={"road": road}, rtol=1e-11, atol=1e-13)
    n = system.nstates
    whole = np.zeros((n + 3, n + 3))  # the states, then 1, cos and sin
    whole[:n, :n], whole[n + 1, n + 2], whole[n + 2, n + 1] = system.A, -omega, omega
    whole[:n, n:] = system.B @ [[0.05, -0.05, 0.0]]
    start, read = np.r_[np.zeros(n), 1.0, 1.0, 0.0], np.hstack([system.C, system.D @ [[0.05, -0.05, 0.0]]])
    expected = np.array([read @ expm(whole * time) @ start for time in t])
    assert np.abs(run.q[:, 1:] - expected[:, 1:]).max() < 1e-9  # a hundred steps of such tolerances
    # stiffness over mass times that
    assert np.abs(run.motion("body")[:, 2] - expected[:, 0]).max() < 1e-5


@pytest.mark.parametrize(
    ("output", "what"),
    [("road.tau", "acceleration"), ("road.reaction[2]", "acceleration"), ("tyre.v", "rate"), ("road.v", "rate")],
)
def test_outputs_that_need_rates_are_refused_by_name(output: str, what: str) -> None:
    model = quarter_car()
    with refusal("improper", f"{output} needs the {what} of road.q; expected outputs that need no derivative of an input"):
        tt.linearize(model, model.neutral(), ["road.q"], ["strut.q", output])
    assert tt.linearize(model, model.neutral(), ["road.a"], [output]).noutputs == 1


@pytest.mark.parametrize("inputs", [["road.q", "road.a"], ["road.q", "road"], ["road.q", "road.tau"]])
def test_a_motion_is_imposed_once(inputs: list[str]) -> None:
    model = quarter_car()
    with refusal("imposed-twice", "effort or motion, not both"):
        tt.linearize(model, model.neutral(), inputs, ["strut.q"])
    with refusal("imposed-twice", "effort or motion, not both"):
        tt.linearize(model, model.neutral(), ["road.q"], ["strut.q"], hold=["road"])


def test_nonlinear_systems_refuse_displacements() -> None:
    with refusal("improper", "take road.a, or linearize"):
        quarter_car().to_nlsys(["road.q"])


def test_families_have_displacements_as_inputs() -> None:
    model = quarter_car()
    family = tt.lpv(model, {"body.mass": [250.0, 300.0, 350.0]}, inputs=["road.q"], outputs=OUTPUTS, progress=False)
    expected = response(30j, body=350.0)
    found = family.at(body_mass=350.0)(30j)[:, 0]
    assert np.abs(found - expected).max() < ROUNDING * np.abs(expected).max()
    assert [signal.path for signal in family.states][:2] == ["tyre.q.remainder", "strut.q.remainder"]


def test_omitted_states_are_told_beside_displacements() -> None:
    s = tt.System("sledge", gravity=[0, 0, -9.81])
    plate, block = tt.RigidBody("plate", 1.0), tt.RigidBody("block", 2.0)
    s.connect("world", plate, tt.Prismatic("table", axis=[1, 0, 0]))
    s.connect(plate, block, tt.Prismatic("slide", axis=[1, 0, 0], damping=3.0))
    model = s.resolve()
    system = tt.linearize(model, model.neutral(), ["table.q"], ["block.v[0]"], omit=["slide.q"])
    assert system.state_labels == ["slide_v_remainder"]
    assert system(2j) == pytest.approx(2j * 3.0 / (2.0 * 2j + 3.0), rel=1e-12)  # a low pass of the table's speed


def test_displacements_in_closed_loops_are_named_among_independent_coordinates() -> None:
    model = slider_crank().resolve()
    q = model.assemble(model.neutral())
    names = model.coordinate_names
    system = tt.linearize(model, (q, np.zeros(model.nv)), [f"{names[0]}.q"], [f"{names[-1]}.q"], independent=[names[0]])
    assert system.nstates == 0
    step = 1e-5
    ends = []
    for way in (-step, step):
        moved = q.copy()
        moved[0] += way
        ends.append(model.assemble(moved, fixed=[names[0]])[-1])
    assert system.D[0, 0] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-6)  # central differences
    with refusal("not-independent", f"name it among independent=[{names[0]!r}"):
        tt.linearize(model, (q, np.zeros(model.nv)), [f"{names[0]}.q"], [f"{names[-1]}.q"], independent=[names[-1]])
