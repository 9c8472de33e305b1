"""Magnetorquers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surroundings.orbiting import FIELD, in_orbit, plate, satellite
from tests.refusals import refused
from titop.blocks.basics.spatial import skew


def torqued(**fields: Any) -> tt.System:
    s, hub = plate()
    hub.add_port("T", [0.3, 0, 0], tt.Pose.from_rotation_vector([0, 0, 0], [0.1, 0.2, 0.3]).rotation)
    s.add_actuator(tt.Magnetorquer("torquer", hub.port("T"), FIELD, **fields))
    return s


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_columns_of_linear_models_are_minus_b_cross(engine: str) -> None:
    m = satellite().resolve(engine)
    q, v = in_orbit(m)
    point = tt.OperatingPoint(m, q, 0 * v)
    with pytest.warns(UserWarning, match="equilibrium"):
        linear = tt.linearize(m, point, ["torquer.x", "torquer.y", "torquer.z"])
    rotation, position = m.pose("hub", q)
    field = rotation.T @ FIELD.at(position)
    expected = np.linalg.inv(m.mass_matrix(q))[:, 3:6] @ -skew(field)
    np.testing.assert_allclose(
        linear.B[m.nv : 2 * m.nv], expected, rtol=0, atol=1e-13 * np.abs(expected).max()
    )  # of an inverse
    np.testing.assert_allclose(m.actuation_matrix(q)[3:6], -skew(field), rtol=0, atol=1e-13 * np.abs(field).max())


def test_no_torque_along_the_field_and_unloading_across_it() -> None:
    """``m = h x B / B^2`` takes away what of a momentum h is across the field, and leaves what is along it."""
    s = torqued()
    m = s.resolve(engine="reference")
    q = m.configuration({"base": [5e6, 4e6, 2e6, 0, 0, 0, 1]})
    rotation, position = m.pose("hub.T", q)
    B, h = rotation.T @ FIELD.at(position), np.array([0.4, -0.2, 0.3])
    assert np.abs(m.forward_dynamics(q, np.zeros(6), u=1e5 * B)[3:]).max() < 1e-15  # rounding of 1e5 B^2
    torque = rotation.T @ m.forward_dynamics(q, np.zeros(6), u=np.cross(h, B) / (B @ B))[3:]  # the hub turns as the world
    np.testing.assert_allclose(torque, -(h - (h @ B) * B / (B @ B)), rtol=0, atol=1e-13)
    assert abs(torque @ B) < 1e-13 * np.abs(B).max()


def test_paths_lag_and_ranges() -> None:
    s = torqued(axis=[0, 2, 0], max_dipole=5.0, path=tt.SignalPath.lag(0.5))
    m, reference = s.resolve(), s.resolve(engine="reference")
    assert (m.input_names, m.state_names) == (("torquer",), ("torquer.lag[0]",))
    assert m.mechanism.inputs.lower.tolist() == [-5.0]
    assert m.mechanism.inputs.units == ("A m^2",)
    q = m.configuration({"base": [5e6, 4e6, 2e6, 0, 0, 0, 1]})
    acting = [each.forward_dynamics(q, np.zeros(6), u=[7.0], x=[2.0]) for each in (m, reference)]
    rotation, position = m.pose("hub.T", q)
    expected = rotation @ np.cross([0, 2.0, 0], rotation.T @ FIELD.at(position))
    for a in acting:
        np.testing.assert_allclose(a[3:], expected, rtol=0, atol=1e-13 * np.abs(expected).max())
        np.testing.assert_allclose(a[:3], 0, atol=1e-25)
    assert m.state_rates(q, np.zeros(6), u=[7.0], x=[2.0]).tolist() == [10.0]
    point = tt.OperatingPoint(reference, q, x=[2.0], u=[2.0])
    ranges = {"torquer.path.time_constant": tt.percent(20), "torquer.field.x": tt.percent(10)}
    with pytest.warns(UserWarning, match="equilibrium"):
        family = tt.lft(reference, point, ranges, ["torquer"], ["hub.w[0]", "hub.w[2]"])
    assert family.check(3) < 1e-11  # rounding of places of 7e6 m


def test_files(tmp_path: Any) -> None:
    s = torqued(axis=[1, 2, 0], max_dipole=5.0, path=tt.SignalPath.lag(0.5))
    s.save(tmp_path / "s.toml")
    loaded, m = (each.resolve(engine="reference") for each in (tt.load(tmp_path / "s.toml"), s))
    assert loaded.parameters() == m.parameters()
    assert loaded.mechanism.inputs.upper.tolist() == [5.0]


@pytest.mark.parametrize(
    ("fields", "code", "where"),
    [
        ({"field": None}, "no-field", "torquer.field"),
        ({"axis": [0, 0, 0]}, "zero-axis", "torquer.axis"),
        ({"max_dipole": -1.0}, "bad-limits", "torquer.max_dipole"),
    ],
)
def test_wrong_torquers_are_refused(fields: Any, code: str, where: str) -> None:
    s, hub = plate()
    s.add_actuator(tt.Magnetorquer("torquer", hub, **({"field": FIELD} | fields)))
    assert [(finding.code, finding.where) for finding in refused(s, "reference").findings] == [(code, where)]


def test_the_least_input_follows_from_the_largest() -> None:
    torquer = torqued(max_dipole=3.0)["torquer"]
    assert (torquer.lower, torquer.max_dipole) == (-3.0, 3.0)
