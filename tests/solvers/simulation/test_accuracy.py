"""Absolute tolerances by name and unit, against scaled problems, closed forms, and simulations with one number."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.simulation.simulated_models import Array, largest
from tests.stated_systems import LaggingJoint, MaxwellJoint
from titop.blocks.basics.spatial import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
)
from titop.solvers.simulation.accuracy import AbsoluteTolerances

METHODS = ("DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "exponential", "generalized-alpha")


def craft() -> tt.Model:
    """Return a body on a free joint that carries a wheel on a hinge, and a mass on a rail."""
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=3.0, inertia=[1.0, 2.0, 2.5], ports={"A": [0.1, 0, 0.2], "B": [0, 0.3, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), tt.RigidBody("wheel", mass=1.0, inertia=0.1), tt.Revolute("hinge", axis=[0, 0, 1], damping=0.1))
    s.connect(hub.port("B"), tt.RigidBody("mass", mass=0.5), tt.Prismatic("rail", stiffness=30.0))
    return s.resolve()


def oscillators(*, damping: float = 0.0) -> tt.Model:
    """Return two masses on springs that do not know of each other; one has a filtered force."""
    s = tt.System("oscillators", gravity=[0, 0, 0])
    for name, stiffness in (("near", 3.0), ("far", 5.0)):
        s.connect("world", tt.RigidBody(f"mass_{name}", mass=1.0), tt.Prismatic(name, stiffness=stiffness, damping=damping))
    return s.resolve()


# What is given for which state.


def of(atol: Any, model: tt.Model, count: int | None = None) -> list[float]:
    return AbsoluteTolerances(model, atol).of_state(model.nq + model.nv + model.nx if count is None else count).tolist()


def test_one_number_is_for_all() -> None:
    model = craft()
    assert of(1e-7, model) == of({"default": 1e-7}, model) == [1e-7] * (model.nq + model.nv)
    assert of(1e-7, model, model.nq + model.nv + 2)[-2:] == [1e-7, 1e-7]  # of a controller's states


def test_units_are_for_velocities_too_unless_these_are_named() -> None:
    model = craft()
    q = [1e-3] * 3 + [1e-9] * 4 + [1e-9, 1e-3]
    assert of({"m": 1e-3, "rad": 1e-9}, model) == q + [1e-3] * 3 + [1e-9] * 3 + [1e-9, 1e-3]
    assert of({"m": 1e-3, "rad": 1e-9, "m/s": 1e-5}, model) == q + [1e-5] * 3 + [1e-9] * 3 + [1e-9, 1e-5]
    assert of({"m": 1e-3, "default": 1e-9}, model) == q + [1e-3] * 3 + [1e-9] * 3 + [1e-9, 1e-3]


def test_names_go_before_units_and_those_of_coordinates_before_those_of_joints() -> None:
    model = craft()
    free = {"base": {"m": 1e-2, "rad": 1e-6, "rad/s": 1e-5}}
    found = of(free | {"m": 1e-3, "rad": 1e-9, "base.y": 2e-2, "base.y.v": 3e-2, "hinge.v": 1e-4}, model)
    q, v = np.split(np.array(found), [model.nq])
    assert q.tolist() == [1e-2, 2e-2, 1e-2, *[1e-6] * 4, 1e-9, 1e-3]
    assert v.tolist() == [1e-2, 3e-2, 1e-2, *[1e-5] * 3, 1e-4, 1e-3]


def test_rotations_have_the_smallest_of_their_angles() -> None:
    found = of({"default": 1e-3, "base.rx": 1e-6, "base.rz": 1e-7}, craft())
    assert found[3:7] == [1e-7] * 4


def test_first_order_states_by_name_and_unit() -> None:
    s = tt.System("states", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=1.0), LaggingJoint("hinge"))
    model = s.resolve()
    assert model.state_names == ("hinge.effort",)
    (unit,) = model.mechanism.inputs.state_units
    assert of({"hinge": {unit: 1e-4, "rad": 1e-8}}, model) == [1e-8, 1e-8, 1e-4]
    assert of({"hinge.effort": 1e-4, "rad": 1e-8}, model) == [1e-8, 1e-8, 1e-4]


REFUSED = [
    ({"bases": 1e-3, "default": 1e-9}, "unknown-name", "did you mean 'base'"),
    ({"kg": 1e-3, "default": 1e-9}, "unknown-name", "a name or unit of the model's states"),
    ({"base": {"kg": 1e-3}, "default": 1e-9}, "unknown-name", "'base', 'kg'"),
    ({3: 1e-3, "default": 1e-9}, "unknown-name", "3"),
    ({"hinge": 0.0, "default": 1e-9}, "bad-tolerance", r"atol\['hinge'\]: got 0.0; expected a positive number"),
    ({"base": {"m": -1.0, "rad": 1.0}, "default": 1e-9}, "bad-tolerance", r"atol\['base'\]\['m'\]: got -1.0"),
    ({"default": np.nan}, "bad-tolerance", "positive"),
    ({"m": [1e-3, 1e-3], "rad": 1e-9}, "bad-tolerance", "positive"),
    ({"m": 1e-3}, "bad-tolerance", "none for base.rx, base.ry, base.rz, hinge, base.rx.v"),
    ({"hinge.v": 1e-3, "m": 1e-3, "base": {"rad": 1e-9}}, "bad-tolerance", "none for hinge; expected"),
    ({}, "bad-tolerance", "none for base.x"),
    ({"base": 1e-3, "default": 1e-9}, "bad-tolerance", "'m': ..., 'rad': ..."),
    ({"base.v": 1e-3, "default": 1e-9}, "bad-tolerance", "one for each unit"),
    ([1e-3, 1e-9], "bad-tolerance", "a positive number"),
]


@pytest.mark.parametrize(("atol", "code", "text"), REFUSED)
def test_what_is_refused(atol: Any, code: str, text: str) -> None:
    model = craft()
    with pytest.raises(tt.ModelError, match=text) as caught:
        tt.simulate(model, [0, 1], model.neutral(), np.zeros(model.nv), atol=atol)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["m", "rad", "rad/s", "default"])
def test_a_joint_that_is_called_like_a_unit_has_no_tolerance_by_that_name(name: str) -> None:
    s = tt.System("names", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=1.0), tt.Revolute(name))
    s.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail"))
    model = s.resolve()
    with pytest.raises(tt.ModelError) as caught:
        of({"m": 1e-3, "rad": 1e-9, "default": 1e-5, name: 1e-4}, model)
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [("ambiguous-name", f"atol[{name!r}]")]
    assert of({name: {"rad": 1e-3}, "rail": 1e-4}, model) == [1e-3, 1e-4, 1e-3, 1e-4]
    assert of(1e-6, model) == [1e-6] * 4


class Leaning(tt.Universal):
    coordinates = ("v", "w")


def test_a_coordinate_that_is_called_like_the_joint_s_rates_has_no_tolerance_by_that_name() -> None:
    s = tt.System("names", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mast", mass=1.0, inertia=1.0), Leaning("foot"))
    model = s.resolve()
    with pytest.raises(tt.ModelError, match=r"atol\['foot.v'\].*ambiguous-name"):
        of({"foot.v": 1e-3, "rad": 1e-9}, model)
    assert of({"foot.w": 1e-3, "foot.v.v": 1e-4, "rad": 1e-9}, model) == [1e-9, 1e-3, 1e-4, 1e-3]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(tt.ModelError) as caught:
        AbsoluteTolerances(craft(), {"bases": 1e-3, "base": 1e-3})
    assert [finding.code for finding in caught.value.findings] == ["unknown-name", "bad-tolerance", "bad-tolerance"]


def test_units_that_a_model_lacks_may_be_given() -> None:
    model = oscillators()
    assert of({"m": 1e-3, "rad": 1e-9}, model) == [1e-3] * 4


# What integrators make of it.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pushed", [False, True], ids=["free", "function"])
def test_a_scaled_problem_has_the_same_error(method: str, pushed: bool) -> None:
    """A linear coordinate that is a million times as large, its tolerance too, goes through the same steps."""
    model, t, large = oscillators(damping=0.1), np.linspace(0, 3, 7), 2.0**20
    push = {"tau": lambda t, q, v: -0.2 * v} if pushed else {}
    rtol, small = (1e-6, 1e-3) if method == "generalized-alpha" else (1e-10, 1e-5)
    given: dict[str, Any] = {"method": method, "rtol": rtol, "progress": False} | push
    wide = {"far": large * small, "near": small}
    one = tt.simulate(model, t, [1.0, 0.5], [0.0, 1.0], atol=small, **given)
    two = tt.simulate(model, t, [1.0, large * 0.5], [0.0, large], atol=wide, **given)
    assert two.statistics["steps"] == one.statistics["steps"]
    # Steps are scaled by a power of two, but for rounding where matrices are factored, and what that does to their lengths.
    np.testing.assert_allclose(two.q / [1.0, large], one.q, atol=1e-9)
    np.testing.assert_allclose(two.v / [1.0, large], one.v, atol=1e-9)
    tight = tt.simulate(model, t, [1.0, large * 0.5], [0.0, large], atol=small, **given)
    if method != "exponential":  # which is exact whatever the tolerance
        assert tight.statistics["steps"] > 1.05 * two.statistics["steps"]


@pytest.mark.parametrize("method", METHODS)
def test_equal_numbers_leave_the_bits_of_one(method: str) -> None:
    model, rng = craft(), np.random.default_rng(0)
    q, v = model.random_configuration(rng), 0.5 * rng.normal(size=model.nv)
    given: dict[str, Any] = {"method": method, "rtol": 1e-5, "progress": False}
    named = {"base": {"m": 1e-7, "rad": 1e-7}, "hinge": 1e-7, "m": 1e-7}
    one, two = (tt.simulate(model, [0, 0.2, 0.5], q, v, atol=atol, **given) for atol in (1e-7, named))
    assert one.q.tobytes() == two.q.tobytes()
    assert one.v.tobytes() == two.v.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_a_coarse_name_saves_steps(method: str) -> None:
    model = craft()
    v = np.append([0.1, 0.2, 0.3, 1.0, 2.0, 3.0], [5.0, 0.1])
    fine = 1e-5 if method == "generalized-alpha" else 1e-9
    steps = [
        tt.simulate(model, [0, 0.5], model.neutral(), v, method=method, rtol=1e-7, atol=atol, progress=False).statistics[
            "steps"
        ]
        for atol in (fine, {"base": {"m": 1e-2, "rad": 1e-2}, "rail": 1e-2, "hinge": fine})
    ]
    assert steps[1] < steps[0]


@pytest.mark.parametrize("method", ["DOP853", "Radau", "generalized-alpha"])
def test_closed_loops(method: str) -> None:
    model = four_bar(tt.RigidClosure("pin", kind="planar_revolute", axis=[0, 0, 1])).resolve()
    q = model.assemble(model.configuration({"q1": 1.0}), fixed=["q1"])
    rtol, fine = (1e-6, 1e-6) if method == "generalized-alpha" else (1e-9, 1e-8)
    given: dict[str, Any] = {"method": method, "rtol": rtol, "progress": False}
    loose, tight, named = (
        tt.simulate(model, [0, 0.2, 0.5], q, np.zeros(3), atol=atol, **given)
        for atol in (1e-3, fine, {"q1": fine, "rad": 1e-3})
    )
    steps = [run.statistics["steps"] for run in (loose, named, tight)]
    assert steps == sorted(steps)
    assert steps[0] < steps[1]
    assert largest(named.q - tight.q) < 0.3 * largest(loose.q - tight.q)


#: The earth's (m^3/s^2), of an orbit: semi-major axis (m), eccentricity, mean motion (1/s).
MU, AXIS, ECCENTRICITY = 3.986004418e14, 7e6, 0.1
MEAN_MOTION = np.sqrt(MU / AXIS**3)
#: Of a body of revolution (kg, kg m^2), and its first angular velocity (rad/s).
MASS, INERTIA, SPIN = 100.0, np.array([40.0, 40.0, 25.0]), np.array([0.004, 0.0, 0.01])


def orbit(t: Array) -> Array:
    """Return positions (n, 3; m) on the ellipse, by Kepler's equation."""
    anomaly = mean = MEAN_MOTION * t
    for _ in range(20):
        anomaly = anomaly - (anomaly - ECCENTRICITY * np.sin(anomaly) - mean) / (1 - ECCENTRICITY * np.cos(anomaly))
    across = np.sqrt(1 - ECCENTRICITY**2) * np.sin(anomaly)
    return AXIS * np.stack([np.cos(anomaly) - ECCENTRICITY, across, np.zeros(len(t))], axis=1)


