"""Loads along rods in systems: both engines, their derivatives, energy, parameters, signals and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.kernels.laws.mixed_systems import assert_slopes
from titop.solvers.engines.compiled.law_tables import compiled_interaction

FIELDS: dict[str, Any] = {"young": 2e5, "density": 1000.0, "poisson": 0.4, "damping": 20.0}
STRAINS = {"torsion": 1, "bending_y": 1, "bending_z": 1, "elongation": 0, "shear_y": 0}
INPUTS = {"jets.amplitude": 0.7}


def swimmer(functions: bool = True) -> tt.System:
    """Return a rod on a body that floats, with loads of all kinds along it, and another rod on its tip."""
    s = tt.System("swimmer", gravity=[0.5, 1.0, -9.81])
    hub = tt.RigidBody("hub", mass=0.5, inertia=[1e-2, 2e-2, 3e-2], com=[0.01, 0.02, 0.0])
    near = tt.Rod("near", 0.3, tt.Section.circle([0.02, 0.015]), strains=STRAINS, ports={"fin": 0.1}, **FIELDS)
    far = tt.Rod("far", 0.2, tt.Section.circle([0.015, 0.01]), strains="kirchhoff", basis=1, **FIELDS)
    s.connect("world", hub, tt.Free("float"))
    s.connect(hub, near, tt.Revolute("hinge", axis=[0, 1, 1]), placement=tt.Pose([0.1, 0, 0.02]))
    s.connect(near.port("tip"), far, tt.Weld("weld"))
    bow = (lambda X: [0.1, np.sin(9 * X), X]) if functions else [[0.1, 0.0, 0.3], [0.4, 0.5, 0.6], [0.2, 0.0, 0.0]]
    s.add_interaction(tt.DistributedLoad("follower", near, force=[1.0, 2.0, -1.0], torque=[0.05, 0.02, 0.1]))
    s.add_interaction(tt.DistributedLoad("wind", far, bow, [0.01, 0, 0.02], "world", start=0.03, end=0.17, scale=0.8))
    s.add_interaction(tt.DistributedLoad("jets", near, [0, 3.0, 1.0], [0, 0.1, 0], "world", driven=True, scale=1.5, points=3))
    s.add_interaction(tt.DistributedLoad("rain", near, force=[0.2, 0, -1.0], frame="world"))
    return s


@pytest.fixture(scope="module")
def models() -> tuple[tt.Model, tt.Model]:
    s = swimmer()
    return s.resolve(), s.resolve(engine="reference")


def state(model: tt.Model, seed: int = 0, size: float = 0.3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    scales = np.array([0.02 if unit == "m" else 1.0 for unit in model.mechanism.assembly.coordinate_units])
    dq, v, x = size * scales * rng.normal(size=(3, model.nv))
    return model.integrate(model.neutral(), dq), v, x


@pytest.mark.parametrize("seed", range(2))
def test_engines_agree(models: Any, seed: int) -> None:
    m, reference = models
    q, v, x = state(m, seed)
    for name in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
        one, two = (np.hstack(getattr(model, name)(q, v, x, u=INPUTS)) for model in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * np.abs(two).max())  # conditioning, 1e5 of the mass matrix
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-12)  # two orders of summation
    for name in ("passive_efforts", "actuation_matrix"):
        one, two = (getattr(model, name)(*((q, v) if name == "passive_efforts" else (q,))) for model in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * np.abs(two).max())
    one = m.inverse_dynamics(q, v, x)
    assert np.abs(one - m.inverse_dynamics(q, v, x, u=INPUTS)).max() > 1e-3  # the control: inputs act
    np.testing.assert_allclose(one, reference.inverse_dynamics(q, v, x), rtol=0, atol=1e-13 * np.abs(one).max())


def test_the_compiled_kind_is_that_of_loads(models: Any) -> None:
    m = models[0]
    assert m.mechanism.engine.is_compiled

    class Own(tt.DistributedLoad):
        def stored(self, motion: Any) -> Any:
            return 2.0 * super().stored(motion)

    assert compiled_interaction(Own("own", m.mechanism.assembly.blocks["near"])) is None


def test_derivatives_are_those_of_complex_steps(models: Any) -> None:
    assert_slopes(*models, *state(models[0]), 1e-10, u=INPUTS)


PARAMETERS = (
    *("follower.force.x", "follower.torque.z", "wind.torque.x", "wind.scale", "jets.scale", "jets.force.y", "rain.force.z"),
    *("near.length", "far.length", "near.section.radius.base", "near.reference_strain.bending_y", "hub.mass"),
)


def test_parameters_act(models: Any) -> None:
    """Also those of the rods along which loads act."""
    m, reference = models
    q, v, tau = state(m)
    slopes = m.forward_dynamics_sensitivities(q, v, tau, PARAMETERS, u=INPUTS)
    for name in PARAMETERS:
        value = m.parameters()[name][0]
        step = 1e-4 * max(abs(value), 1e-2)
        ahead, behind = (m.with_parameters({name: value + h}).forward_dynamics(q, v, tau, u=INPUTS) for h in (step, -step))
        assert np.abs(slopes[name]).max() > 0
        differences = (ahead - behind) / (2 * step)  # 1e-8 of truncation, rounding over a step of 1e-4
        np.testing.assert_allclose(slopes[name], differences, rtol=0, atol=1e-5 * np.abs(slopes[name]).max(), err_msg=name)
    (own,) = reference.forward_dynamics_sensitivities(q, v, tau, ["near.length"], u=INPUTS).values()
    np.testing.assert_allclose(slopes["near.length"], own, rtol=0, atol=1e-9 * np.abs(own).max())  # conditioning


def test_the_rate_of_energy_is_the_power_of_loads(models: Any) -> None:
    """Of those that store none: followers and moments, and what is driven; damping takes the rest."""
    m = models[0]
    q, v, _ = state(m)
    a, h = m.forward_dynamics(q, v, np.zeros(m.nv), u=INPUTS), 1e-5
    ahead, behind = (sum(m.energy(m.integrate(q, t * v), v + t * a)) for t in (h, -h))
    rate = (ahead - behind) / (2 * h)
    at_rest = m.passive_efforts(q, 0 * v)
    without = m.with_parameters({"follower.scale": 1e-30, "wind.torque.x": 0.0, "wind.torque.z": 0.0})
    pushed = at_rest - without.passive_efforts(q, 0 * v) + m.actuation_matrix(q)[:, 0] * INPUTS["jets.amplitude"]
    assert abs(pushed @ v) > 1e-2
    # differences of 1e-5: 1e-10 of the third derivative, rounding of 1 J over 1e-5 s
    assert rate == pytest.approx(pushed @ v - m.dissipated_power(q, v), rel=1e-6, abs=1e-8)
    own = without.with_parameters({"rain.scale": 1e-30})
    assert m.energy(q, v).elastic != pytest.approx(own.energy(q, v).elastic, abs=1e-3)  # the control: rain and wind store


def test_energy_is_conserved_under_a_load_that_keeps_its_direction() -> None:
    s = tt.System("swinging", gravity=[0, 0, -9.81])
    rod = tt.Rod("rod", 0.4, tt.Section.circle(0.01), 2e5, 1000.0, strains={"bending_y": 1})
    s.connect("world", rod, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_interaction(tt.DistributedLoad("wind", rod, force=[[1.0, 0, 2.0], [0, 0, 4.0]], frame="world"))
    m = s.resolve()
    run = tt.simulate(m, np.linspace(0, 0.3, 31), m.neutral(), np.zeros(3), rtol=1e-9, atol=1e-11)
    parts = run.energy()
    total, scale = parts.sum(axis=1), np.ptp(parts, axis=0).max()
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-6 * scale)  # a thousand steps of 1e-9
    assert np.ptp(total - parts[:, 2]) > 1e-2 * scale  # the control: without what the load and the rod store it is not


def test_trims_and_linear_models_know_amplitudes() -> None:
    s = tt.System("one", gravity=[0, 0, 0])
    rod = tt.Rod("rod", 0.4, tt.Section.circle(0.01), strains={"bending_z": 2}, **FIELDS)
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.DistributedLoad("jets", rod, force=[0, 0.1, 0], driven=True))
    m = s.resolve()
    assert m.input_names == ("jets.amplitude",)
    assert m.mechanism.inputs.units == ("1",)
    bent = tt.trim(m, u={"jets.amplitude": 0.5})
    found = tt.trim(m, ["jets.amplitude"], q=bent.q)
    assert found.u[0] == pytest.approx(0.5, rel=1e-9)
    system = tt.linearize(m, bent, inputs=["jets.amplitude"], outputs=["rod.tip.theta[2]"])
    q, zero = bent.q, np.zeros(m.nv)
    pushed = m.forward_dynamics(q, zero, m.actuation_matrix(q)[:, 0]) - m.forward_dynamics(q, zero, zero)
    np.testing.assert_allclose(system.B[m.nv :, 0], pushed, rtol=1e-9)  # conditioning
    h = 1e-4
    turns = [m.pose("rod.tip", tt.trim(m, u={"jets.amplitude": 0.5 + x}).q)[0] for x in (h, -h)]
    ahead, behind = (np.arctan2(R[1, 0], R[0, 0]) for R in turns)
    assert system.dcgain() == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)  # differences of 1e-4


def test_files_and_text_keep_loads(tmp_path: Any) -> None:
    s = swimmer(functions=False)
    s.save(tmp_path / "swimmer.toml")
    text = (tmp_path / "swimmer.toml").read_text()
    assert 'rod = "near"' in text
    assert "ports" not in text.partition("[interactions")[2]
    again = tt.load(tmp_path / "swimmer.toml")
    m, other = s.resolve(engine="reference"), again.resolve(engine="reference")
    q, v, x = state(m)
    np.testing.assert_array_equal(m.inverse_dynamics(q, v, x, u=INPUTS), other.inverse_dynamics(q, v, x, u=INPUTS))
    assert m.parameters() == other.parameters()
    assert "interaction wind: far (DistributedLoad)" in str(s).splitlines()
    with pytest.raises(tt.ModelError, match=r"force.*build this block in Python"):
        swimmer().save(tmp_path / "functions.toml")
    (tmp_path / "wrong.toml").write_text(text.replace('rod = "near"', 'rod = "naer"'))
    with pytest.raises(tt.ModelError, match=r"interactions\.follower\.rod.*'near'"):
        tt.load(tmp_path / "wrong.toml")


def test_included_loads_act_on_the_copies() -> None:
    s = tt.System("school", gravity=[0.5, 1.0, -9.81])
    s.include(swimmer(), "left")
    s.include(swimmer(), "right")
    m, alone = s.resolve(engine="reference"), swimmer().resolve(engine="reference")
    q, v, x = state(alone)
    both = m.inverse_dynamics(*(np.tile(each, 2) for each in (q, v, x)), u={f"right/{k}": value for k, value in INPUTS.items()})
    np.testing.assert_allclose(both[: m.nv // 2], alone.inverse_dynamics(q, v, x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(both[m.nv // 2 :], alone.inverse_dynamics(q, v, x, u=INPUTS), rtol=1e-12, atol=1e-14)


def test_sections_and_reactions_know_loads(models: Any) -> None:
    """What the base's section transmits is what the joint does; reactions of loads are their resultants at the base."""
    m = models[0]
    q, v, a = state(m)
    base, joint = m.section_wrenches("near", [0.0], q, v, a, u=INPUTS)[0], m.reaction("hinge", q, v, a, u=INPUTS)
    np.testing.assert_allclose(base, joint, rtol=0, atol=1e-11 * np.abs(joint).max())  # points of two parts
    for name in ("follower", "wind", "rain"):
        one, two = (model.reaction(name, q, v, a) for model in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * np.abs(two).max())
    one, two = (model.section_wrenches("near", [0.1], q, v, a, u=INPUTS) for model in models)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(two).max())


