"""Controllers of lower order: error bounds, loops that stay, families proved again, refusals."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt


def flexible(modes: int = 3) -> Any:
    """Return a plant of lightly damped modes: a disturbance and noise, an error and the effort."""
    n, rng = 2 * modes, np.random.default_rng(4)
    A, B, C = np.zeros((n, n)), np.zeros((n, 3)), np.zeros((3, n))
    for k in range(modes):
        omega = 1.0 + 1.7 * k
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[0, 1], [-(omega**2), -0.02 * omega]]
        B[2 * k + 1, [0, 2]] = rng.normal(size=2) / (1 + k)
        C[[0, 2], 2 * k] = rng.normal() / (1 + k)
    D = np.zeros((3, 3))
    D[1, 2], D[2, 1] = 0.3, 0.1
    return control.StateSpace(A, B, C, D, inputs=["push", "noise", "motor"], outputs=["error", "effort", "gyro"])


@pytest.fixture(scope="module")
def synthesis() -> tt.Synthesis:
    return tt.hinfsyn(flexible(), "gyro", "motor")


def test_a_stable_controller_alone_is_within_twice_the_singular_values() -> None:
    K = flexible()["gyro", "push"]
    P, Q = control.gram(K, "c"), control.gram(K, "o")
    values = np.sort(np.sqrt(np.abs(np.linalg.eigvals(P @ Q))))[::-1]
    for order in (2, 4):
        less = tt.reduce_controller(K, order)
        assert less.controller.nstates == order
        assert less.error == pytest.approx(control.linfnorm(control.ss(K - less.controller))[0], rel=1e-6)
        assert values[order] * (1 - 1e-9) <= less.error <= 2 * values[order:].sum(), "no reduction does better"
        assert np.isnan(less.gain)
        assert less.proof is None


def test_order_falls_and_the_gain_is_checked(synthesis: tt.Synthesis) -> None:
    K = synthesis.controller
    whole = tt.reduce_controller(K, K.nstates, loop=synthesis)
    assert whole.gain == pytest.approx(synthesis.gain, rel=1e-6)
    assert whole.before == pytest.approx(synthesis.gain, rel=1e-9)
    less = tt.reduce_controller(K, 5, loop=synthesis)
    loop = flexible().lft(less.controller)
    assert less.gain == pytest.approx(control.linfnorm(loop)[0], rel=1e-7), "another norm of the loop, closed by python-control"
    assert less.gain < 1.05 * synthesis.gain
    assert less.controller.input_labels == ["gyro"]
    assert less.controller.output_labels == ["motor"]


def test_the_loop_decides_what_is_left_out(synthesis: tt.Synthesis) -> None:
    """The negative control: balancing without the loop is worse in it."""
    K = synthesis.controller
    alone = tt.reduce_controller(K, 2)
    loop = flexible().lft(alone.controller)
    inside = tt.reduce_controller(K, 2, loop=synthesis)
    assert (loop.poles().real >= 0).any() or control.linfnorm(loop)[0] > 1.02 * inside.gain


def test_units_of_a_plant_s_signals_do_not_matter(synthesis: tt.Synthesis) -> None:
    S = tt.hinfsyn(flexible(), "gyro", "motor")
    T = np.diag([1e5, 1e-4, 10, 1, 1e3, 1e-2])
    K = S.controller
    other = control.StateSpace(
        T @ K.A @ np.linalg.inv(T), T @ K.B, K.C @ np.linalg.inv(T), K.D, inputs=K.input_labels, outputs=K.output_labels
    )
    one, two = (tt.reduce_controller(controller, 3, loop=S) for controller in (K, other))
    assert two.gain == pytest.approx(one.gain, rel=1e-6), "the same controller in other coordinates"


def test_unstable_modes_and_integrators_stay() -> None:
    K = control.StateSpace(
        np.diag([1.0, 0.0, -2.0, -50.0]), np.ones((4, 1)), [[1, 1, 1, 0.1]], [[0.0]], inputs=["y"], outputs=["u"]
    )
    less = tt.reduce_controller(K, 3)
    poles = np.sort(less.controller.poles().real)
    assert poles[1:] == pytest.approx([0, 1], abs=1e-9), "exactly"
    assert less.error < 0.1 / 50 * 2.1, "twice the singular value of the fast mode"
    with pytest.raises(tt.ModelError, match="take 2 or more") as caught:
        tt.reduce_controller(K, 1)
    assert caught.value.code == "order-too-low"


def test_an_integrator_stays_in_a_loop() -> None:
    G = control.tf([1], [1, 1], inputs=["torque"], outputs=["angle"])
    K = control.ss(control.tf([-3, -2], [1, 0]) * control.tf([1], [0.01, 1]), inputs=["angle"], outputs=["torque"])
    less = tt.reduce_controller(K, 1, loop=G)
    assert np.abs(less.controller.poles()).max() < 1e-9
    assert less.gain < 1.1 * less.before
    assert control.feedback(control.ss(G), less.controller, 1).dcgain() == pytest.approx(0, abs=1e-9), "no error at rest"


def test_a_plant_that_is_all_measured_and_a_sampled_one() -> None:
    G = control.tf([1], [1, 0.2, 1], inputs=["torque"], outputs=["angle"])
    K = tt.mixsyn(G, w1=control.tf([0.5, 1], [1, 0.001]), w2=0.1).controller
    less = tt.reduce_controller(K, 2, loop=G, sign=-1)
    k, g = less.controller, control.ss(G)
    four = control.StateSpace(
        *(getattr(g, name) for name in "AB"), np.vstack([g.C, 0 * g.C]), [[0.0], [0.0]]
    )  # the plant with its input as a second output
    assert four.noutputs == 2
    assert (control.feedback(g * k, 1).poles().real < 0).all()
    assert less.gain < 1.01 * less.before
    period = 0.01
    sampled = control.sample_system(control.ss(G), period)
    sampled_K = control.sample_system(control.ss(K), period, "bilinear")
    less = tt.reduce_controller(
        control.ss(sampled_K, inputs=["angle"], outputs=["torque"]),
        2,
        loop=control.ss(sampled, inputs=["torque"], outputs=["angle"]),
        sign=-1,
    )
    assert less.controller.dt == period
    assert (np.abs(control.feedback(control.ss(sampled) * less.controller, 1).poles()) < 1).all()


def test_references_are_disturbances_of_the_loop() -> None:
    G = control.tf([1], [1, 1, 0], inputs=["torque"], outputs=["angle"])
    K = control.StateSpace(
        [[-10.0, 0], [0, -200.0]],
        [[1, -1], [1, 0]],
        [[-90, 0.5]],
        [[10.0, -10.0]],
        inputs=["r_angle", "angle"],
        outputs=["torque"],
    )
    less = tt.reduce_controller(K, 1, loop=G)
    assert less.controller.input_labels == ["r_angle", "angle"]
    assert less.gain == pytest.approx(less.before, rel=0.1)
    with pytest.raises(tt.ModelError) as caught:
        tt.reduce_controller(K, 1, loop=G, sign=-1)
    assert caught.value.code == "unstable-loop"


def test_a_family_is_proved_again() -> None:
    s = tt.System("drive", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", mass=2.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    s.connect("world", arm, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5.0, damping=0.4))
    m = s.resolve()
    family = tt.lft(m, m.neutral(), {"arm.mass": tt.percent(30)}, inputs=["hinge"], outputs=["hinge.q"])
    K = tt.mixsyn(family.nominal, w1=control.tf([0.3, 3], [1, 0.01]), w2=0.002).controller
    less = tt.reduce_controller(K, 2, loop=family, sign=-1)
    assert less.proof is not None
    assert less.proof.robust
    assert tt.robust_stability(family.close(less.controller, sign=-1), progress=False).robust


def test_refusals(synthesis: tt.Synthesis) -> None:
    K = synthesis.controller
    for order in (-1, 7, 2.0, True):
        with pytest.raises(tt.ModelError) as caught:
            tt.reduce_controller(K, order, loop=synthesis)  # type: ignore[arg-type]
        assert caught.value.code == "bad-value"
    G = control.tf([1], [1, -1], inputs=["torque"], outputs=["angle"])
    unstable = control.StateSpace([[0.0]], [[1.0]], [[-0.5]], [[-2.0]], inputs=["angle"], outputs=["torque"])
    with pytest.raises(tt.ModelError) as caught:
        tt.reduce_controller(unstable, 0, loop=G, sign=-1)
    assert caught.value.code == "unstable-loop"
    with pytest.raises(tt.ModelError) as caught:
        tt.reduce_controller(unstable, 0, loop=G, sign=2)
    assert caught.value.where == "sign"
    with pytest.raises(tt.ModelError) as caught:
        tt.reduce_controller(unstable, 0, loop=control.tf([1], [1, -1], inputs=["torque"], outputs=["rate"]))
    assert caught.value.code == "unknown-signal"
    with pytest.raises(tt.ModelError) as caught:
        tt.reduce_controller(unstable, 0, loop=control.tf([1], [1, -1], 0.1, inputs=["torque"], outputs=["angle"]))
    assert caught.value.code == "bad-time"
    # a lead is needed for two integrators
    lead = control.StateSpace([[-10.0]], [[10.0]], [[9.0]], [[-10.0]], inputs=["angle"], outputs=["torque"])
    double = control.tf([1], [1, 0, 0], inputs=["torque"], outputs=["angle"])
    with pytest.raises(tt.ModelError, match="take 1 or more") as caught:
        tt.reduce_controller(lead, 0, loop=double)
    assert caught.value.code == "order-too-low"
