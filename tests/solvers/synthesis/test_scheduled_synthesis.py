"""Gain-scheduled controllers against H-infinity optima, frozen norms and gains of time-varying loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain
from titop.solvers.synthesis.general_plant import close

pytest.importorskip("clarabel")

SIGNALS = {"inputs": ["force", "noise", "u"], "outputs": ["error", "effort", "y"]}

#: The solver knows a level to a few thousandths; controllers step back by one hundredth.
KNOWN, REACHED = 0.005, 0.016


def spring(k: float, noise: float = 0.1) -> control.StateSpace:
    """Return a mass on a spring (k), pushed by a disturbance and the control, its place measured."""
    B, C = [[0, 0, 0], [1, 0, 1]], [[1, 0], [0, 0], [1, 0]]
    return control.ss([[0, 1], [-k, -0.1]], B, C, [[0, 0, 0], [0, 0, 1], [0, noise, 0]], **SIGNALS)


def springs(noise: float = 0.1) -> tt.LPVModel:
    stiffness = (0.5, 1.0, 1.5)
    return tt.LPVModel.of({"k": stiffness}, [spring(k, noise) for k in stiffness])


def norm(system: Any) -> float:
    return peak_gain(Matrices.of(system))[0]


def random_plant(seed: int, n: int = 4) -> control.StateSpace:
    """Return a plant with two controls and two measurements, all feedthroughs, an unstable mode perhaps."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) - np.eye(n)
    B1, B2, C1, C2 = (rng.normal(size=shape) for shape in ((n, 2), (n, 2), (2, n), (2, n)))
    D = np.zeros((6, 6))
    D[:2, :2] = 0.3 * rng.normal(size=(2, 2))
    D[2:4, 4:], D[4:, 2:4], D[4:, 4:] = np.eye(2), np.eye(2), 0.1 * rng.normal(size=(2, 2))
    names = {"inputs": ["w0", "w1", "n0", "n1", "u0", "u1"], "outputs": ["z0", "z1", "e0", "e1", "y0", "y1"]}
    B, C = np.hstack([B1, np.zeros((n, 2)), B2]), np.vstack([C1, np.zeros((2, n)), C2])
    return control.ss(A, B, C, D, **names)


@pytest.mark.parametrize("seed", range(4))
def test_a_constant_plant_has_the_controller_of_hinfsyn(seed: int) -> None:
    P = random_plant(seed)
    found, right = tt.lpvsyn(tt.LPVModel.of({"p": [0, 1]}, [P, P]), ["y0", "y1"], ["u0", "u1"]), tt.hinfsyn(P, 2, 2)
    assert found.optimum == pytest.approx(right.optimum, rel=KNOWN)
    assert right.optimum * (1 - KNOWN) <= norm(found.loop.at(p=0.3)) <= found.gain <= right.optimum * (1 + REACHED)
    assert found.proof


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_singular_plants_are_perturbed(noise: float) -> None:
    """Without noise, and with a control that is in no error, `hinfsyn` knows the infimum."""
    P = spring(1.0, noise)[["error", "y"], :]
    P = control.ss(P.A, P.B, P.C, P.D, inputs=SIGNALS["inputs"], outputs=["error", "y"])
    found, right = tt.lpvsyn(tt.LPVModel.of({"k": [1.0]}, [P]), "y", "u"), tt.hinfsyn(P, "y", "u")
    assert norm(found.loop.at(k=1.0)) <= found.gain
    assert found.gain <= max(1.05 * right.optimum, 0.05), "the infimum is zero without noise"


