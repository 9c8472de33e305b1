"""Rods in a fluid that bears them, against closed forms, complex steps and lighter gravity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.contract.applied import is_acted_on
from titop.solvers.engines.compiled.law_tables import compiled_surroundings

DENSITY, YOUNG, GRAVITY = 1200.0, 2e5, np.array([0.5, 1.0, -9.81])


def diver(fluid: float | None = None, gravity: Any = GRAVITY, cls: type[tt.Rod] = tt.Rod) -> tt.System:
    """Return a tapered rod with another one on its tip, floating."""
    s = tt.System("diver", gravity=gravity)
    fields: dict[str, Any] = {"young": YOUNG, "density": DENSITY, "damping": 10.0, "fluid_density": fluid}
    near = cls("near", 0.3, tt.Section.circle([0.02, 0.01]), strains="timoshenko", basis=1, **fields)
    far = cls("far", 0.2, tt.Section.rectangle(0.01, 0.02), strains={"bending_y": 2}, **fields)
    s.connect("world", near, tt.Free("float"))
    s.connect(near.port("tip"), far, tt.Revolute("hinge", axis=[0, 1, 1]))
    return s


def state(m: tt.Model, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    scales = np.array([0.02 if unit == "m" else 0.5 for unit in m.assembly.coordinate_units])
    dq, v, x = scales * rng.normal(size=(3, m.nv))
    return m.integrate(m.neutral(), dq), v, x


@pytest.fixture(scope="module")
def models() -> tuple[tt.Model, tt.Model]:
    s = diver(900.0)
    return s.resolve(), s.resolve(engine="reference")


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_rod_as_dense_as_the_fluid_weighs_nothing(engine: str) -> None:
    m, dry, free = (s.resolve(engine=engine) for s in (diver(DENSITY), diver(), diver(gravity=[0, 0, 0])))
    q, v, tau = state(m)
    weight = np.abs(dry.gravity_effects(q)).max()
    assert weight > 1.0
    assert np.abs(m.gravity_effects(q)).max() < 1e-14 * weight  # rounding
    assert m.energy(q, v).gravity == pytest.approx(0.0, abs=1e-14 * weight)
    found, expected = m.inverse_dynamics(q, v, tau), free.inverse_dynamics(q, v, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * weight)
    changed = m.with_parameters({"near.fluid.density": 0.0, "far.fluid.density": 0.0})
    np.testing.assert_allclose(changed.gravity_effects(q), dry.gravity_effects(q), rtol=0, atol=1e-14 * weight)


def test_engines_agree(models: Any) -> None:
    m, reference = models
    assert m.engine.is_compiled
    q, v, x = state(m, 1)
    for name in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        one, two = (np.hstack(getattr(model, name)(q, v, x)) for model in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * np.abs(two).max())  # conditioning, 1e5 of the mass matrix
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-12)
    one, two = (model.passive_efforts(q, v) for model in models)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * np.abs(two).max())
    wet, dry = m.gravity_effects(q), diver().resolve().gravity_effects(q)
    np.testing.assert_allclose(wet, (1 - 900.0 / DENSITY) * dry, rtol=0, atol=1e-14 * np.abs(dry).max())


def test_derivatives_are_those_of_complex_steps(models: Any) -> None:
    m, reference = models
    q, v, a = state(m, 2)
    by_q, by_v, _ = m.inverse_dynamics_derivatives(q, v, a)
    for k, unit in enumerate(np.eye(m.nv)):
        moved = reference.inverse_dynamics(reference.integrate(q, 1e-30j * unit), v + 0j, a)
        np.testing.assert_allclose(by_q[:, k], np.imag(moved) / 1e-30, rtol=0, atol=1e-11 * np.abs(by_q).max())
        moved = reference.inverse_dynamics(q + 0j, v + 1e-30j * unit, a)
        np.testing.assert_allclose(by_v[:, k], np.imag(moved) / 1e-30, rtol=0, atol=1e-11 * np.abs(by_v).max())


def test_the_potential_gives_the_weight(models: Any) -> None:
    for m in models:
        q, v, _ = state(m, 3)
        h = 1e-5
        ahead, behind = (m.energy(m.integrate(q, t * v), v).gravity for t in (h, -h))
        assert (ahead - behind) / (2 * h) == pytest.approx(m.gravity_effects(q) @ v, rel=1e-8)  # differences of 1e-5


def test_sensitivity_to_the_fluid_is_the_weight_of_what_is_displaced(models: Any) -> None:
    m, reference = models
    q, v, a = state(m, 4)
    slope = m.inverse_dynamics_sensitivities(q, v, a, ["near.fluid.density", "far.fluid.density", "near.density"])
    dry = diver().resolve().gravity_effects(q)
    both = slope["near.fluid.density"] + slope["far.fluid.density"]
    np.testing.assert_allclose(both, -dry / DENSITY, rtol=0, atol=1e-13 * np.abs(dry).max())  # rounding
    (own,) = reference.inverse_dynamics_sensitivities(q, v, a, ["near.density"]).values()
    np.testing.assert_allclose(slope["near.density"], own, rtol=0, atol=1e-12 * np.abs(own).max())


def hanging(**fields: Any) -> tt.Model:
    s = tt.System("hanging", gravity=[9.81, 0, 0])
    rod = tt.Rod("rod", 0.5, tt.Section.circle(0.01), YOUNG, DENSITY, strains={"elongation": 1}, **fields)
    s.connect("world", rod, tt.Weld("clamp"))
    return s.resolve()


def test_a_hanging_rod_is_stretched_by_what_it_weighs_in_the_fluid() -> None:
    """``(rho - rho_f) g L^2 / (2 E)``; a section holds ``(rho - rho_f) A g (L - X)``."""
    m = hanging(fluid_density=1000.0)
    run = tt.trim(m)
    assert m.pose("rod.tip", run.q)[1][0] - 0.5 == pytest.approx(200.0 * 9.81 * 0.5**2 / (2 * YOUNG), rel=1e-12, abs=0)
    held = m.section_wrenches("rod", [0.0, 0.2], run.q, *np.zeros((2, m.nv)))
    np.testing.assert_allclose(held[:, 0], -200.0 * np.pi * 0.01**2 * 9.81 * np.array([0.5, 0.3]), rtol=1e-12)


def test_a_light_rod_rises() -> None:
    """By ``(rho_f / rho - 1) g``: no added mass."""
    s = diver(1800.0, gravity=[0, 0, -9.81])
    m = s.resolve()
    q = m.neutral()
    a = m.forward_dynamics(q, np.zeros(m.nv), np.zeros(m.nv))
    np.testing.assert_allclose(a[:3], [0, 0, 0.5 * 9.81], rtol=0, atol=1e-9)  # conditioning
    run = tt.simulate(m, np.linspace(0, 0.1, 6), q, np.zeros(m.nv), rtol=1e-8, atol=1e-10)
    total = run.energy().sum(axis=1)
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-7 * np.ptp(run.energy()[:, 1]))  # what rtol leaves


def test_what_is_said_otherwise_is_followed() -> None:
    class Half(tt.Rod):
        """Half of it weighs."""

        def weight(self, q: Any) -> Any:
            """Return half of mass and first moment."""
            mass, moment = super().weight(q)
            return 0.5 * mass, 0.5 * moment

    m, dry = diver(cls=Half).resolve(), diver().resolve()
    q, _, _ = state(m)
    np.testing.assert_allclose(m.gravity_effects(q), 0.5 * dry.gravity_effects(q), rtol=0, atol=1e-13)
    blocks = m.assembly.blocks
    assert compiled_surroundings(blocks["near"]) is None
    assert not is_acted_on(dry.assembly.blocks["near"])  # without a fluid a rod costs what it did


def test_bad_fluids_are_named_and_files_keep_good_ones(tmp_path: Any) -> None:
    for value in (-1.0, np.nan, "water"):
        with pytest.raises(tt.ModelError, match=r"rod\.fluid_density"):
            hanging(fluid_density=value)
    assert "near.fluid.density" not in diver().resolve(engine="reference").parameters()
    s = diver(900.0)
    s.save(tmp_path / "diver.toml")
    m, again = s.resolve(engine="reference"), tt.load(tmp_path / "diver.toml").resolve(engine="reference")
    assert again.parameters()["near.fluid.density"] == (900.0, "kg/m^3")
    q, _, _ = state(m)
    np.testing.assert_array_equal(m.gravity_effects(q), again.gravity_effects(q))
    diver().save(tmp_path / "dry.toml")
    assert "fluid_density" not in (tmp_path / "dry.toml").read_text()
