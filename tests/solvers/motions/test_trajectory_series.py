"""Stacks of derivatives of motions given as functions of time, against series in fifty digits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline
from scipy.spatial.transform import Rotation

import titop as tt
from tests.precise_series import array, sin_cos, time, turning
from tests.refusals import refusal
from tests.series_oracle import DURATION, START, TRAVEL, Array, Oracle, Relative, aerial_manipulator, rounded, table3

#: Rounding of some ten products of numbers of size one, times factorials up to 7!.
ROUNDING = 1e-13


def assert_stacks_agree(found: Array, expected: Array) -> None:
    """Compare the orders by themselves, each relative to its largest entry."""
    for row, known in zip(found, expected, strict=True):
        np.testing.assert_allclose(row, known, rtol=0, atol=ROUNDING * np.abs(known).max(initial=1e-6))


def yaw(t: Any) -> Any:
    """Return the yaw (rad) of Table 3."""
    return np.deg2rad(25) * np.sin(np.pi / 15 * t)


def about_z(t: Any) -> Any:
    c, s = np.cos(yaw(t)), np.sin(yaw(t))
    return [[c, -s, 0], [s, c, 0], [0, 0, 1]]


def circle(t: Any) -> Any:
    return [np.cos(np.pi / 10 * t), np.sin(np.pi / 10 * t), 0]


def joints() -> dict[str, Callable[[Any], Any]]:
    """Return the joints' motions of Table 3."""

    def travelling(start: float, travel: float) -> Callable[[Any], Any]:
        return lambda t: np.deg2rad(start) + np.deg2rad(travel) / 2 * (1 - np.cos(np.pi / DURATION * t))

    return {f"q{k}": travelling(*each) for k, each in enumerate(zip(START, TRAVEL, strict=True), start=2)}


#: The base of Table 3 in all forms.
BASES: dict[str, Any] = {
    "matrix": (circle, about_z),
    "quaternion": (circle, lambda t: [0, 0, np.sin(yaw(t) / 2), np.cos(yaw(t) / 2)]),
    "Euler angles": (circle, lambda t: [0, 0, yaw(t)]),
    "one function": lambda t: (circle(t), about_z(t)),
    "arrays": (lambda t: np.array(circle(t)), lambda t: np.array(about_z(t))),
}


@pytest.mark.parametrize("form", BASES)
@pytest.mark.parametrize("instant", [0.0, 11.3])
def test_table_3(form: str, instant: float) -> None:
    m, (motions, q) = aerial_manipulator().resolve(), table3(instant, 5)
    expected = rounded(Oracle(aerial_manipulator()).velocities(motions))
    found, stack = tt.trajectory_series(m, instant, {"flight": BASES[form]} | joints(), order=5)
    assert (found.shape, stack.shape) == ((13,), (7, 12))
    np.testing.assert_allclose(found, q, rtol=0, atol=1e-15)
    assert_stacks_agree(stack, expected)


def test_stacked_times() -> None:
    m, times = aerial_manipulator().resolve(), np.array([0.0, 3.0, 7.0])
    motions = {"flight": BASES["matrix"]} | joints()
    q, stack = tt.trajectory_series(m, times, motions, order=2)
    assert (q.shape, stack.shape) == ((3, 13), (3, 4, 12))
    for k, instant in enumerate(times):
        single = tt.trajectory_series(m, instant, motions, order=2)
        np.testing.assert_array_equal(q[k], single[0])
        np.testing.assert_array_equal(stack[k], single[1])