def attitude(t: float) -> Array:
    """Return the quaternion of a body of revolution without loads: a turn about its momentum, then one about its axis."""
    about_momentum = quaternion_exp(t * INERTIA * SPIN / INERTIA[0])
    about_axis = quaternion_exp(t * (1 / INERTIA[2] - 1 / INERTIA[0]) * INERTIA * SPIN * [0.0, 0.0, 1.0])
    return quaternion_product(about_momentum, about_axis)


def flown(free: bool, method: str, rtol: float, atol: Any) -> tuple[float, float, float]:
    """Return the largest errors of position (m) and attitude (rad) over half an orbit, and how many steps it took."""
    s = tt.System("orbit", gravity=[0, 0, 0])
    body, above = tt.RigidBody("craft", mass=MASS, inertia=INERTIA), "world"
    if free:
        s.connect(above, body, tt.Free("base"))
    else:
        for name, axis in zip("xyz", np.eye(3), strict=True):
            s.connect(above, tt.RigidBody(f"slide_{name}", mass=0.0), tt.Prismatic(name, axis=axis))
            above = s[f"slide_{name}"]
        s.connect(above, body, tt.Spherical("attitude"))
    model, t = s.resolve(), np.linspace(0, np.pi / MEAN_MOTION, 11)

    def pull(t: float, q: Array, v: Array) -> Array:
        force = -MU * MASS / np.linalg.norm(q[:3]) ** 3 * q[:3]
        return np.append(quaternion_matrix(q[3:]).T @ force if free else force, np.zeros(3))

    fast = np.sqrt(MU / AXIS * (1 + ECCENTRICITY) / (1 - ECCENTRICITY))
    loads: dict[str, Any] = {"wrenches": {"craft": pull}} if free else {"tau": pull}
    start = [*orbit(t[:1])[0], 0, 0, 0, 1], [0, fast, 0, *SPIN]
    run = tt.simulate(model, t, *start, method=method, rtol=rtol, atol=atol, progress=False, **loads)
    turns = [
        quaternion_log(quaternion_product(quaternion_conjugate(attitude(a)), q[3:7])) for a, q in zip(t, run.q, strict=True)
    ]
    return largest(run.q[:, :3] - orbit(t)), largest(turns), run.statistics["steps"]


