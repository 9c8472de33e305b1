"""Linear relations as blocks: what they say, in which units, what is refused; their dynamics against eliminated coordinates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt

INERTIAS = {"ring": 2.0, "left": 0.7, "right": 0.4, "free": 0.3}
FACTORS = {"ring": 2.0, "left": -0.8, "right": -1.3}


def shafts(*relations: Any) -> tt.System:
    s = tt.System("gearbox", gravity=[0, 0, 0])
    for name, inertia in INERTIAS.items():
        shaft = tt.RigidBody(f"{name}_shaft", mass=1.0, inertia=inertia)
        s.connect("world", shaft, tt.Revolute(name, stiffness=1.5, damping=0.2))
    for relation in relations:
        s.add_relation(relation)
    return s


@pytest.mark.parametrize(
    ("factors", "offset", "relation"),
    [
        ({"a": 2.0, "b": -1.0, "c": 1.0}, 0.5, "0.5 x b - 0.5 x c + 0.25"),
        ({"a": 1.0, "b": 2.0}, -0.1, "-2 x b - 0.1"),
        ({"a": 2.0}, 0.5, "0.25"),
    ],
)
def test_the_relation_reads_as_it_is(factors: dict[str, float], offset: float, relation: str) -> None:
    assert tt.LinearRelation("sum", factors, offset).relation == relation


def test_parameters_have_the_units_of_their_coordinates() -> None:
    found = tt.LinearRelation("rack", {"slide": 1.0, "pinion": -0.05, "boom.mode1": 0.3}, 0.1).parameters_along(
        ["m", "rad", "1"]
    )
    assert found == {
        "factor.slide": (1.0, "1"),
        "factor.pinion": (-0.05, "m/rad"),
        "factor.boom.mode1": (0.3, "m/1"),
        "offset": (0.1, "m"),
    }


@pytest.mark.parametrize(
    ("factors", "code"),
    [
        ({}, "no-coordinates"),
        (3.0, "wrong-type"),
        ({"ring": 0.0, "left": 1.0}, "zero-factor"),
        ({"ring": 1.0, "left": np.nan}, "not-finite"),
        ({"ring": 1.0, "lft": 1.0}, "unknown-joint"),
        ({"ring": 1.0, "ring.angle": 1.0}, "self-connection"),
    ],
)
def test_wrong_relations_are_refused(factors: Any, code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        shafts(tt.LinearRelation("sum", factors)).resolve(engine="reference")
    assert code in [finding.code for finding in caught.value.findings]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_accelerations_are_those_of_the_coordinates_that_are_left(engine: str) -> None:
    """``ring`` is eliminated by hand: ``T^T M T a = T^T f``; a factor that is wrong by a thousandth is seen."""
    m = shafts(tt.LinearRelation("sum", FACTORS, 0.3)).resolve(engine=engine)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 4))
    q[0], v[0] = (0.3 + 0.8 * q[1] + 1.3 * q[2]) / 2.0, (0.8 * v[1] + 1.3 * v[2]) / 2.0
    T = np.vstack([[0.4, 0.65, 0.0], np.eye(3)])
    M, f = np.diag([*INERTIAS.values()]), tau - 1.5 * q - 0.2 * v
    expected = T @ np.linalg.solve(T.T @ M @ T, T.T @ f)
    found = m.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    effort = m.gear_effort("sum", q, v, found, tau=tau)
    np.testing.assert_allclose(M @ found - f, effort * np.array([*FACTORS.values(), 0.0]), atol=1e-14)
    assert np.abs(m.with_parameters({"sum.factor.left": -0.801}).forward_dynamics(q, v, tau) - expected).max() > 1e-4
    da_dq, da_dv, da_dtau = m.forward_dynamics_derivatives(q, v, tau)
    inverse = T @ np.linalg.solve(T.T @ M @ T, T.T)
    for found_slopes, slopes in ((da_dq, -1.5 * inverse), (da_dv, -0.2 * inverse), (da_dtau, inverse)):
        np.testing.assert_allclose(found_slopes, slopes, atol=1e-13)


def test_a_relation_of_two_coordinates_is_a_gear() -> None:
    """To the last bit, in dynamics, assembly and constraints."""
    gear = shafts(tt.Gear("pair", "ring", "left", ratio=-1.7, offset=0.2)).resolve()
    relation = shafts(tt.LinearRelation("pair", {"left": 1.0, "ring": 1.7}, offset=0.2)).resolve()
    q, v, tau = np.random.default_rng(1).normal(size=(3, 4))
    for m in (gear, relation):
        assert m.assemble(q)[1] == -1.7 * q[0] + 0.2
    q, v = gear.assemble(q), gear.assemble_velocity(q, v)
    np.testing.assert_array_equal(gear.forward_dynamics(q, v, tau), relation.forward_dynamics(q, v, tau))
    np.testing.assert_array_equal(gear.closure_jacobian(q), relation.closure_jacobian(q))


def test_imposed_coordinates_leave_the_others_related() -> None:
    """Of a relation of three, one imposed: what is left of it is no gear."""
    m = shafts(tt.LinearRelation("sum", FACTORS)).resolve()
    r = shafts(tt.LinearRelation("sum", FACTORS)).resolve(engine="reference")
    q = m.assemble([0.0, 0.4, -0.2, 0.1], fixed=["left", "right"])
    v = m.assemble_velocity(q, [0.0, 1.0, 0.3, 0.2], fixed=["left", "right"])
    for imposed in (["left"], ["left", "right"], ["ring"]):
        at = q, v, np.array([0.3, 0.0, 0.1, 0.0]), np.array([0.5, 0.9, -0.4, 0.0]), imposed
        for found, expected in zip(m.hybrid_dynamics(*at), r.hybrid_dynamics(*at), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_linear_models_simulations_and_sensitivities_read_relations() -> None:
    s = shafts(tt.LinearRelation("sum", FACTORS))
    m = s.resolve()
    point = tt.trim(m)
    linear = tt.linearize(m, point, inputs=["right"], outputs=["ring.q"])
    assert linear.nstates == 6
    run = tt.simulate(
        m, [0.0, 1.0], m.neutral(), m.assemble_velocity(m.neutral(), [0.0, 1.0, 0.2, 0.0]), rtol=1e-10, atol=1e-12
    )
    assert np.abs(m.closure_error(run.q[-1])).max() < 1e-12
    q, v = m.neutral(), np.zeros(4)
    slope = m.forward_dynamics_sensitivities(q, v, np.ones(4), ["sum.factor.left"])["sum.factor.left"]
    up, down = (
        m.with_parameters({"sum.factor.left": FACTORS["left"] + step}).forward_dynamics(q, v, np.ones(4))
        for step in (1e-5, -1e-5)
    )
    np.testing.assert_allclose(slope, (up - down) / 2e-5, atol=1e-9)  # of the difference: 1e-10, and rounding over 1e-5


def test_files_and_prefixes_keep_relations(tmp_path: Path) -> None:
    s = shafts(tt.LinearRelation("sum", FACTORS, 0.3))
    s.save(tmp_path / "gearbox.toml")
    whole = tt.System("both")
    whole.include(tt.load(tmp_path / "gearbox.toml"), "one")
    assert whole["one/sum"].factors == {f"one/{name}": factor for name, factor in FACTORS.items()}
    assert whole.resolve(engine="reference").constraint_names == ("one/sum.sum",)
    assert "relation one/sum: one/ring = 0.4 x one/left + 0.65 x one/right + 0.15" in str(whole)
