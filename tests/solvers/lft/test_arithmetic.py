"""Sums, products and feedback of linear fractional models: members are those that python-control makes of members."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.uncertainty import NamedRange, Uncertain
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal

RANGES = {"upper.mass": tt.percent(20), "elbow.damping": (0.1, 0.3), "shoulder.q": (-0.5, 0.5)}
DRIVES = ["shoulder", "elbow"]


@cache
def arm() -> tt.Model:
    s = tt.System("arm", gravity=[0, 0, -9.81])
    upper, lower = (
        tt.RigidBody("upper", 2.0, com=[0, 0, -1], inertia=0.1),
        tt.RigidBody("lower", 1.0, com=[0, 0, -0.5], inertia=0.1),
    )
    s.connect("world", upper, tt.Revolute("shoulder", axis=[0, 1, 0], damping=0.3))
    s.connect(upper, lower, tt.Revolute("elbow", axis=[0, 1, 0], damping=0.2), placement=tt.Pose([0, 0, -1]))
    return s.resolve()


@cache
def family(*names: str, outputs: str = "qq") -> tt.LFTModel:
    """Return the arm with some uncertain parameters; outputs are angles or rates of both joints."""
    ranges = {name: RANGES[name] for name in names or RANGES}
    outs = [f"{joint}.{letter}" for joint, letter in zip(DRIVES, outputs, strict=True)]
    return tt.lft(arm(), arm().neutral(), ranges, inputs=DRIVES, outputs=outs)


def other() -> tt.LFTModel:
    return family("shoulder.q", "upper.mass", outputs="vv")


def member(model: tt.LFTModel, values: dict[str, float]) -> control.StateSpace:
    """Return a plain member: values of parameters that a model does not have are left out."""
    names = {block.name for block in model.blocks}
    system = model.at({name: value for name, value in values.items() if name in names})
    return control.ss(system.A, system.B, system.C, system.D, float(system.dt or 0.0))


def compensator(period: float = 0.0) -> control.StateSpace:
    a = 0.5 if period else -3.0
    time_base = (period,) if period else ()
    return control.ss([[a]], [[1.0, 2.0]], [[1.0], [2.0]], [[5.0, 0], [0, 5.0]], *time_base)


LAGS = control.tf([[[1.0], [2.0, 1.0]], [[0.0], [1.0]]], [[[1.0, 3.0], [1.0, 3.0]], [[1.0], [1.0, 1.0]]])
SQUARE = np.array([[1.0, 2.0], [0.0, 1.0]])
#: Of a model P, another Q that shares parameters with it, and a state space K.
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda P, Q, K: P + Q,
    "difference": lambda P, Q, K: P - Q,
    "product": lambda P, Q, K: P * Q,
    "twice": lambda P, Q, K: P + P,
    "before": lambda P, Q, K: P * K,
    "behind": lambda P, Q, K: K * P,
    "transfer functions": lambda P, Q, K: P * LAGS,
    "beside": lambda P, Q, K: K - P,
    "negative": lambda P, Q, K: -P,
    "scaled": lambda P, Q, K: 2.5 * P / 0.3,
    "shifted": lambda P, Q, K: 1.0 + P,
    "rows": lambda P, Q, K: np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]) * P,
    "columns": lambda P, Q, K: P * SQUARE,
    "matrix more": lambda P, Q, K: P + SQUARE,
    "negative feedback": lambda P, Q, K: P.feedback(Q),
    "positive feedback": lambda P, Q, K: P.feedback(K, sign=1),
    "all": lambda P, Q, K: (P * Q + P).feedback(K) * 2.0 - Q,
}


def largest_difference(found: tt.LFTModel, right: Callable[[dict[str, float]], Any], points: list[complex]) -> float:
    """Return the largest difference of members, relative, at random values."""
    worst = 0.0
    for values in found.samples(6, seed=3):
        exact, got = right(values), found.at(values)
        for point in points:
            wanted = exact(point)
            worst = max(worst, float(np.abs(got(point) - wanted).max() / np.abs(wanted).max()))
    return worst


@pytest.mark.parametrize("name", OPERATIONS)
def test_members_are_what_python_control_makes_of_members(name: str) -> None:
    operation, P, Q, K = OPERATIONS[name], family(), other(), compensator()
    found = operation(P, Q, K)

    def right(values: dict[str, float]) -> Any:
        return operation(member(P, values), member(Q, values), K)

    points = [0.1j, 1j, 3j, 0.5 + 2j]
    # 1e-10: responses of up to 17 states are solved to some 1e-13, and reductions keep the response to 1e-11
    assert largest_difference(found, right, points) < 1e-10
    assert largest_difference(found, lambda _: right({}), points) > 1e-3  # the negative control: the nominal member alone
    shared = {block.name: block.repetitions for block in found.blocks}
    assert sorted(shared) == sorted(RANGES)
    reduced = found.reduce()
    assert largest_difference(reduced, right, points) < 1e-10
    assert all(block.repetitions >= (block.degree or 0) for block in reduced.blocks)


def test_what_is_shared_is_merged() -> None:
    """The sum of a model with itself needs no more than the model, once its states are reduced, too."""
    P = family()
    twice = P + P
    assert twice.M.state_labels[:4] == P.M.state_labels
    once = twice.reduce()
    assert [block.repetitions for block in once.blocks] == [block.repetitions for block in P.blocks]
    assert once.M.nstates == P.M.nstates
    assert [block.degree for block in twice.blocks] == [block.degree for block in P.blocks]
    apart = P + family("upper.mass")
    assert {block.name: block.repetitions for block in apart.blocks}["upper.mass"] == 2


def test_a_gain_merges_without_states() -> None:
    """(1 + k)(1 - k) k with one k: three repetitions at most, as a polynomial of the third degree needs."""
    k = static_gain("k", 0.5, 1.5, unit="1")
    product = (1.0 + k) * (1.0 - k) * k
    assert product.blocks[0].repetitions == product.blocks[0].degree == 3
    for value in (0.5, 0.9, 1.5):
        assert product.at(k=value).D.item() == pytest.approx((1 + value) * (1 - value) * value, rel=1e-12)
    assert (k - k).blocks[0].repetitions == 0


def static_gain(name: str, lower: float, upper: float, unit: str = "") -> tt.LFTModel:
    """Return an uncertain gain."""
    half, block = (upper - lower) / 2, tt.DeltaBlock.real(name, 1, lower, upper, unit=unit)
    signals = [Signal(f"{name}.w[0]", "1"), Signal("in", "")], [Signal(f"{name}.z[0]", "1"), Signal("out", "")]
    D = np.array([[0.0, 1.0], [half, (upper + lower) / 2]])
    M = named_system((np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((2, 0)), D), [], *signals, name)
    return tt.LFTModel(M, (block,), (uncertain_of(block),))


def uncertain_of(block: tt.DeltaBlock) -> Uncertain:
    half = (block.upper - block.lower) / 2
    return Uncertain(block, (NamedRange(block.name, block.name, (block.upper + block.lower) / 2, half),))


@pytest.mark.parametrize(("inputs", "outputs"), [(None, None), (1, 1), (1, 0), (2, 1)])
def test_the_star_product(inputs: int | None, outputs: int | None) -> None:
    P, Q = family(), other()
    found = P.star(Q, inputs, outputs)
    nu, ny = (-1 if count is None else count for count in (inputs, outputs))
    if (inputs, outputs) == (None, None):
        assert (found.channels[0], found.channels[1]) == (found.M.ninputs, found.M.noutputs)  # nothing is left
        P = P.append(control.ss([], [], [], np.vstack([np.eye(2)] * 2), inputs=P.M.output_labels[-2:]))
        P, nu, ny = P.prepend(control.ss([], [], [], np.hstack([np.eye(2)] * 2), outputs=P.M.input_labels[-2:])), 2, 2
        found = P.star(Q)

    def right(values: dict[str, float]) -> Any:
        return member(P, values).lft(member(Q, values), nu, ny)

    assert largest_difference(found, right, [0.1j, 1j, 0.5 + 2j]) < 1e-10  # as above
    of = [*P.M.input_labels[P.channels[0] :][: 2 if inputs is None else 2 - nu], *DRIVES[ny:]]
    assert [label.removesuffix("_2") for label in found.M.input_labels[found.channels[0] :]] == of


def test_systems_before_and_behind_by_names() -> None:
    """An uncertain motor at one joint, a weight on one output: the others are passed on, and names tell which."""
    P, gain = family(), static_gain("torque_constant", 0.9, 1.1)
    motor = gain.prepend(control.ss([[-20.0]], [[20.0]], [[1.0]], [[0.0]], inputs=["voltage"], outputs=["in"]))
    motor = motor.append(control.ss([], [], [], [[1.0]], inputs=["out"], outputs=["elbow"]))
    assert (motor.M.input_labels[-1], motor.M.output_labels[-1]) == ("voltage", "elbow")
    weight = control.ss([[-1.0]], [[1.0]], [[2.0]], [[0.1]], inputs=["shoulder_q"], outputs=["error"])
    found = P.prepend(motor).append(weight)
    assert found.M.input_labels[found.channels[0] :] == ["voltage", "shoulder"]
    assert found.M.output_labels[found.channels[1] :] == ["error", "elbow_q"]
    assert tt.signal_table(found.M)["shoulder"].unit == "N m"

    def right(values: dict[str, float]) -> Any:
        lag = control.ss(control.tf(20.0, [1, 20.0])) * values["torque_constant"]
        K, W = control.ss(weight.A, weight.B, weight.C, weight.D), control.ss([], [], [], [[0, 1], [1, 0]])
        plant = member(P, values) * W  # the elbow first
        return control.append(K, control.ss([], [], [], [[1.0]])) * plant * control.append(lag, control.ss([], [], [], [[1.0]]))

    assert largest_difference(found, right, [0.1j, 3j]) < 1e-10  # as above
    assert found.at(torque_constant=1.05).nstates == P.M.nstates + 2


def test_sampled_models() -> None:
    K = compensator(0.05)
    P = family().close(control.ss(K.A, K.B, -0.1 * K.C, -0.1 * K.D, 0.05, **names()), stages=2)
    K = compensator(0.05)
    for operation in (lambda P, K: P * K, lambda P, K: P + K, lambda P, K: P.feedback(K)):
        found = operation(P, K)
        assert found.M.dt == 0.05
        points = [np.exp(0.05j), np.exp(0.4j)]
        assert largest_difference(found, lambda values, op=operation: op(member(P, values), K), points) < 1e-10  # as above
    with pytest.raises(tt.ModelError, match=r"feedback: got 0\.05 s and 0\.1 s.*other-sample-time"):
        P.feedback(compensator(0.1))
    with pytest.raises(tt.ModelError, match=r"\*: got 0\.05 s and continuous time|\*: got continuous time and 0\.05 s"):
        P * compensator()
    assert (P * SQUARE).M.dt == 0.05  # a constant goes with any


def names() -> dict[str, Any]:
    return {"inputs": ["shoulder_q", "elbow_q"], "outputs": DRIVES}


# -- analyses ---------------------------------------------------------------------------------------------------------------


def lag(name: str) -> tt.LFTModel:
    """Return 1 / (s + p) with an uncertain p in (1, 3): its state's rate is -(2 + d) x + u."""
    block = tt.DeltaBlock.real(name, 1, 1.0, 3.0)
    w, z = [Signal(f"{name}.w[0]", "1"), Signal("u", "")], [Signal(f"{name}.z[0]", "1"), Signal("y", "")]
    matrices = [[-2.0]], [[-1.0, 1.0]], [[1.0], [1.0]], np.zeros((2, 2))
    M = named_system([np.array(matrix) for matrix in matrices], [Signal("x", "")], w, z, "lag")
    return tt.LFTModel(M, (block,), (uncertain_of(block),))


