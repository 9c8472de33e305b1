"""Rods in a fluid, against closed forms, a boundary value problem, complex steps, and the fluid seen from another frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson, solve_bvp

import titop as tt
from tests.solvers.kernels.laws.mixed_systems import assert_close, assert_slopes
from titop.blocks.contract.applied import is_acted_on
from titop.solvers.engines.compiled.law_tables import compiled_surroundings
from titop.solvers.model.terms import mass_center

DENSITY, YOUNG, GRAVITY = 1200.0, 2e5, np.array([0.5, 1.0, -9.81])
CURRENT = np.array([0.3, -0.2, 0.1])


def diver(fluid: float | None = None, gravity: Any = GRAVITY, cls: type[tt.Rod] = tt.Rod) -> tt.System:
    """Return a tapered rod with another one on its tip, floating."""
    s = tt.System("diver", gravity=gravity)
    fields: dict[str, Any] = {"young": YOUNG, "density": DENSITY, "damping": 10.0, "fluid": fluid and tt.Fluid(fluid)}
    near = cls("near", 0.3, tt.Section.circle([0.02, 0.01]), strains="timoshenko", basis=1, **fields)
    far = cls("far", 0.2, tt.Section.rectangle(0.01, 0.02), strains={"bending_y": 2}, **fields)
    s.connect("world", near, tt.Free("float"))
    s.connect(near.port("tip"), far, tt.Revolute("hinge", axis=[0, 1, 1]))
    return s


def state(m: tt.Model, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    scales = np.array([0.02 if unit == "m" else 0.5 for unit in m.mechanism.assembly.coordinate_units])
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
    assert m.mechanism.engine.is_compiled
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
    assert_slopes(*models, *state(models[0], 2), 1e-11)


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
    m = hanging(fluid=tt.Fluid(1000.0))
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
    blocks = m.mechanism.assembly.blocks
    assert compiled_surroundings(blocks["near"]) is None
    assert not is_acted_on(dry.mechanism.assembly.blocks["near"])  # without a fluid a rod costs what it did


def test_bad_fluids_are_named_and_files_keep_good_ones(tmp_path: Any) -> None:
    for value in (-1.0, np.nan, "water"):
        with pytest.raises(tt.ModelError, match=r"fluid\.density"):
            hanging(fluid=tt.Fluid(value))
    assert "near.fluid.density" not in diver().resolve(engine="reference").parameters()
    s = diver(900.0)
    s.save(tmp_path / "diver.toml")
    m, again = s.resolve(engine="reference"), tt.load(tmp_path / "diver.toml").resolve(engine="reference")
    assert again.parameters()["near.fluid.density"] == (900.0, "kg/m^3")
    q, _, _ = state(m)
    np.testing.assert_array_equal(m.gravity_effects(q), again.gravity_effects(q))
    diver().save(tmp_path / "dry.toml")
    assert "fluid" not in (tmp_path / "dry.toml").read_text()


# -- all that a fluid does, in a tree of rods and a body


def swimmer(current: Any = CURRENT, without: tuple[str, ...] = ()) -> tt.System:
    """Return a body with two rods in a row, in water with everything that it does, but for some of it."""
    rng = np.random.default_rng(5)
    roots = rng.normal(size=(2, 6, 6))
    added, drag = 0.1 * roots[0] @ roots[0].T, 3.0 * roots[1] @ roots[1].T
    drag[:3, :3] += [[0.0, 1.0, 2.0], [-1.0, 0.0, 0.5], [-2.0, -0.5, 0.0]]
    turned = tt.Pose([0, 0.1, 0.05], np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    hub = {"volume": 0.001, "buoyancy_center": [0.05, 0.02, 0.01], "added_mass": added, "lift": [0.01, 0.002, 0.003]}
    hub |= {"drag": {"x": 0.01, "y": 0.02, "turn": 0.3, "linear": 0.2}}
    near = {"added_mass": lambda X: (1 + X) * added, "drag": drag, "lift": 0.4}
    far = {"added_mass": "potential", "drag": {"normal": 1.1, "tangential": 0.05, "torsional": 0.2, "viscous_normal": 0.3}}
    for fields in (hub, near, far):
        fields["fluid"] = tt.Fluid(1000.0, current)
        for name in without:
            fields.pop(name, None)
    ports = {"left": [0.1, 0, 0], "right": turned}
    s = tt.System("swimmer", gravity=GRAVITY)
    body = tt.RigidBody("hub", 2.0, [0.01, 0.02, -0.03], [0.1, 0.2, 0.15], ports, **hub)
    elastic: dict[str, Any] = {"young": YOUNG, "density": DENSITY, "damping": 10.0}
    one = tt.Rod("near", 0.3, tt.Section.circle([0.02, 0.01]), strains="timoshenko", basis=1, **elastic, **near)
    two = tt.Rod("far", 0.2, tt.Section.rectangle(0.01, 0.02), strains={"bending_y": 2, "torsion": 1}, **elastic, **far)
    s.connect("world", body.port("left"), tt.Free("float"))
    s.connect(body.port("right"), one, tt.Revolute("joint"))
    s.connect(one.port("tip"), two, tt.Revolute("hinge", axis=[0, 1, 1]))
    return s


@pytest.fixture(scope="module")
def swimmers() -> tuple[tt.Model, tt.Model]:
    s = swimmer()
    return s.resolve(), s.resolve(engine="reference")


def test_engines_agree_on_all_that_water_does(swimmers: Any) -> None:
    q, v, x = state(swimmers[0], 1)
    for name in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        assert_close(*(np.hstack(getattr(m, name)(q, v, x)) for m in swimmers), 1e-14)  # rounding
    for name in ("forward_dynamics", "forward_dynamics_derivatives"):
        assert_close(*(np.hstack(getattr(m, name)(q, v, x)) for m in swimmers), 1e-11)  # conditioning
    for name in ("passive_efforts", "momentum", "nonlinear_effects", "energy", "dissipated_power"):
        assert_close(*(getattr(m, name)(q, v) for m in swimmers), 1e-13)
    assert_close(*(m.gravity_effects(q) for m in swimmers), 1e-13)
    assert_close(*(m.center_of_mass(q) for m in swimmers), 1e-13)
    stacked = [swimmers[0].forward_dynamics(*(np.array([y, y]) for y in (q, v, x)))]
    np.testing.assert_array_equal(stacked[0], [swimmers[0].forward_dynamics(q, v, x)] * 2)


def test_derivatives_in_a_stream_are_those_of_complex_steps(swimmers: Any) -> None:
    m, reference = swimmers
    for at in (state(m, 2), (state(m, 3)[0], *np.zeros((2, m.nv)))):
        assert_slopes(m, reference, *at, 1e-13)


def test_still_water_at_rest_has_derivatives() -> None:
    """Quadratic drag is smooth there: its slope is zero, whatever the root of the speed does."""
    m = swimmer([0, 0, 0], ("lift",)).resolve()
    q, rest, _ = state(m, 3)
    rest = np.zeros(m.nv)
    _, by_v, _ = m.inverse_dynamics_derivatives(q, rest, rest)
    dry = swimmer([0, 0, 0], ("drag", "lift")).resolve().inverse_dynamics_derivatives(q, rest, rest)[1]
    assert np.isfinite(by_v).all()
    linear = np.abs(by_v - dry).max()
    changed = {"hub.drag.linear": 0.0, "far.drag.viscous_normal": 0.0}
    assert_close(m.with_parameters(changed).inverse_dynamics_derivatives(q, rest, rest)[1], dry, 1e-14)
    assert linear > 0.01


def test_a_current_is_still_water_seen_from_a_frame_that_moves(swimmers: Any) -> None:
    """Galilei: with ``V - R^T c`` in still water all accelerations are the same, but for the turning of the frame."""
    m, still = swimmers[0], swimmer([0, 0, 0]).resolve()
    q, v, a = state(m, 4)
    current = m.pose("hub.left", q)[0].T @ CURRENT
    slower, turned = v.copy(), a.copy()
    slower[:3] -= current
    turned[:3] += np.cross(v[3:6], current)
    tau = m.inverse_dynamics(q, v, a)
    assert_close(still.inverse_dynamics(q, slower, turned), tau, 1e-13)  # rounding
    assert np.abs(still.inverse_dynamics(q, v, a) - tau).max() > 0.01 * np.abs(tau).max()  # the current matters
    assert np.abs(still.inverse_dynamics(q, slower, a) - tau).max() > 0.01 * np.abs(tau).max()  # and the frame's turning


@pytest.mark.long
@pytest.mark.parametrize("current", [[0.0, 0.0, 0.0], CURRENT])
def test_energy_that_is_lost_is_what_water_takes(current: Any) -> None:
    """``E(0) - E(t) = int P dt``; in a current too, which feeds some of it."""
    m = swimmer(current).resolve()
    q, v, _ = state(m, 6)
    t = np.linspace(0.0, 0.2, 1601)
    run = tt.simulate(m, t, q, v, rtol=1e-10, atol=1e-11, method="Radau")
    total, power = run.energy().sum(axis=1), m.dissipated_power(run.q, run.v)
    lost = simpson(power, x=t)
    assert abs(lost) > 0.1
    assert total[0] - total[-1] == pytest.approx(lost, abs=1e-7 * simpson(np.abs(power), x=t))  # what rtol leaves
    assert (power > 0).all() or np.any(current)


def test_sensitivities_to_water_are_slopes(swimmers: Any) -> None:
    m, reference = swimmers
    q, v, a = state(m, 7)
    names = ["hub.fluid.density", "hub.fluid.current.x", "hub.drag.x", "hub.lift.x", "hub.volume", "hub.buoyancy_center.y"]
    names += ["near.fluid.density", "near.fluid.current.y", "near.lift.x", "near.length"]
    names += ["far.drag.normal", "far.drag.viscous_normal", "far.section.width"]
    found, values = reference.inverse_dynamics_sensitivities(q, v, a, names), m.parameters()
    for name in names:
        h = 1e-5 * (abs(values[name][0]) or 1.0)
        ahead, behind = (m.with_parameters({name: values[name][0] + s}).inverse_dynamics(q, v, a) for s in (h, -h))
        slope = (ahead - behind) / (2 * h)
        rounding = 1e-10 * np.abs(ahead).max() / (h * np.abs(slope).max()) * 1e-5
        assert_close(found[name], slope, max(1e-8, rounding))  # truncation, or rounding, of the differences


def test_time_derivatives_in_a_stream(swimmers: Any) -> None:
    m = swimmers[0]
    q, v, a = state(m, 8)
    efforts = m.inverse_dynamics_series(q, np.array([v, a, np.zeros(m.nv)]))
    assert_close(efforts[0], m.inverse_dynamics(q, v, a), 1e-13)
    h = 1e-5
    ahead, behind = (m.inverse_dynamics(m.integrate(q, t * v + t * t / 2 * a), v + t * a, a) for t in (h, -h))
    assert_close(efforts[1], (ahead - behind) / (2 * h), 1e-7)  # differences of 1e-5
    still = swimmer([0, 0, 0]).resolve()
    with pytest.raises(tt.ModelError, match="a root has none at zero"), np.errstate(invalid="ignore"):
        still.inverse_dynamics_series(q, np.zeros((3, m.nv)))


def test_sections_carry_what_water_presses(swimmers: Any) -> None:
    """At the base of a rod the wrench is that of its joint."""
    m = swimmers[0]
    q, v, a = state(m, 9)
    assert_close(m.section_wrenches("near", [0.0], q, v, a)[0], m.reaction("joint", q, v, a), 1e-12)


def test_lifting_rods_do_no_work() -> None:
    m = swimmer([0, 0, 0], ("drag",)).resolve()
    q, v, _ = state(m, 10)
    dry = swimmer([0, 0, 0], ("drag", "lift")).resolve()
    assert m.dissipated_power(q, v) == pytest.approx(dry.dissipated_power(q, v), rel=1e-12)
    assert np.abs(m.passive_efforts(q, v) - dry.passive_efforts(q, v)).max() > 0.01


# -- one rod

LENGTH, RADIUS = 0.8, 0.002


def cantilever(**fields: Any) -> tt.System:
    s = tt.System("s")
    given: dict[str, Any] = {"young": 2e9, "density": DENSITY, "strains": {"bending_z": 6}, "points": 12} | fields
    s.connect("world", tt.Rod("rod", LENGTH, tt.Section.circle(RADIUS), **given), tt.Weld("clamp"))
    return s


def test_a_rod_in_water_swings_slower() -> None:
    """``3.516 sqrt(E I / ((m + m_a) L^4))``, of which rotary inertia takes 1e-5: in water by ``sqrt(m / (m + m_a))``."""
    area, second = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
    for added in (1.0, "potential", np.diag([0, 1, 1, 0, 0, 0]) * 1000.0 * area):
        m = cantilever(fluid=tt.Fluid(1000.0), added_mass=added).resolve()
        frequency = np.abs(tt.linearize(m, tt.trim(m)).poles()).min()
        expected = 1.8751040687**2 * np.sqrt(2e9 * second / ((DENSITY + 1000.0) * area * LENGTH**4))
        assert frequency == pytest.approx(expected, rel=2e-5)
    along = cantilever(fluid=tt.Fluid(1000.0), added_mass={"tangential": 1.0}).resolve()
    dry = cantilever().resolve()
    one, two = (np.abs(tt.linearize(m, tt.trim(m)).poles()).min() for m in (along, dry))
    assert one == pytest.approx(two, rel=1e-9)  # along the rod nothing moves


def test_an_elliptic_rod_moves_the_more_along_the_broader_it_is() -> None:
    """``pi rho b^2`` across its flat side, ``pi rho a^2`` the other way, ``pi rho (a^2 - b^2)^2 / 8`` in torsion (Lamb)."""
    water: dict[str, Any] = {"fluid": tt.Fluid(1000.0), "added_mass": "potential"}
    rod = tt.Rod("rod", 1.0, tt.Section.ellipse(0.03, 0.01), young=1e6, density=1.0, **water)
    found = rod.added_inertia(np.zeros(rod.nv))
    expected = np.pi * 1000.0 * np.array([0.0, 0.01**2, 0.03**2, (0.03**2 - 0.01**2) ** 2 / 8])
    np.testing.assert_allclose(np.diag(found)[:4], expected, rtol=1e-13, atol=1e-15)


def test_a_stiff_rod_in_a_stream_bends_as_a_beam() -> None:
    """``q L^4 / (8 E I)``, ``q = rho d C c^2 / 2``."""
    current, force = 0.02, 1000.0 / 2 * 2 * RADIUS * 1.2 * 0.02**2
    deflection = force * LENGTH**4 / (8 * 2e9 * np.pi * RADIUS**4 / 4)
    m = cantilever(fluid=tt.Fluid(1000.0, [0, current, 0]), drag=1.2).resolve()
    tip = m.pose("rod.tip", tt.trim(m).q)[1]
    assert tip[1] == pytest.approx(deflection, rel=1e-5)  # the square of the slope, 0.003
    assert deflection > 1e-3


def test_a_soft_rod_in_a_stream_bends_as_an_elastica() -> None:
    """Against a boundary value problem: ``E I k' = -N``, force balance along and across, drag by the speed across and along."""
    current, normal, tangential = 0.5, 1.2, 0.1
    stiffness, half = 2e9 * np.pi * RADIUS**4 / 4, 1000.0 / 2 * 2 * RADIUS * current

    def rates(_: Any, y: Any) -> Any:
        angle, curvature, along, across = y[2:]
        flow_along, flow_across = current * np.sin(angle), current * np.cos(angle)
        return np.array(
            [
                *(np.cos(angle), np.sin(angle), curvature, -across / stiffness),
                curvature * across - half * tangential * flow_along,
                -curvature * along - half * normal * flow_across,
            ]
        )

    def ends(base: Any, tip: Any) -> Any:
        return np.array([*base[:3], *tip[3:]])

    X = np.linspace(0, LENGTH, 200)
    solved = solve_bvp(rates, ends, X, np.zeros((6, 200)), tol=1e-10, max_nodes=50000)
    assert solved.success
    rod = {"strains": {"bending_z": 12}, "points": 20, "drag": {"normal": normal, "tangential": tangential}}
    m = cantilever(fluid=tt.Fluid(1000.0, [0, current, 0]), **rod).resolve()
    tip = m.pose("rod.tip", tt.trim(m).q)[1]
    np.testing.assert_allclose(tip[:2], solved.sol(LENGTH)[:2], rtol=0, atol=1e-6)  # m; what basis and points leave
    assert tip[1] > 0.4


