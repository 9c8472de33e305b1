"""Families closed by controllers of several rates, against simulations, closed forms and linear models."""

from __future__ import annotations

from functools import cache
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.control.sliders import MASS, gain, slider
from tests.solvers.lft.closed_crafts import craft, rate_control
from tests.tolerances import ACCURACY, TIGHT

STEP = 0.05


@cache
def family(*outputs: str) -> tt.LFTModel:
    """Return the mass on a rail with a spring, its mass and stiffness uncertain."""
    model = slider(stiffness=8.0, damping=0.3)
    ranges = {"mass.mass": tt.percent(20), "rail.stiffness": tt.percent(30)}
    return tt.lft(model, model.neutral(), ranges, ["motor"], outputs or ["rail.q", "rail.v", "accelerometer.x"])


def fast(step: float = STEP) -> Any:
    return gain(3.0, inputs=["rail_v"], dt=step)


def slow(step: float = 3 * STEP, output: str = "rail_q") -> Any:
    return control.ss([[0.8]], [[0.5]], [[1.0]], [[2.0]], step, inputs=[output], outputs=["motor"])


def at_instants(loop: Any, count: int) -> np.ndarray:
    """Return the position of a member at the instants of a loop, the motor's outside command being one, and having been so."""
    names = loop.input_labels
    u = np.zeros((len(names), count))
    u[names.index("motor")] = 1.0
    before = [float(name == "motor_before") for name in loop.state_labels]
    return np.asarray(control.forced_response(loop, U=u, X0=before, squeeze=False).outputs[loop.output_labels.index("rail_q")])


def simulated(values: dict[str, float], loops: list[Any], period: float, count: int) -> np.ndarray:
    """Return the same by simulation: the system is linear."""
    model = slider(stiffness=8.0, damping=0.3).with_parameters(values)
    run = tt.simulate(model, period * np.arange(count), [0.0], [0.0], controller=loops, u=[1.0], **TIGHT)
    return run.q[:, 0]


LAG = control.ss([[-3.0]], [[1.0]], [[2.0]], [[1.0]], inputs=["rail_q"], outputs=["motor"])

#: Loops, and the steps after which all sample again.
MIXED: dict[str, tuple[list[Any], int]] = {
    "two rates": ([fast(), slow()], 3),
    "two to three": ([fast(2 * STEP), slow(3 * STEP)], 6),
    "late by whole steps": ([tt.Loop(fast(), delay=STEP), tt.Loop(slow(), delay=4 * STEP)], 3),
    "late by parts": ([tt.Loop(fast(), delay=0.3 * STEP), tt.Loop(slow(), delay=1.7 * STEP)], 3),
    "read before": ([fast(), slow(output="accelerometer_x")], 3),
    "beside continuous time": ([LAG, slow(), fast()], 3),
    "by Tustin's rule": ([tt.Loop(LAG, 2 * STEP), {"controller": gain(1.0, inputs=["rail_v"]), "sample_time": STEP}], 2),
}


@pytest.mark.parametrize(("loops", "steps"), MIXED.values(), ids=MIXED.keys())
def test_the_nominal_loop_is_the_simulated_one_at_common_instants(loops: list[Any], steps: int) -> None:
    closed = family().close(loops, sign=-1)
    assert closed.M.dt == pytest.approx(steps * STEP)
    found = at_instants(closed.nominal, 12)
    assert np.abs(found - simulated({}, loops, steps * STEP, 12)).max() < ACCURACY


@pytest.mark.parametrize("loops", [MIXED["two rates"][0], MIXED["late by parts"][0]], ids=["whole", "late"])
def test_members_are_simulated_ones_within_the_error_of_their_stages(loops: list[Any]) -> None:
    """Errors fall with the power of two stages more; the right member is told apart from the nominal one."""
    values = {"mass.mass": 2.3, "rail.stiffness": 9.5}
    right = simulated(values, loops, 3 * STEP, 12)
    closed = [family().close(loops, stages=stages, sign=-1) for stages in (1, 2)]
    errors = [np.abs(at_instants(loop.at(values), 12) - right).max() / np.abs(right).max() for loop in closed]
    assert errors[1] < 1e-5 < 3e-2 < np.abs(at_instants(closed[1].nominal, 12) - right).max() / np.abs(right).max()
    assert errors[0] > 20 * errors[1]
    assert closed[1].check(4) < 1e-4  # by responses of linear models of members, over frequency


def test_poles_have_a_closed_form() -> None:
    """Of a free mass, ``v2 = (1 - a) v1 - b v0`` and ``v1 = (1 - a - b) v0`` with the gains a and b over mass and step."""
    model = slider()
    free = tt.lft(model, model.neutral(), {"mass.mass": tt.percent(10)}, ["motor"], ["rail.v"])
    closed = free.close([gain(-4.0, inputs=["rail_v"], dt=STEP), gain(-7.0, inputs=["rail_v"], dt=2 * STEP)]).nominal
    a, b = 4.0 * STEP / MASS, 7.0 * STEP / MASS
    # what is held at the end is forgotten
    assert sorted(closed.poles().real) == pytest.approx([0.0, (1 - a - b) * (1 - a) - b], abs=1e-12)