def test_a_rotating_measurement_costs_nothing() -> None:
    """A known rotation of all that is measured, and of all controls, is undone, arbitrarily fast, at the same gain."""
    P, angles = random_plant(1), np.linspace(0, 1.0, 4)

    def turned(angle: float) -> control.StateSpace:
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        A, B, C, D = (np.array(getattr(P, name)) for name in "ABCD")
        B[:, 4:], D[:, 4:] = B[:, 4:] @ R, D[:, 4:] @ R
        C[4:], D[4:] = R @ C[4:], R @ D[4:]
        return control.ss(A, B, C, D, inputs=P.input_labels, outputs=P.output_labels)

    found = tt.lpvsyn(tt.LPVModel.of({"angle": angles}, [turned(a) for a in angles]), 2, 2)
    right = tt.hinfsyn(P, 2, 2).optimum
    # the effort e is in the turned axes: |e| is not
    assert found.optimum == pytest.approx(right, rel=KNOWN)
    assert max(norm(found.loop.at(angle=a)) for a in angles) <= found.gain <= right * (1 + REACHED)
    assert not found.proof, "what controls move changes between the points"


def test_slower_parameters_cost_less() -> None:
    family = springs()
    frozen = max(tt.hinfsyn(spring(k), "y", "u").optimum for k in (0.5, 1.0, 1.5))
    optima = [tt.lpvsyn(family, "y", "u", {"k": rate}, degree=2).optimum for rate in (0.0, 0.1, 1.0, 1e4)]
    fast = tt.lpvsyn(family, "y", "u")
    assert frozen * (1 - KNOWN) <= optima[0] <= 1.01 * frozen, "polynomials cost a little"
    assert (np.diff([*optima, fast.optimum]) > -KNOWN).all()
    assert optima[0] < 0.95 * fast.optimum
    assert optima[-1] == pytest.approx(fast.optimum, rel=2 * KNOWN)
    assert fast.proof
    more = tt.lpvsyn(family, "y", "u", {"k": 1.0}, degree=2, rate_feedback=True)
    assert more.controller.needs_rates
    assert more.optimum <= optima[2] * (1 + KNOWN)


def varying_gain(found: tt.LPVSynthesis, family: tt.LPVModel, k: Callable[[float], float], rates: bool = False) -> float:
    """Return the gain of a loop along a parameter's motion: of disturbances that change 12 times a second, for 25 s."""
    dt, steps, rows = 1 / 12, 300, []
    reached = np.zeros((4, 0))  # states at the beginning of a step, by the disturbances before
    for t in (np.arange(steps) + 0.5) * dt:
        rate = {"k": (k(t + 1e-4) - k(t - 1e-4)) / 2e-4} if rates else None
        if t < dt or k(t) != k(t - dt):
            P, K = (Matrices.of(s) for s in (family.at(k=k(t)), found.controller.at({"k": k(t)}, rate)))
        A, B, C, D = close(P, K, 2, 2)
        step = expm(np.block([[A, B], [np.zeros((2, 6))]]) * dt)
        before = np.hstack([reached, np.zeros((4, 2))])
        reached = np.hstack([step[:4, :4] @ reached, step[:4, 4:]])
        row = np.zeros((2, 2 * steps))
        row[:, : reached.shape[1]] = C @ (before + reached) / 2
        row[:, reached.shape[1] - 2 : reached.shape[1]] += D
        rows.append(row)
    return float(np.linalg.norm(np.vstack(rows), 2))


@pytest.mark.parametrize(("rates", "feedback"), [(None, False), ({"k": 0.4}, False), ({"k": 0.4}, True)])
def test_gains_along_motions_stay_below_the_proved_one(rates: dict[str, float] | None, feedback: bool) -> None:
    """Outputs are means of the ends of steps, errors of which are 1 % (against frozen norms at ``k = 1``)."""
    family = springs()
    found = tt.lpvsyn(family, "y", "u", rates, rate_feedback=feedback)
    frozen = varying_gain(found, family, lambda t: 1.0, feedback)
    assert frozen == pytest.approx(norm(found.loop.at(k=1.0)), rel=0.01), "the second way, at rest"
    omega = 2.2 if rates is None else 0.8
    moving = varying_gain(found, family, lambda t: 1 + 0.5 * np.sin(omega * t), feedback)
    assert 0.7 * found.gain < moving < 1.01 * found.gain


