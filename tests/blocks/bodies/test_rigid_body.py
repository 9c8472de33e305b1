"""Rigid bodies: their law, ports, parameters and findings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, is_plainly_sound

INERTIA = np.array([[0.5, 0.1, 0.0], [0.1, 0.6, -0.05], [0.0, -0.05, 0.7]])


def make(**fields: Any) -> tt.RigidBody:
    """Return a body with fields replaced."""
    return tt.RigidBody("hub", **({"mass": 2.0, "com": [0.1, -0.2, 0.3], "inertia": INERTIA} | fields))


def codes(body: tt.Block) -> list[tuple[str, str]]:
    """Return code and place of every error."""
    return [(finding.code, finding.where) for finding in body.check()[0]]


class TestLaw:
    def test_mass_matrix_gives_the_kinetic_energy(self) -> None:
        body = make()
        v, w = np.random.default_rng(0).normal(size=(2, 3))
        at_com = v + np.cross(w, body.com)
        energy = 0.5 * body.mass * at_com @ at_com + 0.5 * w @ INERTIA @ w
        twist = np.concatenate([v, w])
        np.testing.assert_allclose(0.5 * twist @ body.mass_matrix() @ twist, energy, rtol=1e-14)

    def test_gyroscopic_wrench_is_newton_s_and_euler_s(self) -> None:
        body = make()
        v, w = np.random.default_rng(1).normal(size=(2, 3))
        # without spatial acceleration, a point of the body accelerates by w x (v + w x r)
        force = body.mass * np.cross(w, v + np.cross(w, body.com))
        torque = np.cross(w, INERTIA @ w) + np.cross(body.com, force)
        h = body.gyroscopic(np.zeros(0), np.zeros(0), np.concatenate([v, w]))
        np.testing.assert_allclose(h, np.concatenate([force, torque]), atol=1e-14)

    @pytest.mark.parametrize(("given", "expected"), [(2.0, np.diag([2, 2, 2])), ([1, 2, 3], np.diag([1, 2, 3]))])
    def test_short_forms_of_the_inertia(self, given: Any, expected: np.ndarray) -> None:
        np.testing.assert_array_equal(make(inertia=given).inertia, expected)


class TestPorts:
    def test_ports_stand_where_they_are_put(self) -> None:
        turn = Rotation.from_rotvec([0.1, 0.2, 0.3])
        body = make(ports={"A": [1, 0, 0], "B": tt.Pose([0, 1, 0], turn)})
        body.add_port("C", position=[0, 0, 1], rotation=turn.as_matrix())
        assert body.ports == ("A", "B", "C")
        for port, position, rotation in (("A", [1, 0, 0], np.eye(3)), ("C", [0, 0, 1], turn.as_matrix())):
            found_rotation, found_position = body.pose(port)
            np.testing.assert_array_equal(found_position, position)
            np.testing.assert_allclose(found_rotation, rotation, atol=1e-15)

    def test_no_port_is_the_reference_frame(self) -> None:
        rotation, position = make().pose(None)
        np.testing.assert_array_equal(rotation, np.eye(3))
        np.testing.assert_array_equal(position, np.zeros(3))

    def test_bad_ports(self) -> None:
        body = make(ports={"A.b": [0, 0, 0], "B": [0, 0]})
        body.add_port("A.b")
        assert codes(body) == [("wrong-shape", "hub.B"), ("duplicate-port", "hub.A.b"), ("bad-name", "hub.A.b")]
        with pytest.raises(tt.ModelError, match="wrong-shape"):
            body.add_port("D", position=[1, 2])


class TestParameters:
    def test_names_and_units(self) -> None:
        parameters = make(ports={"A": [1, 2, 3]}).parameters()
        assert parameters["mass"] == (2.0, "kg")
        assert parameters["com.y"] == (-0.2, "m")
        assert parameters["inertia.yz"] == (-0.05, "kg m^2")
        assert parameters["A.position.z"] == (3.0, "m")
        assert parameters["A.rotation.x"] == (0.0, "rad")

    @pytest.mark.parametrize("port", ["A", "mass", "com", "inertia"])
    def test_round_trip_whatever_a_port_is_called(self, port: str) -> None:
        body = make(ports={port: tt.Pose([1, 2, 3], Rotation.from_rotvec([0.1, 0.2, 0.3]))})
        before = body.parameters()
        for name, (value, unit) in before.items():
            assert body.with_parameters({name: value + 0.5}).parameters() == before | {name: (value + 0.5, unit)}
        assert body.parameters() == before


class TestFindings:
    @pytest.mark.parametrize(
        ("code", "field", "value"),
        [
            ("negative-mass", "mass", -1.0),
            ("not-finite", "mass", np.nan),
            ("wrong-type", "mass", "heavy"),
            ("not-finite", "mass", None),
            ("wrong-shape", "mass", [1.0, 2.0]),
            ("wrong-shape", "com", [0, 0]),
            ("not-finite", "com", [0, 0, np.inf]),
            ("not-symmetric", "inertia", [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
            ("wrong-shape", "inertia", [1, 2]),
            ("negative-inertia", "inertia", [1, 1, -0.1]),
            ("negative-inertia", "inertia", [[1, 2, 0], [2, 1, 0], [0, 0, 3]]),
        ],
    )
    def test_errors(self, code: str, field: str, value: Any) -> None:
        assert codes(make(**{field: value})) == [(code, f"hub.{field}")]

    def test_violated_triangle_inequality_is_suspicious_only(self) -> None:
        errors, warnings = make(inertia=[1, 1, 3]).check()
        assert errors == []
        assert [(finding.code, finding.where) for finding in warnings] == [("triangle-inequality", "hub.inertia")]

    def test_flat_and_slender_bodies_are_physical(self) -> None:
        for moments in ([1, 1, 2], [0, 1, 1], [0, 0, 0]):
            assert make(inertia=moments).check() == ([], [])

    def test_inertia_without_mass_is_suspicious(self) -> None:
        errors, warnings = make(mass=0.0).check()
        assert errors == []
        assert [finding.code for finding in warnings] == ["massless-inertia"]


@pytest.mark.parametrize("size", 10.0 ** np.arange(-9.0, 10.0, 3.0))
def test_inertias_are_judged_alike_in_any_unit(size: float) -> None:
    mass, unit = size**3, size**5

    def found(*moments: float) -> list[str]:
        errors, warnings = tt.RigidBody("body", mass, [3 * size, 0, 0], unit * np.array(moments)).check()
        return [finding.code for finding in errors + warnings]

    assert found(1.0, 1.0, -1e-3) == ["negative-inertia"]
    assert found(1.0, 1.0, 2.01) == ["triangle-inequality"]
    assert not found(1.0, 1.0, 2.0)
    # a thin disc with products of inertia of an unbalance beside its moments, of second order; and the excess in digits
    assert not found(1.0, 1.0, 2.0 + 1e-7)
    with_products = tt.RigidBody("body", mass, inertia=unit * np.array([[1.0, 0, 1e-3], [0, 1.0, 0], [1e-3, 0, 2.0 + 1e-5]]))
    (finding,) = with_products.check()[1]
    assert f"above the sum of the others (by {1.2e-5 * unit:.1e})" in finding.expected
    # a point mass whose inertia was moved from the reference frame: its rounding
    assert not found(9e-16, -9e-16, 18e-16)


def test_add_port_takes_a_pose() -> None:
    arm, pose = tt.RigidBody("arm", mass=1.0), tt.Pose([0, 0, 1], np.diag([1.0, -1.0, -1.0]))
    arm.add_port("tip", pose)
    assert arm.port_poses["tip"] == pose
    with pytest.raises(tt.ModelError, match=r"arm\.other: .*one orientation"):
        arm.add_port("other", pose, np.eye(3))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_plainly_sound_has_sound_principal_moments(seed: int) -> None:
    """Of any size, from spheres to needles and a little beyond: nothing that principal moments refuse is passed."""
    rng, passed = np.random.default_rng(seed), 0
    for _ in range(300):
        second = 10.0 ** rng.uniform(-12, 0, 3) * rng.choice([1.0, 1.0, 0.0, -1e-3], 3)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = turn @ np.diag(second.sum() - second) @ turn.T * 10.0 ** rng.uniform(-40, 40)
        inertia = (inertia + inertia.T) / 2
        moments = np.linalg.eigvalsh(inertia)
        slack = 1e-9 * np.abs(moments).max()  # the rounding that is allowed
        sound = moments[0] >= -slack and moments[2] <= moments[0] + moments[1] + slack
        plain = is_plainly_sound(*(float(inertia[ij]) for ij in INERTIA_ENTRIES.values()))
        assert sound or not plain
        passed += plain
    assert 50 < passed < 250