def test_an_orbit_and_an_attitude() -> None:
    by_unit = {"m": 1e-3, "m/s": 1e-6, "rad": 1e-9}
    place, turn, steps = flown(True, "DOP853", 1e-12, by_unit)
    assert place < 0.1  # 75 steps with errors of a millimetre, which grow along the orbit
    assert turn < 1e-8
    assert flown(True, "DOP853", 1e-12, 1e-9)[2] > 3 * steps  # 1e-9 m of 7e6 m is rounding


def test_one_number_is_coarse_for_the_one_or_fine_for_the_other() -> None:
    by_unit = {"m": 1e-3, "rad": 1e-9}
    place, turn, _ = flown(False, "RK45", 1e-9, by_unit)
    assert place < 1e-2
    assert turn < 1e-6
    assert flown(False, "RK45", 1e-9, 1e-3)[1] > 100 * turn


@pytest.mark.parametrize("method", ["DOP853", "RK45", "BDF", "Radau", "generalized-alpha"])
def test_first_order_states_have_their_own(method: str) -> None:
    """A coordinate at rest with a state that decays: its tolerance alone decides about the steps."""
    s = tt.System("decay", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=2.0), MaxwellJoint("hinge"))
    model, t = s.resolve(), np.linspace(0, 0.5, 6)
    given: dict[str, Any] = {"method": method, "rtol": 1e-10, "progress": False, "x0": [0.5]}
    (state,) = model.state_names
    runs = [
        tt.simulate(model, t, [0.2], [0.0], atol={state: atol, "rad": 1e-3}, **given).statistics["evaluations"]
        for atol in (1e-8, 1e-3)
    ]
    assert runs[0] > runs[1]