def three_lags_by_hand(gain: float) -> tt.LFTModel:
    """Return ``gain / (s + p)^3`` in negative feedback, its p repeated three times."""
    A = -2.0 * np.eye(3) + np.eye(3, k=-1)
    A[0, 2] = -gain
    B, C = np.hstack([-np.eye(3), gain * np.eye(3, 1)]), np.vstack([np.eye(3), [0, 0, 1]])
    block = tt.DeltaBlock.real("p", 3, 1.0, 3.0)
    w, z = ([Signal(f"p.{letter}[{k}]", "1") for k in range(3)] for letter in "wz")
    states = [Signal(f"x{k}", "") for k in range(3)]
    M = named_system((A, B, C, np.zeros((4, 4))), states, [*w, Signal("u", "")], [*z, Signal("y", "")], "by hand")
    return tt.LFTModel(M, (block,), (uncertain_of(block),))


@pytest.mark.parametrize("gain", [4.0, 12.0])
def test_robustness_is_that_of_the_loop_built_by_hand(gain: float) -> None:
    """Poles at -p + gain^(1/3) e^(±iπ/3): stable for all p from 1 on if the gain is less than 8."""
    p = lag("p")
    loop, right = (gain * p * p * p).feedback(), three_lags_by_hand(gain)
    assert [(b.repetitions, b.degree) for b in loop.blocks] == [(3, 3)]
    found, wanted = tt.mu(loop, [0.5, 1.0, 2.0]), tt.mu(right, [0.5, 1.0, 2.0])
    # bounds of one function; scalings are found by iterations that end at some 1e-3
    assert found.upper == pytest.approx(wanted.upper, rel=5e-3)
    assert found.lower == pytest.approx(wanted.lower, rel=5e-3, abs=1e-6)
    exact = 1 / (2.0 - gain ** (1 / 3) / 2)  # over how far p may fall from its middle of 2, in parts of the half range of 1
    for model in (loop, right):
        result, margin = tt.robust_stability(model), tt.robust_stability(model, margin=True)
        assert result.robust == (gain < 8.0)
        assert margin.lower == pytest.approx(exact, rel=1e-3)  # of the search
        assert exact <= margin.upper * (1 + 1e-9)