def test_a_rod_drifts_with_the_stream() -> None:
    """Free in a current it comes to rest in it: ``v = c - c / (1 + c t / T)``, ``T = 2 (m + m_a) / (rho d C)``."""
    s, current = tt.System("s"), 0.4
    rod = tt.Rod(
        *("rod", LENGTH, tt.Section.circle(0.02), 1e6, DENSITY),
        **{"strains": {"elongation": 0}, "fluid": tt.Fluid(1000.0, [0, current, 0]), "added_mass": 1.0, "drag": 1.2},
    )
    s.connect("world", rod, tt.Prismatic("slide", axis=[0, 1, 0]))
    t = np.linspace(0.0, 3.0, 7)
    run = tt.simulate(s.resolve(), t, np.zeros(2), np.zeros(2), rtol=1e-11, atol=1e-13)
    scale = 2 * (DENSITY + 1000.0) * np.pi * 0.02**2 / (1000.0 * 0.04 * 1.2)
    expected = current - current / (1 + current * t / scale)
    np.testing.assert_allclose(run.v[:, 0], expected, rtol=0, atol=1e-9)  # what rtol leaves


def test_files_keep_what_water_does(tmp_path: Any) -> None:
    s = swimmer([0.1, 0, 0])
    with pytest.raises(tt.ModelError, match="added_mass"):
        s.save(tmp_path / "function.toml")  # a function of X
    s = swimmer([0.1, 0, 0], ("added_mass",))
    s.save(tmp_path / "swimmer.toml")
    m, again = (each.resolve(engine="reference") for each in (s, tt.load(tmp_path / "swimmer.toml")))
    q, v, a = state(m, 11)
    np.testing.assert_array_equal(again.inverse_dynamics(q, v, a), m.inverse_dynamics(q, v, a))
    assert again.parameters() == m.parameters()
    other = cantilever(fluid=tt.Fluid(900.0), added_mass="potential")
    other.save(tmp_path / "rod.toml")
    assert tt.load(tmp_path / "rod.toml")["rod"].added_mass == "potential"


def test_what_is_moved_along_weighs_nothing_and_is_no_mass(swimmers: Any) -> None:
    m, dry = swimmers[0], swimmer([0, 0, 0], ("added_mass",)).resolve()
    q, v, _ = state(m, 12)
    np.testing.assert_allclose(mass_center(m, q), mass_center(dry, q), rtol=0, atol=1e-13)
    assert_close(m.gravity_effects(q), dry.gravity_effects(q), 1e-13)
    assert np.abs(m.momentum(q, v) - dry.momentum(q, v)).max() > 0.1
    assert np.abs(m.mass_matrix(q) - dry.mass_matrix(q)).max() > 0.1
