"""Control moment gyros: momentum, gyroscopic torque, clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.graph.files.saving import to_text

FRAME: dict[str, Any] = {"gimbal_mass": 2.0, "gimbal_com": [0.01, 0, -0.02], "gimbal_inertia": [0.1, 0.12, 0.09]}
OFF: dict[str, Any] = {"offset": [0.02, 0.01, 0.05], "transverse_inertia": 0.08}
UNBALANCED: dict[str, Any] = {"static_imbalance": 3e-3, "dynamic_imbalance": 2e-3, "phase": 0.3}
OUTER: dict[str, Any] = {"outer_axis": [0, 1, 0], "outer_mass": 1.0, "outer_inertia": 0.1}


def agile(base: tt.Joint | None = None, **fields: Any) -> tt.System:
    s = tt.System("agile", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 50.0, com=[0, 0.02, 0], inertia=[8.0, 9.0, 7.0], ports={"cmg": [0.2, 0.1, -0.1]})
    s.connect("world", hub, tt.Free("base") if base is None else base)
    s.add_device(tt.ControlMomentGyro("cmg", hub.port("cmg"), [0.1, 0, 1], [1, 0.2, 0], 0.1, 3.0, **fields))
    return s


@pytest.mark.parametrize("fields", [FRAME | OFF | UNBALANCED, FRAME | OFF | UNBALANCED | OUTER, FRAME | {"speed": 150.0}])
def test_momentum_stays_what_it_is(fields: dict[str, Any]) -> None:
    m = agile(**fields).resolve()
    v = m.velocity({"cmg/wheel": 90.0, "cmg/gimbal": 0.3, "base": [0.1, 0.2, 0, 0.01, 0.02, 0.03]})
    torques = {"cmg/gimbal_motor": 0.5, "cmg/motor": -0.2} | ({"cmg/outer_motor": 0.1} if "outer_axis" in fields else {})
    run = tt.simulate(m, np.linspace(0, 1, 11), m.neutral(), v, u=torques, rtol=1e-13, atol=1e-14)
    momentum = np.array([m.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum[0]).max()  # the integrator's tolerance
    assert np.abs(run.v[-1, :6] - run.v[0, :6]).max() > 0.01


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("outer", [{}, OUTER])
def test_a_held_body_feels_the_turned_momentum(outer: dict[str, Any], engine: str) -> None:
    """By minus its derivative, of a rotor and frames without any other inertia about the gimbals."""
    m = agile(tt.Weld("base"), transverse_inertia=0.05, jitter=None, **outer).resolve(engine)
    q = m.configuration({"cmg/gimbal": 0.7, "cmg/wheel": 0.2} | ({"cmg/outer": -0.4} if outer else {}))
    gimbals = ["cmg/outer", "cmg/gimbal"] if outer else ["cmg/gimbal"]
    v = m.velocity({"cmg/wheel": 200.0, "cmg/gimbal": 0.3})
    cluster = tt.gyro_momentum(m, ["cmg"], q, v)
    assert cluster.gimbals == tuple(gimbals)
    still = m.reaction("base", q, m.velocity({"cmg/gimbal": 0.3}), np.zeros(m.nv))[3:]
    turning = m.reaction("base", q, v, np.zeros(m.nv))[3:]
    rates = v[[m.coordinate_names.index(name) for name in gimbals]]
    assert turning - still == pytest.approx(cluster.jacobian @ rates, rel=1e-12, abs=1e-12)
    step = 1e-5
    for k, name in enumerate(gimbals):  # of second order
        moved = [
            tt.gyro_momentum(m, "cmg", q + sign * step * np.eye(m.nv)[m.coordinate_names.index(name)], v) for sign in (1, -1)
        ]
        assert (moved[0].momentum - moved[1].momentum) / (2 * step) == pytest.approx(cluster.jacobian[:, k], abs=1e-8)


def pyramid(skew: float) -> tt.Model:
    """Return four gyros whose gimbal axes lean out by an angle, as B. Wie has them (Space Vehicle Dynamics and Control)."""
    s = tt.System("pyramid", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 50.0, inertia=8.0)
    s.connect("world", hub, tt.Free("base"))
    for k in range(4):
        turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
        around = np.linalg.matrix_power(turn, k)
        axes = around @ [np.sin(skew), 0, np.cos(skew)], around @ [0.0, 1, 0]
        s.add_device(tt.ControlMomentGyro(f"c{k}", hub, *axes, inertia=0.1, mass=1.0))
    return s.resolve()


def test_a_pyramid_of_four_is_singular_where_wie_says() -> None:
    m, skew, names = pyramid(0.93), 0.93, [f"c{k}" for k in range(4)]
    v = m.velocity({f"{name}/wheel": 10.0 for name in names})
    for angles in (np.zeros(4), np.array([0.3, -0.5, 1.1, 0.2]), np.radians([-90.0, 0, 90, 0])):
        q = m.configuration({f"{name}/gimbal": angle for name, angle in zip(names, angles, strict=True)})
        cluster, (c, s), b = tt.gyro_momentum(m, names, q, v), (np.cos(angles), np.sin(angles)), np.cos(skew)
        h = [-b * s[0] - c[1] + b * s[2] + c[3], c[0] - b * s[1] - c[2] + b * s[3], np.sin(skew) * s.sum()]
        by_angle = [[-b * c[0], s[1], b * c[2], -s[3]], [-s[0], -b * c[1], s[2], b * c[3]], np.sin(skew) * c]
        assert cluster.momentum == pytest.approx(np.array(h), abs=1e-13)
        assert cluster.jacobian == pytest.approx(np.array(by_angle), abs=1e-13)
        assert cluster.gain == pytest.approx(
            np.sqrt(max(np.linalg.det(np.array(by_angle) @ np.transpose(by_angle)), 0)), abs=1e-7
        )
    assert cluster.gain < 1e-13
    assert cluster.singular_values[1] > 0.5


def test_wheels_store_momentum_too() -> None:
    s = agile()
    s.add_device(tt.ReactionWheel("wheel", s["hub"], [0, 0, 2], 0.2, 1.0))
    m = s.resolve()
    cluster = tt.gyro_momentum(m, ["wheel", "cmg"], m.neutral(), m.velocity({"wheel": 5.0}))
    assert cluster.momentum == pytest.approx(np.array([0, 0, 1.0]))
    assert cluster.gain == 0.0
    with pytest.raises(tt.ModelError, match=r"gyros: got cmh; .*did you mean 'cmg'"):
        tt.gyro_momentum(m, ["cmh"], m.neutral(), np.zeros(m.nv))


def test_momenta_are_those_of_one_body() -> None:
    s, hub = tt.System("s", gravity=[0, 0, 0]), tt.RigidBody("c/hub", 100.0, inertia=10.0)  # its name is none of a part
    s.connect("world", hub, tt.Free("base"))
    s.add_device(tt.ControlMomentGyro("c", hub, [1, 0, 0], [0, 0, 1], 0.1, 5.0, gimbal_mass=1.0, gimbal_inertia=0.1))
    s.add_device(tt.ReactionWheel("w", s.devices[0]["frame"], [0, 1, 0], 0.1, 5.0))
    m = s.resolve()
    v = m.velocity({"c/wheel": 100.0})
    found = tt.gyro_momentum(m, ["c"], m.neutral(), v)
    assert (found.momentum.tolist(), found.gimbals) == ([0.0, 0.0, 10.0], ("c/gimbal",))
    with pytest.raises(tt.ModelError, match=r"w on c/frame.*on c/hub.*other-carrier"):
        tt.gyro_momentum(m, ["c", "w"], m.neutral(), v)


def test_a_held_speed_is_kept() -> None:
    """Against friction, to what the loop leaves."""
    m = agile(tt.Weld("base"), speed=100.0, bandwidth=50.0, damping=1e-3, **FRAME).resolve()
    run = tt.simulate(m, [0, 0.5, 1.0], m.neutral(), m.velocity({"cmg/wheel": 90.0}))
    assert run.v[-1, 1] == pytest.approx(100.0 * 5.0 / 5.001, rel=1e-9)


@pytest.mark.parametrize("name", ["cmg.inertia", "cmg.gimbal_mass", "cmg.offset.x", "cmg.gimbal_inertia.xz", "cmg.mass"])
def test_uncertain_gyros_are_those_of_changed_ones(name: str) -> None:
    """While the wheel spins: an equilibrium, for it is free and balanced."""
    m = agile(**(FRAME | OFF | {"jitter": None, "gimbal_inertia": [[0.1, 0, 0.01], [0, 0.12, 0], [0.01, 0, 0.09]]})).resolve()
    signals, v = {"inputs": ["cmg/gimbal_motor"], "outputs": ["hub.w"]}, m.velocity({"cmg/wheel": 200.0})
    point = tt.OperatingPoint(m, m.neutral(), v, np.zeros(m.nv))
    family = tt.lft(point.model, point, {name: tt.percent(10)}, **signals)
    at = {name: 1.06 * m.parameters()[name][0]}
    changed = m.with_parameters(at)
    expected = tt.linearize(changed, tt.OperatingPoint(changed, m.neutral(), v, np.zeros(m.nv)), **signals)
    assert np.abs(family.at(at)(2j) - expected(2j)).max() < 1e-11 * np.abs(expected(2j)).max()
    assert np.abs(family.at()(2j) - expected(2j)).max() > 1e-9 * np.abs(expected(2j)).max()


def test_files_keep_every_field() -> None:
    s = agile(speed=100.0, torque_limit=0.5, speed_limit=200.0, gimbal_torque_limit=3.0, **FRAME, **OFF, **UNBALANCED, **OUTER)
    text = to_text(s)
    assert to_text(tt.load(text)) == text
    assert tt.load(text).resolve().parameters() == s.resolve().parameters()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"gimbal_mass": -1.0}, "gimbal_mass.*>= 0"),
        ({"outer_axis": [0, 0, 0]}, "outer_axis.*zero-axis"),
        ({"bandwidth": -5.0}, "bandwidth.*>= 0"),
        ({"speed": -200.0, "speed_limit": 100.0, "torque_limit": 1.0}, "speed: got -200.*speed_limit, 100 rad/s"),
        ({"dynamic_imbalance": 1.0}, "dynamic_imbalance.*some distribution of mass has"),
    ],
)
def test_wrong_gyros_are_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(tt.ModelError, match=f"cmg.{said}"):
        agile(**fields).check()