def tumbling(t: Any, sine: Callable[[Any], Any], cosine: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    return 0.4 + 1.1 * sine(0.9 * t), 0.3 * cosine(1.3 * t) - 0.5 * t, 0.2 * t * t - sine(t)


@pytest.mark.parametrize("sequence", ["XYZ", "ZYX", "ZXZ"])
def test_rotations_about_several_axes(sequence: str) -> None:
    """Angles, matrix and quaternion of one tumbling motion, of a free and of a spherical joint."""
    s = tt.System("two")
    hub = tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("flight"))
    s.connect(hub, tt.RigidBody("head", 1.0, inertia=1.0), tt.Spherical("neck"))
    m, instant, order = s.resolve(), 0.7, 4
    now = time(instant, order + 3)
    sines = tumbling(now, lambda x: sin_cos(x)[0], lambda x: sin_cos(x)[1])
    rotation = array(np.eye(3))
    for axis, angle in zip(sequence, sines, strict=True):
        rotation = rotation @ turning(np.eye(3)["XYZ".index(axis)], angle)
    place = np.array([now, now * now, 2.0 - now], object)
    still = np.array([0 * now] * 3, object)
    expected = rounded(Oracle(s).velocities([Relative(rotation, place), Relative(rotation, still)]))

    def angles(t: Any) -> Any:
        return tumbling(t, np.sin, np.cos)

    def matrix(t: Any) -> Any:
        found = np.eye(3)
        for axis, angle in zip(sequence, angles(t), strict=True):
            e, c, s = np.eye(3)["XYZ".index(axis)], np.cos(angle), np.sin(angle)
            found = found @ (np.outer(e, e) + c * (np.eye(3) - np.outer(e, e)) + s * np.cross(np.eye(3), e))
        return found

    def quaternion(t: Any) -> Any:
        x, y, z, w = 0, 0, 0, 1
        for axis, angle in zip(sequence, angles(t), strict=True):
            a, b, c = np.sin(angle / 2) * np.eye(3)["XYZ".index(axis)]
            d = np.cos(angle / 2)
            x, y, z, w = (
                x * d + w * a + y * c - z * b,
                y * d + w * b + z * a - x * c,
                z * d + w * c + x * b - y * a,
                w * d - x * a - y * b - z * c,
            )
        return np.array([x, y, z, w])

    def position(t: Any) -> Any:
        return [t, t * t, 2 - t]

    for rotating in (angles, matrix, quaternion):
        motions = {"flight": (position, rotating), "neck": rotating}
        q, stack = tt.trajectory_series(m, instant, motions, order, sequence)
        assert_stacks_agree(stack, expected)
        np.testing.assert_allclose(
            m.pose("hub", q)[0], rounded(np.array([x.c[0] for x in rotation.flat])).reshape(3, 3), atol=1e-14
        )
        np.testing.assert_allclose(m.pose("head", q)[0], m.pose("hub", q)[0] @ m.pose("hub", q)[0], atol=1e-14)
    wrong = tt.trajectory_series(m, instant, {"flight": (position, angles), "neck": angles}, order, "YXY")[1]
    assert np.abs(wrong - expected).max() > 0.1


def arm(joint: tt.Joint | None = None) -> tt.Model:
    s = tt.System("arm")
    s.connect("world", tt.RigidBody("link", 1.0, inertia=1.0), joint or tt.Revolute("hinge", axis=[0, 0, 1]))
    return s.resolve()


def test_splines() -> None:
    knots = np.linspace(0, 2, 9)
    for spline in (
        make_interp_spline(knots, np.sin(knots), k=7),
        PPoly.from_spline(make_interp_spline(knots, np.cos(knots), k=5)).antiderivative(),
    ):
        q, stack = tt.trajectory_series(arm(), [0.3, 1.1], {"hinge": spline}, order=4)
        np.testing.assert_array_equal(q[:, 0], spline([0.3, 1.1]))
        for k in range(6):
            # beside its own knots, pieces of degree six are as good as this
            np.testing.assert_allclose(stack[:, k, 0], spline.derivative(k + 1)([0.3, 1.1]), rtol=1e-12)
    # one polynomial has no jumps: its further derivatives are zero
    once = CubicSpline([0, 1], [[0.0], [1.0]])
    assert tt.trajectory_series(arm(), 0.5, {"hinge": once}, order=3)[1][3:].tolist() == [[0.0], [0.0]]