def test_linear_models_know_what_inputs_press_through_sections(models: Any) -> None:
    m = models[0]
    q, v, tau = state(m)
    with pytest.warns(tt.ModelWarning):  # no equilibrium
        system = tt.linearize(m, (q, v, tau), inputs=["jets.amplitude"], outputs=["near.fin.section[1]"])

    def transmitted(u: float) -> Any:
        a = m.forward_dynamics(q, v, tau, u=[u])
        return m.section_wrenches("near", [0.1], q, v, a, u=[u])[0, 1]

    slope = transmitted(1.0) - transmitted(0.0)  # linear
    assert abs(slope) > 1e-3
    assert system.D.item() == pytest.approx(slope, rel=1e-8)  # conditioning, 1e5


def test_closed_loops_and_prescribed_motions_take_loads() -> None:
    s = tt.System("arch", gravity=[0, 0, -9.81])
    rod = tt.Rod("rod", 0.4, tt.Section.circle(0.01), strains={"bending_y": 2, "elongation": 0}, **FIELDS)
    slider = tt.RigidBody("slider", mass=0.1)
    s.connect("world", rod, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect("world", slider, tt.Prismatic("rail", axis=[1, 0, 0]), placement=tt.Pose([0.4, 0, 0]))
    s.close_loop(slider, rod.port("tip"), tt.RigidClosure("pin", "directions", directions=np.eye(6)[:, [0, 2]]))
    s.add_interaction(tt.DistributedLoad("snow", rod, force=[0, 0, -3.0], frame="world"))
    s.add_interaction(tt.DistributedLoad("pressure", rod, force=[0, 0, 1.0]))
    m, reference = s.resolve(), s.resolve(engine="reference")
    q = m.assemble(m.configuration({"rod": [0.2, 0.1, 0.0, 0.0]}))
    v, x = m.assemble_velocity(q, np.ones(m.nv)), np.linspace(-1, 1, m.nv)
    for name in ("forward_dynamics", "forward_dynamics_derivatives"):
        one, two = (np.hstack(getattr(model, name)(q, v, x)) for model in (m, reference))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(two).max())  # conditioning
    one, two = (np.concatenate(model.hybrid_dynamics(q, v, x, x, ["rail"])) for model in (m, reference))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(two).max())