def test_parameters_of_other_names_are_others() -> None:
    """The negative control: with three numbers of their own, the product of three lags has three blocks."""
    loop = (4.0 * lag("p") * lag("r") * lag("t")).feedback()
    assert [(block.name, block.repetitions) for block in loop.blocks] == [("t", 1), ("r", 1), ("p", 1)]
    assert loop.at(p=1.2, r=2.2, t=2.9)(0.7j) == pytest.approx(
        1 / (1 + (0.7j + 1.2) * (0.7j + 2.2) * (0.7j + 2.9) / 4.0), rel=1e-12
    )


def test_feedback_and_close_are_one_loop() -> None:
    P, K = family(), compensator()
    named = control.ss(K.A, K.B, -K.C, -K.D, **names())
    by_name, by_order = P.close(named), P.feedback(K)
    assert by_order.blocks == by_name.blocks
    for values in P.samples(3):
        assert by_order.at(values)(1j) == pytest.approx(by_name.at(values)(1j), rel=1e-12)
    assert tt.mu(by_order, [1.0, 3.0]).upper == pytest.approx(tt.mu(by_name, [1.0, 3.0]).upper, rel=1e-6)  # one matrix


def test_complex_blocks_of_one_name_are_one() -> None:
    P = family("upper.mass").append("motor", "elbow", 0.2)
    found = P + P
    assert {block.name: (block.kind, block.repetitions) for block in found.blocks}["motor"] == ("complex", 2)
    assert found.at({"upper.mass": 1.9})(1j) == pytest.approx(2 * P.at({"upper.mass": 1.9})(1j), rel=1e-12)


