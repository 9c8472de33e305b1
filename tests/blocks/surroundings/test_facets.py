"""Facets, the common part of drag and solar pressure: one model of all, in both engines, files, families and subsystems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surroundings.orbiting import AIR, FIELD, SUN, in_orbit, plate, satellite
from tests.refusals import refused
from titop.solvers.constraints.interaction_loads import interaction_efforts

BOX = tt.RigidBody("box", 1.0)
U = {"torquer.x": 3.0, "torquer.y": -2.0, "torquer.z": 1.0}


@pytest.fixture(scope="module")
def models() -> tuple[tt.Model, tt.Model]:
    return satellite().resolve(), satellite().resolve(engine="reference")


def test_engines_agree(models: tuple[tt.Model, tt.Model]) -> None:
    """At rest, where gyroscopic terms do not hide what surroundings do; at orbital speed, what the interactions do alone."""
    for seed in range(3):
        q, v = in_orbit(models[0], seed)
        (by_q, by_v, _), expected = (m.forward_dynamics_derivatives(q, 0 * v, 0 * v, u=U) for m in models)
        for found, right in ((by_q, expected[0]), (by_v, expected[1])):
            sizes = np.abs(right).max(axis=0)
            assert (sizes[:6] > 0).all()  # by place, attitude and velocity of the hub
            assert (np.abs(found - right).max(axis=0) <= 1e-11 * sizes).all()  # both exact to rounding; arms of 7e6 m
        one, two = (m.forward_dynamics(q, 0 * v, u=U) for m in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * np.abs(two).max())  # few roundings
        for name in ("drag", "light", "residual"):
            one, two = (_efforts(m, name, q, v) for m in models)
            assert np.abs(two).max() > 1e-8
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * np.abs(two).max())


def _efforts(m: tt.Model, name: str, q: Any, v: Any) -> Any:
    """Return what an interaction does, by the engine: what inverse dynamics need less without it."""
    loop = next(loop for loop in m.mechanism.interactions if loop.closure.name == name)
    return interaction_efforts(m.mechanism, loop, q, v)


def test_order_and_grouping_of_facets_do_not_matter() -> None:
    """One interaction on two ports is two on one each, and facets of ports may be mixed."""
    s = satellite(surrounded=False)
    hub, panel = s["hub"], s["panelL"]
    plates = [tt.Facet(0, 2.0, [1, 1, way], [0, way, 1]) for way in (1, -1)]
    facets = [tt.Facet(hub, 1.0, [1, 2, 0], [1, 0, 0]), tt.Facet(hub, 0.5, [2, 1, 2], [0, 1, 0])]
    facets[1:1] = [tt.Facet(panel, f.area, way * f.normal, f.center) for f in plates for way in (1, -1)]
    s.add_interaction(tt.AerodynamicDrag("all", facets, **AIR))
    together = s.resolve(engine="reference")
    s = satellite(surrounded=False)
    hub, panel = s["hub"], s["panelL"]
    s.add_interaction(
        tt.AerodynamicDrag(
            "of_panel", [tt.Facet(0, f.area, -way * f.normal, f.center) for f in plates for way in (1, -1)], **AIR
        ),
        panel,
    )
    s.add_interaction(tt.AerodynamicDrag("of_hub", [tt.Facet(hub, f.area, f.normal, f.center) for f in facets[::-5]], **AIR))
    apart = s.resolve(engine="reference")
    q, v = in_orbit(together, 1)
    one = _efforts(together, "all", q, v)
    assert np.count_nonzero(one) == 7  # not the other panel's hinge
    np.testing.assert_allclose(one, _efforts(apart, "of_panel", q, v) + _efforts(apart, "of_hub", q, v), rtol=1e-14, atol=1e-20)


def test_files_and_subsystems(tmp_path: Any) -> None:
    s = satellite()
    m = s.resolve(engine="reference")
    s.save(tmp_path / "s.toml")
    loaded = tt.load(tmp_path / "s.toml").resolve(engine="reference")
    assert loaded.parameters() == m.parameters()
    q, v = in_orbit(m)
    np.testing.assert_array_equal(loaded.forward_dynamics(q, v, u=U), m.forward_dynamics(q, v, u=U))
    whole = tt.System("whole", gravity=[0, 0, 0])
    whole.include(s, "one", "world")
    included = whole.resolve(engine="reference")
    assert included.input_names == ("one/torquer.x", "one/torquer.y", "one/torquer.z")
    inputs = {f"one/{name}": value for name, value in U.items()}
    np.testing.assert_array_equal(included.forward_dynamics(q, v, u=inputs), m.forward_dynamics(q, v, u=U))
    whole.save(tmp_path / "whole.toml")
    assert tt.load(tmp_path / "whole.toml").resolve(engine="reference").parameters() == included.parameters()


@pytest.mark.filterwarnings("ignore:.*equilibrium")
def test_families_are_linear_models_of_members() -> None:
    s, hub = plate()
    facets = tt.Facet.box(hub, [1, 2, 3], [0.1, 0.2, 0.3], 0.1, 0.2)[:3]
    s.add_interaction(tt.AerodynamicDrag("drag", facets, **AIR))
    s.add_interaction(tt.SolarPressure("light", facets, SUN))
    s.add_actuator(tt.Magnetorquer("torquer", hub, FIELD, [1, 2, 3]))
    m = s.resolve(engine="reference")
    q, v = m.configuration({"base": [6e6, 3e6, 1e6, 0, 0, 0, 1]}), m.velocity({"base": [7, 5, 3, 0, 0, 0]})
    ranges = {"drag.density": 20, "drag.facets.2.area": 10, "light.pressure": 5, "torquer.field.z": 10}
    point = tt.OperatingPoint(m, q, v, u=[3.0])
    outputs = ["hub.w[0]", "hub.w[1]", "hub.v[2]"]
    parts = {name: tt.percent(x) for name, x in ranges.items()}
    family = tt.lft(m, point, parts, ["torquer"], outputs, reduce=False)
    assert family.check(1) < 1e-9  # rounding of arms of 7e6 m
    changed = m.with_parameters(values := {name: 1.03 * m.parameters()[name][0] for name in ranges})
    there = tt.OperatingPoint(changed, q, v, u=[3.0])
    member = tt.linearize(changed, there, ["torquer"], outputs)
    parameters = {name: [m.parameters()[name][0], value] for name, value in values.items()}
    grid = tt.lpv(m, parameters, [point, there], ["torquer"], outputs, grid=False)
    exact = family.at(values)
    for part in "ABC":
        right = getattr(member, part)
        np.testing.assert_allclose(getattr(exact, part), right, rtol=0, atol=1e-11 * np.abs(right).max())
        np.testing.assert_array_equal(getattr(grid, part)[1], right)
    assert np.abs(member.B[6:9]).max() == 0  # a dipole pushes nothing
    assert np.abs(member.B[9:]).max() > 1e-6


@pytest.mark.parametrize("name", ["drag.scale_height", "light.sun.y", "drag.facets.19.normal.x"])
def test_what_is_no_polynomial_is_refused_by_name(models: tuple[tt.Model, tt.Model], name: str) -> None:
    q, v = in_orbit(models[1])
    with pytest.raises(tt.ModelError, match=rf"{name}.*not-rational"):
        tt.lft(models[1], tt.OperatingPoint(models[1], q, 0 * v), {name: tt.percent(10)}, ["torquer.x"], ["hub.w[1]"])


def test_samples(models: tuple[tt.Model, tt.Model]) -> None:
    q, v = in_orbit(models[1])
    spread = {"drag.facets.7.area": tt.percent(10), "light.pressure": tt.percent(10)}
    samples = tt.monte_carlo(models[1], spread, lambda m: {"a": m.forward_dynamics(q, 0 * v)[3]}, 4)
    assert len(set(samples.values("a").tolist())) == 4


@pytest.mark.parametrize(
    ("facet", "code", "where"),
    [
        (tt.Facet(BOX, 0.0, [1, 0, 0]), "no-area", "light.facets[0].area"),
        (tt.Facet(BOX, -1.0, [1, 0, 0]), "no-area", "light.facets[0].area"),
        (tt.Facet(BOX, 1.0, [0, 0, 0]), "zero-axis", "light.facets[0].normal"),
        (tt.Facet(BOX, 1.0, [1, 0, 0], specular=1.2), "bad-share", "light.facets[0].specular"),
        (tt.Facet(BOX, 1.0, [1, 0, 0], diffuse=-0.1), "bad-share", "light.facets[0].diffuse"),
        (tt.Facet(BOX, 1.0, [1, 0, 0], specular=0.6, diffuse=0.5), "bad-share", "light.facets[0]"),
    ],
)
def test_wrong_facets_are_refused(facet: tt.Facet, code: str, where: str) -> None:
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", BOX, tt.Free("base"))
    s.add_interaction(tt.SolarPressure("light", [facet], SUN))
    findings = refused(s, "reference").findings
    assert (code, where) in [(finding.code, finding.where) for finding in findings]
    assert len(findings) == 1 + (facet.specular > 1)  # the sum is wrong, too


@pytest.mark.parametrize("sides", [[1, 0, 2], [1, -1, 2], [-1, -1, 2]])
def test_boxes_without_volume_are_refused(sides: list[float]) -> None:
    with pytest.raises(tt.ModelError, match=r"facet\.sides.*no-area"):
        tt.Facet.box(BOX, sides)


def test_wrong_targets_are_refused() -> None:
    with pytest.raises(tt.ModelError, match=r"facet\.target.*not-a-port"):
        tt.Facet("hub", 1.0, [1, 0, 0])  # type: ignore[arg-type]
    for facets, code in (
        ([], "not-a-facet"),
        ([tt.Facet(0, 1.0, [1, 0, 0]), tt.Facet(BOX, 1.0, [1, 0, 0])], "mixed-targets"),
        ([tt.Facet(1, 1.0, [1, 0, 0])], "bad-number"),
    ):
        s, hub = plate()
        s.add_interaction(tt.SolarPressure("light", facets, SUN), hub)
        assert code in [finding.code for finding in refused(s, "reference").findings]
    s, _ = plate()
    s.add_interaction(tt.SolarPressure("light", [tt.Facet(BOX, 1.0, [1, 0, 0])], SUN))
    assert [finding.code for finding in refused(s, "reference").findings] == ["foreign-target"]
    s, hub = plate()
    s.add_interaction(tt.SolarPressure("light", [tt.Facet(0, 1.0, [1, 0, 0]), tt.Facet(1, 1.0, [1, 0, 0])], SUN), hub)
    assert [finding.code for finding in refused(s, "reference").findings] == ["wrong-ports"]
    with pytest.raises(tt.ModelError, match="cannot-change"):
        s["light"].facets = []


def test_parameters_out_of_range_are_refused() -> None:
    m = satellite().resolve(engine="reference")
    for name, value in (("light.facets.2.specular", 0.9), ("drag.facets.1.area", 0.0), ("drag.accommodation", 1.5)):
        with pytest.raises(tt.ModelError, match=name.split(".")[-1]):
            m.with_parameters({name: value})


def test_the_world_of_an_orbit(models: tuple[tt.Model, tt.Model]) -> None:
    """In Hill's frame all that surrounds does the same as in the inertial world, at each anomaly."""
    orbit = tt.Orbit(tt.CentralGravity(3.986e14, 6.378e6), 6.778e6, inclination=1.2, node=0.3, perigee=0.2, anomaly=0.7)
    hill, inertial = (satellite(gravity=gravity).resolve(engine="reference") for gravity in (orbit, orbit.gravity))
    rng = np.random.default_rng(3)
    q, v = hill.random_configuration(rng), 0.01 * rng.normal(size=hill.nv)
    q[7:] = v[6:] = 0.0  # no elasticity
    there = [np.concatenate([own, x[len(own) :]]) for own, x in zip(orbit.state(q[:7], v[:6]), (q, v), strict=True)]
    for name in ("drag", "light", "residual", "torquer/path"):
        one, two = (_driven(m, name, *state) for m, state in ((hill, (q, v)), (inertial, there)))
        assert np.abs(one).max() > 1e-9
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(one).max())  # the inertial one has places of 7e6 m
    slopes = hill.forward_dynamics_sensitivities(q, v, 0 * v, ["gravity.anomaly"], u=U)["gravity.anomaly"]
    h = 1e-4
    ahead, behind = (hill.with_parameters({"gravity.anomaly": 0.7 + x}).forward_dynamics(q, v, u=U) for x in (h, -h))
    np.testing.assert_allclose(slopes, (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * np.abs(slopes).max())  # h^2
    with pytest.warns(tt.ModelWarning, match="held-surroundings"):
        tt.simulate(hill, [0.0, 1e-3], q, v)


def _driven(m: tt.Model, name: str, q: Any, v: Any) -> Any:
    loop = next(loop for loop in m.mechanism.interactions if loop.closure.name == name)
    return interaction_efforts(m.mechanism, loop, q, v, np.array([3.0, -2.0, 1.0]) if loop.closure.inputs else None)


def test_boxes() -> None:
    facets = tt.Facet.box(BOX, [1, 2, 3], [4, 5, 6], 0.1, 0.2)
    assert sum(f.area for f in facets) == 22
    assert np.abs(sum(f.area * f.normal for f in facets)).max() == 0  # type: ignore[arg-type]
    # Gauss: the flux of the position is three times the volume
    assert sum(f.area * f.normal @ f.center for f in facets) == pytest.approx(18, rel=1e-15)
    assert {(f.specular, f.diffuse) for f in facets} == {(0.1, 0.2)}
    assert FIELD.kind == "dipole"
