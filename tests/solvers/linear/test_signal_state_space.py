"""Operations of python-control keep signals: the same numbers as those of plain systems, with paths and units."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.linear.state_space import named_system
from titop.solvers.signals.exported import Signal

pytestmark = pytest.mark.portable

Systems = dict[str, control.StateSpace]
STATES, INPUTS, OUTPUTS = ["hinge.q", "hinge.v"], ["hinge", "motor"], ["hinge.q", "tip.r[0]"]


def plant() -> control.StateSpace:
    """Return a pendulum of titop's kind, with two inputs and outputs."""
    matrices = [[0.0, 1.0], [-4.0, -0.2]], [[0.0, 0.0], [2.0, 3.0]], [[1.0, 0.0], [0.5, 0.1]], [[1.0, 0.2], [0.3, 2.0]]
    units = {"hinge.q": "rad", "hinge.v": "rad/s", "hinge": "N m", "motor": "V", "tip.r[0]": "m"}
    groups = ([Signal(name, units[name]) for name in names] for names in (STATES, INPUTS, OUTPUTS))
    return named_system([np.array(matrix) for matrix in matrices], *groups, "pendulum")


def controller(n: int = 2) -> control.StateSpace:
    """Return a plain controller."""
    names = {"states": ["k"], "inputs": [f"e{i}" for i in range(n)], "outputs": [f"c{i}" for i in range(n)]}
    return control.ss([[-1.0]], np.ones((1, n)), np.ones((n, 1)), 0.1 * np.eye(n), **names)


#: What is done with the plant P, a plain controller K, and the same of one channel p, k; and paths of the result.
TWICE = [*STATES, "hinge.q_2", "hinge.v_2"]
OPERATIONS: dict[str, tuple[Callable[[Any, Any, Any, Any], Any], list[str], list[str], list[str]]] = {
    "index": (lambda P, K, p, k: P[1, 0], STATES, INPUTS[:1], OUTPUTS[1:]),
    "names": (lambda P, K, p, k: P[["tip_r[0]", "hinge_q"], ["motor"]], STATES, INPUTS[1:], OUTPUTS[::-1]),
    "minus": (lambda P, K, p, k: -P, STATES, INPUTS, OUTPUTS),
    "twice": (lambda P, K, p, k: 2 * P, STATES, INPUTS, OUTPUTS),
    "half": (lambda P, K, p, k: P / 2, STATES, INPUTS, OUTPUTS),
    "sum": (lambda P, K, p, k: P + P, TWICE, INPUTS, OUTPUTS),
    "difference": (lambda P, K, p, k: P - K, [*STATES, "x[0]"], INPUTS, OUTPUTS),  # of -K
    "number more": (lambda P, K, p, k: p + 1.0, STATES, INPUTS[:1], OUTPUTS[:1]),
    "series": (lambda P, K, p, k: P * K, ["k", *STATES], ["e0", "e1"], OUTPUTS),
    "behind": (lambda P, K, p, k: control.series(P, K), [*STATES, "k"], INPUTS, ["c0", "c1"]),
    "parallel": (lambda P, K, p, k: control.parallel(p, k), [*STATES, "k"], INPUTS[:1], OUTPUTS[:1]),
    "matrix": (lambda P, K, p, k: np.array([[1.0, 1.0]]) * P, STATES, INPUTS, ["y[0]"]),
    "transfer function": (lambda P, K, p, k: p * control.tf(1, [1, 1]), ["x[0]", *STATES], INPUTS[:1], OUTPUTS[:1]),
    "feedback": (lambda P, K, p, k: control.feedback(P, K), [*STATES, "k"], INPUTS, OUTPUTS),
    "unity": (lambda P, K, p, k: p.feedback(1), STATES, INPUTS[:1], OUTPUTS[:1]),
    "append": (
        lambda P, K, p, k: control.append(P, P),
        TWICE,
        [*INPUTS, "hinge_2", "motor_2"],
        [*OUTPUTS, "hinge.q_2", "tip.r[0]_2"],
    ),
    "power": (lambda P, K, p, k: P**2, TWICE, INPUTS, OUTPUTS),
    "inverse": (lambda P, K, p, k: P**-1, STATES, OUTPUTS, INPUTS),
    "c2d": (lambda P, K, p, k: control.c2d(P, 0.1), STATES, INPUTS, OUTPUTS),
    "sample_system": (lambda P, K, p, k: control.sample_system(P, 0.1, "tustin"), STATES, INPUTS, OUTPUTS),
    "copy": (lambda P, K, p, k: P.copy(), STATES, INPUTS, OUTPUTS),
    "deep copy": (lambda P, K, p, k: copy.deepcopy(P), STATES, INPUTS, OUTPUTS),
    "pickle": (lambda P, K, p, k: pickle.loads(pickle.dumps(P)), STATES, INPUTS, OUTPUTS),
}
UNITS = {"q": "rad", "v": "rad/s", "r[0]": "m", "hinge": "N m", "motor": "V"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_keep_signals(name: str) -> None:
    operation, *paths = OPERATIONS[name]
    P, K = plant(), controller()
    plain = control.ss(P.A, P.B, P.C, P.D, inputs=P.input_labels, outputs=P.output_labels)
    found = operation(P, K, P[0, 0], controller(1))
    right = plain if name == "pickle" else operation(plain, K, plain[0, 0], controller(1))  # plain systems do not pickle
    for matrix in "ABCD":
        assert np.array_equal(getattr(found, matrix), getattr(right, matrix)), matrix
    assert found.dt == right.dt
    table = tt.signal_table(found)
    labels = found.state_labels, found.input_labels, found.output_labels
    assert [[table[label].path for label in side] for side in labels] == paths
    for path, unit in ((signal.path.removesuffix("_2"), signal.unit) for signal in table.values()):
        assert unit == UNITS.get(path.split(".")[-1], ""), path


def test_what_is_no_operation_of_a_plain_first_system() -> None:
    """Python asks the subclass first where the plain system stands on the left; the numbers are those of plain systems."""
    P, K = plant(), controller()
    plain = control.ss(P.A, P.B, P.C, P.D)
    for found, right in ((K * P, K * plain), (K + P, K + plain), (K - P, K - plain)):
        assert tt.signal_table(found)["hinge_q"].unit == "rad"
        assert found(0.3j) == pytest.approx(right(0.3j), rel=1e-14)  # sums in another order
    with pytest.raises(tt.ModelError, match="no-signals"):  # the negative control
        tt.signal_table(control.feedback(K, P))


def test_new_names_keep_units() -> None:
    P = plant()
    P.update_names(inputs=["torque", "voltage"])
    assert tt.signal_table(P)["torque"] == tt.Signal("torque", "N m")
    sampled = control.c2d(P, 0.1, outputs=["angle", "place"])
    assert tt.signal_table(sampled)["angle"] == tt.Signal("angle", "rad")
    assert tt.signal_table(sampled)["voltage"] == tt.Signal("voltage", "V")


def test_the_operating_point_goes_with_what_is_about_it() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect(
        "world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0], rest=0.3, stiffness=9.0)
    )
    m = s.resolve()
    system = tt.linearize(m, tt.trim(m, q={"hinge": 0.1}), inputs=["hinge"], outputs=["hinge.q"])
    angle = system.operating_point["q"]["hinge"]
    assert 9.0 * (angle - 0.3) == pytest.approx(-2 * 9.81 * np.sin(angle), abs=1e-9)  # the balance of torques
    for derived in (system[0, 0], -system, control.c2d(system, 0.1), system.copy()):
        assert derived.operating_point == system.operating_point
    assert (system + system).operating_point is None