def test_loops_of_one_rate_are_one_controller() -> None:
    one = family().close(joined(), delay={"motor": 0.02})
    two = family().close([tt.Loop(fast(), delay=0.02), tt.Loop(slow(STEP), delay=0.02)])
    assert two.M.dt == one.M.dt == STEP
    assert at_instants(two.nominal, 20) == pytest.approx(at_instants(one.nominal, 20), abs=1e-12)


def joined() -> Any:
    """Return `fast` and `slow` of one rate as one controller."""
    K = slow(STEP)
    return control.ss(K.A, np.hstack([K.B, [[0.0]]]), K.C, [[2.0, 3.0]], STEP, inputs=["rail_q", "rail_v"], outputs=["motor"])


def test_a_sampled_model_is_closed_by_slower_loops() -> None:
    both = family().close([fast(), slow()], sign=-1)
    after = family().close(fast(), sign=-1).close([slow()], sign=-1)
    assert after.M.dt == both.M.dt == pytest.approx(3 * STEP)
    assert at_instants(after.nominal, 12) == pytest.approx(at_instants(both.nominal, 12), abs=1e-12)
    assert after.check(2) == pytest.approx(both.check(2), rel=1e-6)  # the same errors of the same stages


def test_references_are_shared() -> None:
    """Both loops follow one reference, an input of the family; the simulation gives it to each."""
    labels: dict[str, Any] = {"inputs": ["r_rail_q", "rail_q"], "outputs": ["motor"]}
    quick, late = (control.ss([], [], [], [[k, -k]], step, **labels) for k, step in ((4.0, STEP), (6.0, 2 * STEP)))
    loops = [quick, fast(), late]
    closed = family().close(loops, sign=-1).nominal  # the sign is that of the loop that takes an output alone
    assert [name for name in closed.input_labels if name.startswith("r_")] == ["r_rail_q"]
    u = np.zeros((len(closed.input_labels), 12))
    u[closed.input_labels.index("r_rail_q")] = 0.7
    found = control.forced_response(closed, U=u, squeeze=False).outputs[closed.output_labels.index("rail_q")]
    sought = [tt.Loop(quick, reference={"rail.q": 0.7}), fast(), tt.Loop(late, reference={"rail.q": 0.7})]
    t = 2 * STEP * np.arange(12)
    run = tt.simulate(slider(stiffness=8.0, damping=0.3), t, [0.0], [0.0], controller=sought, **TIGHT)
    assert np.abs(found - run.q[:, 0]).max() < ACCURACY


def test_a_satellite_of_two_rates() -> None:
    """Nineteen states and more, three uncertain parameters: members beside their own linear models."""
    loops = [rate_control(0.05, feedthrough=200.0), rate_control(0.1, feedthrough=200.0)]
    closed = craft().close(loops, stages=2)
    assert closed.check(2) < 2e-3  # the error of two stages at the fastest modes
    assert [block.repetitions for block in closed.blocks] == [4 * block.repetitions for block in craft().blocks]


@pytest.mark.parametrize(
    ("controllers", "arguments", "code", "where"),
    [
        ([fast(), slow(np.sqrt(2) * STEP)], {}, "no-common-period", "sample_time"),
        ([fast(0.001), slow(1.003)], {}, "no-common-period", "sample_time"),
        ([fast(), slow()], {"delay": 0.01}, "belongs-to-a-loop", "delay"),
        ([fast(), gain(1.0, inputs=["rail_x"], dt=STEP)], {}, "unknown-signal", "controller[1]: controller inputs"),
        ([fast(), 3.0], {}, "wrong-type", "controller[1]: controller"),
    ],
)
def test_what_cannot_be_lifted_is_named(controllers: Any, arguments: dict[str, Any], code: str, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        family().close(controllers, **arguments)
    assert (caught.value.code, caught.value.where) == (code, where)


def test_faster_loops_and_late_parts_of_sampled_models_and_complex_blocks_are_refused() -> None:
    sampled = family().close(slow(2 * STEP))
    with refusal("other-sample-time", "multiples of the model's 0.1 s"):
        sampled.close([fast(STEP), slow(2 * STEP)])
    with refusal("bad-time", "whole periods of 0.1 s"):
        sampled.close([tt.Loop(slow(4 * STEP), delay=0.5 * STEP)])
    with refusal("complex-block", "neglected"):
        family().append("neglected", "motor", 0.1).close([fast(), slow()])


def test_many_delays_leave_the_degrees_defined() -> None:
    """Half of the states are past commands, whose poles are zero but for rounding: their inverse is no size of 1/z."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=9.0, damping=0.3))
    model = s.resolve("reference")
    family = tt.lft(model, model.neutral(), {"mass.mass": tt.percent(10)}, inputs=["rail"], outputs=["rail.q"])
    loops = [
        tt.Loop(control.ss(0.5, 0.1, 1.0, -1.0, step, inputs=["rail_q"], outputs=["rail"]), delay=delay)
        for step, delay in ((0.04, 0.055), (0.06, 0.23), (0.1, 0.0))
    ]
    closed = family.close(loops)  # once a LinAlgError
    assert 1 <= closed.blocks[0].degree <= closed.blocks[0].repetitions
    assert closed.check() < 1e-2
