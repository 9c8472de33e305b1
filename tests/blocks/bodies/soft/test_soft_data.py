"""The data of deformable bodies: volume ratios, functions that cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.soft_arms import BEND, RADIUS, ROUND, L, arm
from titop.blocks.contract.description import Described


def test_ratios_of_several_configurations_stand_in_rows() -> None:
    body = arm().mechanism.assembly.blocks["body"]
    assert isinstance(body, tt.SoftBody)
    q = np.array([[0.0], [0.4], [-1.0]])
    np.testing.assert_array_equal(body.volume_ratios(q), [body.volume_ratios(row) for row in q])
    np.testing.assert_allclose(body.volume_ratios(q)[0], 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("fields", "code", "where"),
    [
        ({"energy": 3}, "function-fails", "b.energy"),
        ({"energy": lambda q: "much"}, "function-fails", "b.energy"),
        ({"energy": lambda q: [1.0, 2.0]}, "bad-values", "b.energy"),
        ({"energy": lambda: 0.0}, "function-fails", "b.energy"),
        ({"dissipation": lambda q: 0.0}, "function-fails", "b.dissipation"),
        ({"ports": {"C": lambda q: 3}}, "function-fails", "b.ports.C"),
        ({"ports": {"C": lambda q: (np.eye(3), [0.0, 0.0])}}, "bad-values", "b.ports.C"),
        ({"ports": {"C": lambda q: (2.0 * np.eye(3), np.zeros(3))}}, "bad-values", "b.ports.C"),
        ({"ports": {"C": lambda q: (np.diag([1.0, 1.0, -1.0]), np.zeros(3))}}, "bad-values", "b.ports.C"),
    ],
)
def test_functions_of_the_whole_body_are_called_once_it_is_made(fields: dict[str, Any], code: str, where: str) -> None:
    usable: dict[str, Any] = {
        "energy": lambda q: 3.0 * q[0] ** 2,
        "dissipation": lambda q, v: v[0] ** 2,
        "ports": {"C": lambda q: (np.eye(3), [q[0], 0.0, L])},
    }
    assert tt.SoftBody("b", BEND, ROUND, 1000.0, **usable).check() == ([], [])
    (finding,) = tt.SoftBody("b", BEND, ROUND, 1000.0, **usable | fields).check()[0]
    assert (finding.code, finding.where) == (code, where)


def test_mass_properties_of_points_are_those_of_the_mass_matrix() -> None:
    body = tt.SoftBody("b", BEND, ROUND, lambda x: 1000.0 + 3e4 * x[2] + 2e4 * x[0])
    for found, expected in zip(body.mass_properties(), Described.mass_properties(body), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())  # sums of 1e3 points


def test_points_carry_volume_and_mass() -> None:
    body = tt.SoftBody("b", BEND, ROUND, lambda x: 1000.0 * (1.0 + x[2] / L))
    assert body.mass == pytest.approx(1500.0 * np.pi * RADIUS**2 * L, rel=1e-12)  # quadrature is exact of a line
    doubled = body.with_parameters({"density": 2.0})
    assert isinstance(doubled, tt.SoftBody)
    assert doubled.mass == pytest.approx(2.0 * body.mass, rel=1e-15)
    assert body.parameters()["density"] == (1.0, "1")


def test_materials_that_keep_volumes_want_kinematics_that_do() -> None:
    material = tt.Material.incompressible_neo_hookean(1e5)
    keeps, grows = tt.Kinematics.elongation([lambda z: 1.0]), tt.Kinematics(lambda x, q: [x[0], x[1], x[2] * (1 + q[0])], ["e"])
    assert tt.SoftBody("b", keeps, ROUND, 1000.0, material).check() == ([], [])
    (finding,) = tt.SoftBody("b", grows, ROUND, 1000.0, material).check()[0]
    assert (finding.code, finding.where) == ("changes-volume", "b.material")