@pytest.mark.parametrize("method", ["DOP853", "BDF", "generalized-alpha"])
def test_states_of_controllers_have_the_default(method: str) -> None:
    model, t = oscillators(), np.linspace(0, 2, 5)
    K = control.ss([[-40.0]], [[1.0]], [[80.0]], [[0.1]], inputs=["near_q"], outputs=["near"])
    given: dict[str, Any] = {"method": method, "rtol": 1e-10, "controller": K, "progress": False}
    one, same, coarse = (
        tt.simulate(model, t, [1, 0], [0, 0], atol=atol, **given)
        for atol in (1e-4, {"m": 1e-4, "default": 1e-4}, {"m": 1e-4, "default": 1e3})
    )
    assert same.q.tobytes() == one.q.tobytes()
    fine = tt.simulate(model, t, [1, 0], [0, 0], atol={"m": 1e-4, "default": 1e-7}, **given)
    assert fine.statistics["evaluations"] > coarse.statistics["evaluations"]
    with pytest.raises(tt.ModelError, match="none for the controller's states"):
        tt.simulate(model, t, [1, 0], [0, 0], atol={"m": 1e-4}, **given)


def test_changes_events_and_continuations() -> None:
    model, t = craft(), np.linspace(0, 1, 6)
    q, v = model.neutral(), np.arange(model.nv) / 5.0
    passes = tt.Event(lambda t, q, v: q[-1] - 0.05, name="passes", terminal=False)
    named = {"base": {"m": 1e-8, "rad": 1e-8}, "default": 1e-8}
    given: dict[str, Any] = {"changes": tt.Lock("hinge", 0.5), "events": passes, "rtol": 1e-8, "progress": False}
    one, two = (tt.simulate(model, t, q, v, atol=atol, **given) for atol in (1e-8, named))
    assert one.q.tobytes() == two.q.tobytes()
    assert one.events["passes"].tolist() == two.events["passes"].tolist()
    rest = [tt.simulate(model, t + 1, start=two, hold="hinge", rtol=1e-8, atol=atol, progress=False) for atol in (1e-8, named)]
    assert rest[0].q.tobytes() == rest[1].q.tobytes()