def test_splines_of_several_coordinates_and_single_ones() -> None:
    m, knots = arm(tt.Universal("cross", axis1=[1, 0, 0], axis2=[0, 1, 0])), np.linspace(0, 2, 9)
    both = make_interp_spline(knots, np.stack([np.sin(knots), np.cos(knots)], axis=1), k=5)
    together = tt.trajectory_series(m, 0.4, {"cross": both}, order=1)
    names = m.coordinate_names
    apart = tt.trajectory_series(
        m, 0.4, {name: make_interp_spline(knots, f(knots), k=5) for name, f in zip(names, (np.sin, np.cos), strict=True)}, 1
    )
    for found, expected in zip(together, apart, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_constants_stay() -> None:
    m, turned = arm(tt.Free("flight")), Rotation.from_rotvec([0.1, -0.4, 0.2])
    for motion in (
        tt.Pose([1, 2, 3], turned),
        ([1, 2, 3], turned),
        ([1.0, 2.0, 3.0], turned.as_quat()),
        (lambda t: [1, 2, 3], turned),
    ):
        q, stack = tt.trajectory_series(m, 0.5, {"flight": motion}, order=3)
        np.testing.assert_allclose(q, [1, 2, 3, *turned.as_quat()], rtol=1e-14)
        assert not stack.any()
    assert tt.trajectory_series(arm(), 0.5, {"hinge": 0.3})[0].tolist() == [0.3]


def test_the_stack_moves_the_configuration() -> None:
    """Steps along the velocities: what the configuration does, whatever the form it was given in."""
    m, step = aerial_manipulator().resolve(), 1e-4
    motions = {"flight": BASES["matrix"]} | joints()
    q, stack = tt.trajectory_series(m, [4.0 - step, 4.0, 4.0 + step], motions, order=0)
    rate = m.difference(q[0], q[2]) / (2 * step)
    np.testing.assert_allclose(rate, stack[1, 0], atol=1e-8)  # central differences of 1e-4
    np.testing.assert_allclose((stack[2, 0] - stack[0, 0]) / (2 * step), stack[1, 1], atol=1e-8)


@pytest.mark.parametrize(
    ("motions", "code", "text"),
    [
        ({}, "missing-motion", "none for hinge"),
        ({"hinge": 0.0, "hing": 0.0}, "unknown-coordinate", "did you mean 'hinge'"),
        ({"hinge": lambda t: [t, t]}, "wrong-shape", "motions['hinge']: got shape (2,); expected shape (1,) or a number"),
        ({"hinge": "sin"}, "wrong-type", "a function of time"),
        ({"hinge": lambda: 0.0}, "wrong-signature", "motions['hinge']"),
        ({"hinge": lambda t: np.sqrt(t)}, "not-finite", "at t = 0"),
        ([], "wrong-type", "a mapping"),
    ],
)
def test_motions_that_are_refused(motions: Any, code: str, text: str) -> None:
    with np.errstate(all="ignore"), refusal(code, text):
        tt.trajectory_series(arm(), 0.0, motions)


def test_several_findings_are_told_at_once() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.trajectory_series(aerial_manipulator().resolve(), 0.0, {"q2": 0.0})
    assert len(caught.value.findings) == 6
    m = arm(tt.Universal("cross"))
    with refusal("given-twice", "cross"):
        tt.trajectory_series(m, 0.0, {"cross": [0, 0], m.coordinate_names[0]: 0.0})
    with refusal("missing-motion", m.coordinate_names[1]):
        tt.trajectory_series(m, 0.0, {m.coordinate_names[0]: 0.0})


@pytest.mark.parametrize(
    ("rotation", "code", "text"),
    [
        (lambda t: [[1, t, 0], [0, 1, 0], [0, 0, 1]], "not-orthogonal", "derivative 1 of R^T R"),
        (lambda t: [[1, 0, 0], [0, 1, 0], [0, 0, 1 + t * t]], "not-orthogonal", "derivative 2 of R^T R"),
        (lambda t: 2 * np.eye(3), "not-orthogonal", "R^T R - 1"),
        (np.diag([1, 1, -1]), "left-handed", "determinant"),
        (lambda t: [0, 0, 0, 1.1 + t], "not-unit", "norm 1.1"),
        (lambda t: [0, 1], "wrong-shape", "a rotation matrix (3x3), a unit quaternion"),
    ],
)
def test_rotations_that_are_none(rotation: Any, code: str, text: str) -> None:
    with refusal(code, text):
        tt.trajectory_series(arm(tt.Spherical("ball")), 0.0, {"ball": rotation})
    with refusal(code, text):
        tt.trajectory_series(arm(tt.Free("flight")), 0.0, {"flight": ([0, 0, 0], rotation)})


def test_other_arguments_that_are_refused() -> None:
    with refusal("wrong-type", "a pair (position, rotation)"):
        tt.trajectory_series(arm(tt.Free("flight")), 0.0, {"flight": [0, 0, 0]})
    with refusal("wrong-shape", "position"):
        tt.trajectory_series(arm(tt.Free("flight")), 0.0, {"flight": ([0, 0], np.eye(3))})
    for t in (np.inf, [[0.0]], [], "now"):
        with refusal("bad-times", "a finite time"):
            tt.trajectory_series(arm(), t, {"hinge": 0.0})
    for order in (-1, 1.5, True):
        with refusal("bad-order", "an integer >= 0"):
            tt.trajectory_series(arm(), 0.0, {"hinge": 0.0}, order)
    with refusal("bad-sequence", "three axes"):
        tt.trajectory_series(arm(), 0.0, {"hinge": 0.0}, 0, "xyz")


@pytest.mark.parametrize(("pitch", "near"), [(89.97, True), (89.8, False)])
def test_euler_angles_next_to_a_gimbal_lock_are_told(pitch: float, near: bool) -> None:
    """Attitudes next to a lock have angles that jump: quaternions and matrices have not."""
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 1.0, inertia=0.1), tt.Spherical("ball"))
    motions = {"ball": lambda t: [0.1 + 0.1 * t, np.radians(pitch), 0.2]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tt.trajectory_series(s.resolve("reference"), [0.0, 1.0], motions)
    assert [("gimbal-lock" in str(w.message)) for w in caught] == ([True] if near else [])