def test_frozen_norms_between_points_stay_below_the_gain() -> None:
    family = springs()
    for rates in (None, {"k": 0.3}):
        found = tt.lpvsyn(family, "y", "u", rates)
        for k in np.linspace(0.5, 1.5, 11):
            P, K = family.at(k=k), found.controller.at({"k": k})
            loop = control.ss(P).lft(K, 1, 1)
            assert norm(loop) <= found.gain
        shown = tt.lyapunov_stability(found.loop, rates)
        assert shown.stable, "another Lyapunov function for the same loop"


@pytest.mark.long
def test_polynomials_do_not_swing_between_the_points() -> None:
    """Controls and measurements move from point to point, so that nothing is proved in between: half-way was not enough."""
    rng, members = np.random.default_rng(7), []
    A, B1, B2, C1, C2 = (rng.normal(size=shape) for shape in ((3, 3), (3, 2), (3, 1), (2, 3), (1, 3)))
    D = np.zeros((5, 4))
    D[2, 3] = D[4, 2] = 1.0
    places = np.linspace(-1, 1, 4)
    for _ in places:
        A_k, B2_k, C2_k = A + 1.5 * rng.normal(size=(3, 3)), B2 + rng.normal(size=(3, 1)), C2 + rng.normal(size=(1, 3))
        B, C = np.hstack([B1, np.zeros((3, 1)), B2_k]), np.vstack([C1, np.zeros((2, 3)), C2_k])
        members.append(control.ss(A_k, B, C, D, inputs=["v", "w", "n", "u"], outputs=["a", "b", "e", "f", "y"]))
    family = tt.LPVModel.of({"p": places}, members)
    found = tt.lpvsyn(family, "y", "u", {"p": 0.0}, degree=3, progress=False)
    worst = max(norm(family.at({"p": p}).lft(found.controller.at({"p": p}))) for p in np.linspace(-1, 1, 41))
    assert not found.proof
    assert 0.9 * found.gain < worst <= 1.01 * found.gain, "tested at 60 members; before, some were unstable"


def test_rates_make_synthesis_possible() -> None:
    """A spring so lightly damped that no constant function shows its stiffness harmless, with weak controls."""
    members = [control.ss(*_weak(k), **SIGNALS) for k in (0.6, 1.0, 1.4)]
    family = tt.LPVModel.of({"k": [0.6, 1.0, 1.4]}, members)
    fast = tt.lpvsyn(family, "y", "u").optimum
    slow = tt.lpvsyn(family, "y", "u", {"k": 0.02}).optimum
    assert slow < 0.5 * fast


