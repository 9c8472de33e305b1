"""Linear systems with named signals: found by name, made unlike others; channels inverted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.closed_systems import geared_hand, slider_crank
from tests.solvers.linear.nonlinear_systems import cart
from tests.systems import random_tree
from titop.solvers.linear.state_space import positions, read_linear, unlike
from titop.solvers.signals.exported import Signal

pytestmark = pytest.mark.portable


def test_an_inverted_channel_gives_the_effort_back() -> None:
    """Driving a joint by its acceleration, and the effort as output: the inverse of driving it by its effort."""
    model = cart().resolve()
    forward = tt.linearize(model, model.neutral(), ["rail", "lower"], ["rail.a", "upper.q"])
    inverse = tt.linearize(model, model.neutral(), ["rail.a", "lower"], ["rail.tau", "upper.q"])
    inverted = tt.invert_channels(forward, ["rail"])
    for s in (0.3j, 2.0 + 1j):
        assert np.abs(inverted(s) - inverse(s)).max() < 1e-10  # the same rational function, evaluated
    assert np.abs(inverse(2j) - forward(2j)).max() > 1e-2


def test_no_channels_are_refused_as_such() -> None:
    model = cart().resolve()
    forward = tt.linearize(model, model.neutral(), ["rail"], ["rail.a"])
    with pytest.raises(tt.ModelError, match=r"channels: got \[\]; expected one channel at least.*no-channel"):
        tt.invert_channels(forward, [])


def lift() -> tt.System:
    """Return a cabin on a vertical rail, in which a bob hangs a metre below its hinge."""
    s = tt.System("lift", gravity=[0, 0, -9.81])
    cabin, bob = tt.RigidBody("cabin", 10.0), tt.RigidBody("bob", 1.0, com=[0, 0, -1], inertia=1e-6)
    s.connect("world", cabin, tt.Prismatic("rail", axis=[0, 0, 1]))
    s.connect(cabin, bob, tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


@pytest.mark.filterwarnings("ignore:.*no-equilibrium:titop.ModelWarning")
def test_a_pendulum_in_a_lift_that_is_driven_upwards() -> None:
    """At g + 9.81 m/s^2 it swings with sqrt(2 g / L): driven by effort, by acceleration, in families, and not where held."""
    m = lift().resolve()
    still, g = np.zeros(2), 9.81

    def point(mass: float = 1.0) -> tt.OperatingPoint:
        own = {"bob.mass": mass}
        return tt.OperatingPoint(m.with_parameters(own), still, still, [(10 + mass) * 2 * g, 0], parameters=own)

    def swings(A: np.ndarray) -> float:
        return float(np.abs(np.linalg.eigvals(A)).max())

    expected = np.sqrt(2 * g / (1 + 1e-6))  # the bob's own inertia, over m L^2
    found = [tt.linearize(m, point(), [name], ["hinge.q"]).A for name in ("rail", "rail.a")]
    found.append(tt.lft(m, point(), {"bob.com.z": (-1.2, -0.8)}, ["rail.a", "hinge"], ["hinge.q"]).at({}).A)
    families = {"bob.mass": [0.9, 1.1]}
    family = tt.lpv(m, families, points=[point(x) for x in families["bob.mass"]], inputs=["rail.a"], outputs=["rail.tau"])
    # 1e-9: a fraction that is fitted; and mass times 1e-6 m^2 of inertia, which the family changes by 10 %
    assert [swings(A) for A in found] == pytest.approx([expected] * 3, rel=1e-9)
    assert swings(family.at(bob_mass=1.0).A) == pytest.approx(expected, rel=2e-7)
    held = tt.linearize(m, point(), ["hinge"], ["hinge.q"], hold=["rail"])
    assert swings(held.A) == pytest.approx(np.sqrt(g / (1 + 1e-6)), rel=1e-12)  # frozen, at rest
    with pytest.warns(tt.ModelWarning, match=r"rail: got accelerated by -9.81"):
        fallen = tt.linearize(m, still, ["rail.a"], ["hinge.q"])  # no effort: it falls freely, and nothing swings
    assert swings(fallen.A) == pytest.approx(0.0, abs=1e-6)  # a double zero, split by rounding


def sprung_arm() -> tt.System:
    """Return a flexible beam with a load at its end, on a slide and a hinge."""
    s = tt.System("arm", gravity=[0.5, -0.3, -9.81])
    slide, beam = tt.RigidBody("slide", 3.0), tt.Beam("beam", 2.0, 2700.0, 1e-3, 7e8, iy=1e-7, iz=2e-7, modes=1)
    s.connect("world", slide, tt.Prismatic("rail", axis=[0, 0, 1]))
    s.connect(slide, beam, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(beam.port("C"), tt.RigidBody("load", 1.0, com=[0.1, 0, 0], inertia=0.1), tt.Weld("end"))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize(
    ("make", "driven", "hold"),
    [
        (lambda: random_tree(np.random.default_rng(4), 5, passive=True), 2, 0),
        (lambda: random_tree(np.random.default_rng(5), 5, passive=True), 3, 1),
        (slider_crank, 0, 0),
        (geared_hand, 1, 0),
        (sprung_arm, 0, 0),
        (sprung_arm, 0, 1),
    ],
)
def test_a_driven_channel_is_the_inverse_about_every_point(make: Callable[[], tt.System], driven: int, hold: int) -> None:
    """In motion, under efforts and a wrench, far from any equilibrium; the last coordinates held: in both engines."""
    rng, system = np.random.default_rng(6), make()
    for engine in ("compiled", "reference"):
        model = system.resolve(engine)
        q = model.random_configuration(np.random.default_rng(1))
        v, tau = rng.normal(size=model.nv), 5 * rng.normal(size=model.nv)
        v[model.nv - hold :] = 0.0
        if model.is_constrained:
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
        body, names = model.body_names[-1], model.coordinate_names
        point = tt.OperatingPoint(model, q, v, tau, wrenches={body: rng.normal(size=6)})
        name, options = names[driven], {"hold": list(names[model.nv - hold :])}
        if model.is_constrained:
            options["independent"] = list(model.independent_coordinates(q))
        outputs = [f"{name}.a", f"{names[0 if driven else 1]}.q", f"{body}.dv", f"{body}.dw"]
        forward = tt.linearize(model, point, [name, body], outputs, **options)
        direct = tt.linearize(model, point, [f"{name}.a", body], [f"{name}.tau", *outputs[1:]], **options)
        inverted = tt.invert_channels(forward, [(name, f"{name}.a")])
        for s in (0.3j, 2.0 + 1j):
            size = np.abs(direct(s)).max()
            assert np.abs(inverted(s) - direct(s)).max() < 1e-9 * size  # the same function, by other ways
            assert np.abs(forward(s) - direct(s)).max() > 1e-3 * size


# -- signals by name --------------------------------------------------------------------------------------------------------

KNOWN = [Signal("gyro.x", "rad/s"), Signal("gyro.y", "rad/s"), Signal("hub.C.F[0]", "N"), Signal("hub.C.F[1]", "N")]


def test_entries_and_vectors() -> None:
    """Dotted or as they are exported."""
    assert positions("signals", ["hub.C.F", "gyro_y"], KNOWN) == [2, 3, 1]
    assert positions("signals", ["hub_C_F[1]", "gyro"], KNOWN) == [3, 0, 1]
    with pytest.raises(tt.ModelError, match="unknown-signal"):
        positions("signals", ["gyr"], KNOWN)
    with pytest.raises(tt.ModelError, match="given-twice"):
        positions("signals", ["gyro", "gyro.x"], KNOWN)


def test_names_that_are_taken() -> None:
    found = unlike([Signal("gyro.x", ""), Signal("gyro_x", ""), Signal("x[0]", "")], KNOWN)
    assert [signal.path for signal in found] == ["gyro.x_2", "gyro_x_3", "x[0]"]


def transfer_function(shape: tuple[int, int], like: str, dt: float = 0.0) -> control.TransferFunction:
    """Return channels of third order: of denominators of their own, of one denominator, or multiples of one channel."""
    rng, (rows, columns) = np.random.default_rng(4), shape
    factor, one = rng.standard_normal((rows, 1)) @ rng.standard_normal((1, columns)), rng.standard_normal(4)
    roots = rng.uniform(-0.9, -0.2, (rows, columns, 3))
    den = [[np.poly(roots[i, j] if like == "own" else roots[0, 0]) for j in range(columns)] for i in range(rows)]
    num = [[factor[i, j] * one if like == "multiple" else rng.standard_normal(4) for j in range(columns)] for i in range(rows)]
    names = {"inputs": [f"y{k}" for k in range(columns)], "outputs": [f"u{k}" for k in range(rows)]}
    return control.tf(num, den, dt, **names)


@pytest.mark.parametrize("dt", [0.0, 0.1])
@pytest.mark.parametrize(
    ("shape", "like", "states"),
    [((1, 1), "own", 3), ((2, 3), "own", 18), ((2, 3), "same", 6), ((3, 2), "same", 6), ((3, 2), "multiple", 3)],
)
def test_transfer_functions_are_realised_with_few_states(shape: tuple[int, int], like: str, states: int, dt: float) -> None:
    """python-control evaluates the quotients; it needs slycot to realise several channels."""
    transfer = transfer_function(shape, like, dt)
    K = read_linear("controller", transfer)
    assert (K.nstates, K.dt, K.input_labels, K.output_labels) == (states, dt, transfer.input_labels, transfer.output_labels)
    for s in (0.3j, 2.0 + 1j, 50.0):
        right = transfer(s, squeeze=False)
        assert np.abs(K(s, squeeze=False) - right).max() < 1e-12 * np.abs(right).max()  # cubics of numbers of size one


def test_a_state_space_stays_what_it_is() -> None:
    K = control.ss([], [], [], [[2.0]], inputs=["y"], outputs=["u"])
    assert read_linear("controller", K) is K
    zeros_and_poles = control.zpk([-1.0], [-2.0, -3.0], 4.0, inputs=["y"], outputs=["u"])
    assert sorted(read_linear("controller", zeros_and_poles).poles().real) == pytest.approx([-3.0, -2.0], rel=1e-12)


@pytest.mark.parametrize(
    ("system", "code", "words"),
    [
        (control.tf([2.0, 0.0], [1.0]), "improper", ("s^1 over s^0", "Kd s becomes Kd s / (T s + 1)")),
        (control.tf([1.0, 0.0, 0.0], [1.0, 0.5], 0.1), "improper", ("z^2 over z^1", "divide by z")),
        (control.tf([[[1.0], [1.0, 0.0, 0.0]]], [[[1.0, 1.0], [1.0, 2.0]]]), "improper", ("u[1] to y[0]",)),
        (3.0, "wrong-type", ("a control.StateSpace or control.TransferFunction",)),
    ],
)
def test_what_cannot_be_realised_is_refused_with_a_cure(system: Any, code: str, words: tuple[str, ...]) -> None:
    with pytest.raises(tt.ModelError, match=r"controller") as caught:
        read_linear("controller", system)
    assert caught.value.code == code
    assert all(word in str(caught.value) for word in words)