# -- refusals ---------------------------------------------------------------------------------------------------------------


def refusals() -> dict[str, tuple[str, Callable[[], Any]]]:
    P = family()
    wide = tt.lft(arm(), arm().neutral(), {"upper.mass": tt.percent(30)}, DRIVES, ["shoulder.q", "elbow.q"])
    tied = {("upper.mass", "lower.mass"): tt.percent(20)}
    both = tt.lft(arm(), arm().neutral(), tied, DRIVES, ["shoulder.q", "elbow.q"])
    full = P.append("modes", DRIVES, 0.1)
    integrator, one = (
        control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]]),
        control.ss([], [], [], [[1.0]], inputs=["a"], outputs=["b"]),
    )
    scalar = static_gain("k", 0.5, 1.5)
    return {
        "range": (r"\+: upper\.mass: got lower .*other-range", lambda: P + wide),
        "tie": (r"upper\.mass.*other-range", lambda: P * both),
        "full": (r"modes.*given-twice", lambda: full + full),
        "size": (r"\*: got 1 signals; expected 2.*wrong-size", lambda: P * scalar),
        "sum": (r"\+: got 1 x 1 signals; expected 2 x 2.*wrong-size", lambda: P + integrator),
        "text": (r"wrong-type", lambda: P + "K"),
        "infinite": (r"not-finite", lambda: P + control.ss([], [], [], np.full((2, 2), np.inf))),
        "sign": (r"sign: got 2.*bad-value", lambda: P.feedback(1.0, sign=2)),
        "loop": (r"algebraic-loop", lambda: control.ss([], [], [], np.eye(2)) * (P * 0.0 + np.eye(2)).feedback(-1.0)),
        "star": (r"at most 2 inputs.*wrong-size", lambda: P.star(P, 3, 1)),
        "unknown": (r"unknown-signal", lambda: P.prepend(one)),
        "unknown output": (r"unknown-signal", lambda: P.append(one)),
        "signals of a system": (r"append: signals, outputs.*a system alone.*bad-value", lambda: P.append(one, "elbow")),
        "step": (r"no-sample-time", lambda: P * control.ss([[0.5]], [[1.0, 1.0]], [[1.0], [1.0]], np.zeros((2, 2)), True)),
        "improper": (r"s\^1 over s\^0.*improper", lambda: scalar * control.tf([1, 0], [1])),
        "no system": (r"no-model", lambda: (P + P).check()),
    }


@pytest.mark.parametrize("name", refusals())
def test_refusals(name: str) -> None:
    match, call = refusals()[name]
    with pytest.raises(tt.ModelError, match=match):
        call()


def test_what_cancels_is_reduced_to_nothing() -> None:
    """Not to rounding: a difference of a model and itself, and with what another output leaves."""
    plant = family()
    nothing = (plant - plant).reduce()
    assert nothing.M.nstates == 0
    assert [block.repetitions for block in nothing.blocks] == [0, 0, 0]
    assert not nothing.nominal.D.any()
    half = (plant - np.diag([1.0, 0.5]) * plant).reduce()
    assert half.nominal(2j)[1] == pytest.approx(0.5 * plant.nominal(2j)[1], rel=1e-9)