def _weak(k: float) -> tuple[Any, ...]:
    B, C = [[0, 0, 0], [0.1, 0, 0.1]], [[1, 0], [0, 0], [1, 0]]
    return [[0, 1], [-k, -0.02]], B, C, [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_a_fractional_family_is_sampled() -> None:
    """The same springs as a linear fractional model, in the names of its parameter."""
    s = tt.System("cart")
    s.connect("world", tt.RigidBody("cart", mass=1.0), joint=tt.Prismatic("rail", axis=[1, 0, 0], stiffness=1.0, damping=0.1))
    m = s.resolve()
    lft = tt.lft(m, m.neutral(), {"rail.stiffness": (0.5, 1.5)}, inputs=["rail.tau"], outputs=["rail.q"])

    def weighted(G: control.StateSpace) -> control.StateSpace:
        B, C = np.hstack([G.B, 0 * G.B, G.B]), np.vstack([G.C, 0 * G.C, G.C])
        D = [[0, 0, 0], [0, 0, 1], [0, 0.1, 0]]
        outputs = ["error", "effort", "rail_q"]
        return control.ss(G.A, B, C, D, states=G.state_labels, inputs=["force", "noise", "rail_tau"], outputs=outputs)

    found, right = tt.lpvsyn(lft, "rail.q", "rail.tau", weighted=weighted), tt.lpvsyn(springs(), "y", "u")
    assert found.optimum == pytest.approx(right.optimum, rel=KNOWN)
    assert not found.proof
    K = tt.ScheduledController(-found.controller, {"rail.stiffness": "rail.stiffness"}, sample_time=0.02)
    run = tt.simulate(m.with_parameters({"rail.stiffness": 0.7}), np.linspace(0, 40, 201), [1.0], [0.0], controller=K)
    assert abs(run.q[-1, 0]) < 0.01


def test_a_controller_follows_its_parameter_in_time() -> None:
    """The simulated loop against the time-varying linear one."""
    found = tt.lpvsyn(springs(), "y", "u", {"k": 1.0}, rate_feedback=True)
    K = found.controller
    assert not np.allclose(K.at({"k": 1.0}, {"k": 0.5}).A, K.at({"k": 1.0}).A, rtol=1e-6)
    assert K.at({"k": 1.0}).state_labels == ["x[0]_estimate", "x[1]_estimate"]
    with pytest.raises(tt.ModelError) as caught:
        K.at({"k": "one"})
    assert (caught.value.code, caught.value.where) == ("wrong-type", "rho: k")


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        ({"family": 3}, "wrong-type", "family"),
        ({"measurements": "speed"}, "unknown-signal", "measurements"),
        ({"rates": {"mass": 1.0}}, "unknown-parameter", "rates"),
        ({"rates": {"k": -1.0}}, "bad-rate", "rates['k']"),
        ({"degree": 0}, "bad-value", "degree"),
        ({"weighted": 3}, "wrong-type", "weighted"),
        (
            {"weighted": lambda G: G if G.A[1, 0] < -0.9 else control.append(G, control.ss(-1, 1, 1, 0))},
            "other-states",
            "family",
        ),
    ],
)
def test_unusable_arguments_are_refused(change: dict[str, Any], code: str, where: str) -> None:
    arguments = {"family": springs(), "measurements": "y", "controls": "u"} | change
    with pytest.raises(tt.ModelError) as caught:
        tt.lpvsyn(**arguments)
    assert caught.value.code == code
    assert where in caught.value.where


def test_a_member_that_cannot_be_stabilized_is_named_with_its_point() -> None:
    """An unstable mode that the control does not move at ``gain = 0`` alone."""
    B2 = [[[g]] for g in (1.0, 0.5, 0.0)]
    members = [
        control.ss([[1.0]], np.hstack([[[1.0, 0.0]], b]), [[1], [0], [1]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]], **SIGNALS)
        for b in B2
    ]
    with pytest.raises(tt.ModelError, match=r"controls at gain = 0") as caught:
        tt.lpvsyn(tt.LPVModel.of({"gain": [1.0, 0.5, 0.0]}, members), "y", "u")
    assert caught.value.code == "unstabilizable-mode"


def test_controls_that_change_sign_have_no_controller() -> None:
    """Each member is stabilized, but none in between: the gain passes zero."""
    members = [
        control.ss([[1.0]], [[1.0, 0.0, g]], [[1], [0], [1]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]], **SIGNALS) for g in (-1.0, 1.0)
    ]
    with pytest.raises(tt.ModelError) as caught:
        tt.lpvsyn(tt.LPVModel.of({"gain": [-1.0, 1.0]}, members), "y", "u")
    assert caught.value.code == "no-controller"


def test_other_members_make_no_family() -> None:
    for parameters, members, code in (
        ({"k": [0, 1, 2]}, [spring(1), spring(2)], "wrong-shape"),
        ({"k": [0, 1]}, [spring(1), random_plant(0)], "other-signals"),
    ):
        with pytest.raises(tt.ModelError) as caught:
            tt.LPVModel.of(parameters, members)
        assert caught.value.code == code
