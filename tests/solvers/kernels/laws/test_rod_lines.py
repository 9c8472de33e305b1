"""Tendons and chambers in systems: both engines, their derivatives, energy, parameters, signals and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.kernels.laws.mixed_systems import assert_slopes
from titop.blocks.basics.complex_steps import complex_step
from titop.solvers.engines.compiled.law_tables import compiled_interaction

pytestmark = pytest.mark.portable

FIELDS: dict[str, Any] = {"young": 2e5, "density": 1000.0, "poisson": 0.4}
STRAINS = {"torsion": 0, "bending_y": 1, "bending_z": 1, "elongation": 0}
INPUTS = {"pull.tension": 2.0, "wound.tension": 1.0, "chamber.pressure": 2e3}


def finger(functions: bool = True) -> tt.System:
    """Return two rods with a rigid body between them, tendons through one and both, one of them wound on a drum, a chamber."""
    s = tt.System("finger", gravity=[0, 0, -9.81])
    near = tt.Rod("near", 0.3, tt.Section.circle([0.02, 0.015]), strains=STRAINS, damping=50.0, **FIELDS)
    far = tt.Rod("far", 0.2, tt.Section.circle([0.015, 0.01]), strains=STRAINS, damping=50.0, **FIELDS)
    knuckle = tt.RigidBody("knuckle", mass=0.05, inertia=1e-5, ports={"top": [0.02, 0, 0]})
    s.connect("world", near, tt.Weld("clamp"))
    s.connect(near.port("tip"), knuckle, tt.Weld("first"))
    s.connect(knuckle.port("top"), far, tt.Weld("second"))
    s.connect("world", tt.RigidBody("drum", mass=0.1, inertia=1e-3), tt.Revolute("axle", damping=0.01))
    y = (lambda X: 0.008 * np.cos(12 * X)) if functions else (0.01, 0.004)
    s.add_interaction(tt.Tendon("pull", [near, far], y=y, z=(0.002, -0.004), points=14, max_tension=20.0))
    elastic: dict[str, Any] = {"stiffness": 300.0, "displacement": 0.02, "dissipation": 0.4, "arms": [0.03]}
    s.add_interaction(tt.Tendon("wound", near, y=-0.6, z=0.5, relative=True, **elastic), "axle")
    s.add_interaction(tt.PressureChamber("chamber", far, area=(1e-4, 5e-5), z=-0.004, start=0.02, end=0.17))
    s.add_sensor(tt.TendonSensor("ruler", "pull"))
    return s


@pytest.fixture(scope="module")
def models() -> tuple[tt.Model, tt.Model]:
    s = finger()
    return s.resolve(), s.resolve(engine="reference")


def state(model: tt.Model, seed: int = 0, size: float = 0.3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    scales = np.array([0.02 if unit == "m" else 1.0 for unit in model.mechanism.assembly.coordinate_units])
    q, v, x = size * scales * rng.normal(size=(3, model.nv))
    return q, v, x


@pytest.mark.parametrize("seed", range(3))
def test_engines_agree(models: Any, seed: int) -> None:
    m, reference = models
    q, v, x = state(m, seed)
    for name in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        one, two = (np.asarray(getattr(model, name)(q, v, x, u=INPUTS)) for model in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * np.abs(two).max())  # conditioning, 1e5 of the mass matrix
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-12)  # two orders of summation
    one, two = (model.inverse_dynamics(q, v, x) for model in models)
    assert np.abs(one - m.inverse_dynamics(q, v, x, u=INPUTS)).max() > 1e-3  # the control: tensions act
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(two).max())


def test_the_compiled_kind_is_that_of_lines(models: Any) -> None:
    for loop in models[0].mechanism.assembly.loops:
        assert compiled_interaction(loop.closure) is not None

    class Own(tt.Tendon):
        def tension(self, motion: Any) -> Any:
            return 2.0 * super().tension(motion)

    assert compiled_interaction(Own("own", models[0].mechanism.assembly.blocks["near"])) is None


@pytest.mark.parametrize("drawn", [0.0, 0.02])
def test_derivatives_are_those_of_complex_steps(models: Any, drawn: float) -> None:
    """The slack and the stretched branch, against the reference with complex arguments."""
    m, reference = (model.with_parameters({"wound.displacement": drawn - 0.01}) for model in models)
    q, v, a = state(m)
    q[-1], v[-1] = 0.1, 0.05
    assert (m.energy(q, v).elastic > m.with_parameters({"wound.stiffness": 1e-9}).energy(q, v).elastic + 1e-6) == bool(drawn)
    assert_slopes(m, reference, q, v, a, 1e-10, u=INPUTS)


PARAMETERS = (
    *("pull.z.base", "wound.y", "wound.stiffness", "wound.displacement", "wound.dissipation", "wound.arms.0"),
    *("chamber.area.tip", "near.length", "far.length", "near.section.radius.base", "near.reference_strain.bending_y"),
)


@pytest.mark.long
def test_parameters_act(models: Any) -> None:
    """Also those of the rods, through which the lines run."""
    q, v, tau = state(models[0])
    for name in PARAMETERS:
        value = models[0].parameters()[name][0]
        step = 5e-3 * (abs(value) or 1e-2)
        for m in models:
            (slope,) = m.forward_dynamics_sensitivities(q, v, tau, [name], u=INPUTS).values()
            steps = (-3, -2, -1, 1, 2, 3)
            at = {k: m.with_parameters({name: value + k * step}).forward_dynamics(q, v, tau, u=INPUTS) for k in steps}
            assert np.abs(slope).max() > 0
            differences = sum(w * (at[k] - at[-k]) for k, w in ((1, 45), (2, -9), (3, 1))) / (60 * step)
            # of sixth order, 1e-8 of truncation; rounding of accelerations of 2e5 rad/s^2, over the step
            allowed = 1e-6 * np.abs(slope).max() + m.conditioning(q).error * np.abs(at[1]).max() / step
            np.testing.assert_allclose(slope, differences, rtol=0, atol=allowed, err_msg=name)


def test_units_of_parameters(models: Any) -> None:
    units = {name: unit for name, (_, unit) in models[0].parameters().items()}
    assert units["pull.z.base"] == "m"
    assert units["wound.y"] == "1"
    assert units["wound.arms.0"] == "m/rad"
    assert units["chamber.area.tip"] == "m^2"
    assert "pull.y" not in units  # a function
    m = models[0]
    assert dict(zip(m.input_names, m.mechanism.inputs.units, strict=True)) == {
        "pull.tension": "N",
        "wound.tension": "N",
        "chamber.pressure": "Pa",
    }
    np.testing.assert_array_equal(m.mechanism.inputs.lower, 0.0)
    assert m.mechanism.inputs.upper.tolist() == [20.0, np.inf, np.inf]


@pytest.mark.parametrize("name", ["pull.length", "pull.rate", "wound.length", "chamber.volume", "chamber.rate", "ruler"])
def test_linear_outputs_are_those_of_complex_steps(models: Any, name: str) -> None:
    m = models[0]
    q, v, a = state(m)
    with pytest.warns(tt.ModelWarning, match="accelerated ever more"):
        system = tt.linearize(m, (q, v, m.inverse_dynamics(q, v, 0 * a)), inputs=["pull.tension"], outputs=[name])
    block, _, ending = name.replace("ruler", "pull.length").rpartition(".")
    line = m.mechanism.assembly.blocks[block]
    names = [coordinate for rod in line.rods for coordinate in m.coordinate_names if coordinate.startswith(f"{rod.name}.")]
    at = [m.coordinate_names.index(coordinate) for coordinate in names]

    def value(x: Any) -> Any:
        own_q, own_v = x[: m.nv][at], x[m.nv :][at]
        return line.rate(own_q, own_v) if ending == "rate" else line.measure(own_q)

    exact = complex_step(value, np.concatenate([q, v]))
    assert np.abs(exact).max() > 1e-6
    np.testing.assert_allclose(system.C[0], exact, rtol=0, atol=1e-13 * np.abs(exact).max())  # rounding of sums
    assert not system.D.any()


def test_outputs_are_the_lines(models: Any) -> None:
    m = models[0]
    q, v, a = state(m)
    pull = m.mechanism.assembly.blocks["pull"]
    own = slice(0, pull.path.size)
    assert m.output_names == ("ruler.length", "ruler.rate")
    assert m.output_units == ("m", "m/s")
    expected = [pull.measure(q[own]), pull.rate(q[own], v[own])]
    np.testing.assert_allclose(m.outputs(q, v, a), expected, rtol=1e-14)
    stacked = m.outputs(np.array([q, 0 * q]), np.array([v, v]), np.array([a, a]))
    np.testing.assert_allclose(stacked[0], expected, rtol=1e-14)
    assert stacked[1, 0] == pytest.approx(pull.measure(0 * q[own]), rel=1e-14)


@pytest.mark.parametrize("closed", [False, True])
def test_lines_are_read_among_other_sensors(closed: bool) -> None:
    """In the sensors' order, whatever kernels read of the others; with lists, loads, and a reaction that closures carry."""
    s = finger()
    s.add_sensor(tt.PoseSensor("eye", s["far"].port("tip")))
    s.add_sensor(tt.TendonSensor("other", "wound"))
    s.add_sensor(tt.ReactionSensor("gauge", "clamp"))
    s.add_sensor(tt.TendonSensor("again", "pull"))
    if closed:
        s.connect("world", tt.RigidBody("wheel", mass=0.1, inertia=1e-3), tt.Revolute("shaft"))
        s.add_gear(tt.Gear("belt", driver="axle", driven="shaft", ratio=2.0))
    m, reference = s.resolve(), s.resolve("reference")
    q, v, a = (np.array([m.neutral(), state(m)[k], state(m, 1)[k]]) for k in range(3))
    if closed:
        q[:, -1], v[:, -1], a[:, -1] = (2.0 * x[:, m.coordinate_names.index("axle")] for x in (q, v, a))
    for loads in ({}, {"u": m.mechanism.inputs.read(INPUTS)}, {"wrenches": {"far.tip": np.arange(6.0)}}):
        found = m.outputs(q, v, a, **loads)
        np.testing.assert_allclose(found, reference.outputs(q, v, a, **loads), rtol=1e-10, atol=1e-11)  # sums of 100 N
        one = m.outputs(*(x[1].tolist() for x in (q, v, a)), **loads)
        np.testing.assert_allclose(found[1], one, rtol=1e-12, atol=1e-14)  # sums in another order
        np.testing.assert_array_equal(found[:, -2:], found[:, :2])
    assert m.outputs(q[:0], v[:0], a[:0]).shape == (0, len(m.output_names))
    with pytest.raises(tt.ModelError, match=r"v\[0\]"):
        m.outputs(q[1], np.nan * v[1], a[1])


def test_energy_and_the_work_of_a_constant_tension_are_conserved() -> None:
    """``E + T l - p V`` without damping, while an elastic tendon is stretched and slack in turn."""
    s = tt.System("swinging", gravity=[0, 0, -9.81])
    rod = tt.Rod("rod", 0.4, tt.Section.circle(0.01), strains={"bending_y": 1, "elongation": 0}, **FIELDS)
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.Tendon("pull", rod, z=0.006))
    s.add_interaction(tt.Tendon("band", rod, z=-0.006, stiffness=50.0))
    s.add_interaction(tt.PressureChamber("chamber", rod, area=5e-5, z=0.004))
    m = s.resolve()
    pull, band, chamber = (m.mechanism.assembly.blocks[name] for name in ("pull", "band", "chamber"))
    t = np.linspace(0, 0.3, 31)
    u = m.mechanism.inputs.read({"pull.tension": 3.0, "chamber.pressure": 2e4})
    run = tt.simulate(m, t, m.neutral(), np.zeros(3), u=u, rtol=1e-9, atol=1e-11)
    lengths, volumes, stretches = (np.array([line.measure(q) for q in run.q]) for line in (pull, chamber, band))
    total = run.energy().sum(axis=1) + 3.0 * lengths - 2e4 * volumes
    stretches -= band.measure(np.zeros(3))
    assert stretches.min() < -1e-4 < 1e-4 < stretches.max()
    scale = np.ptp(run.energy().sum(axis=1))
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-6 * scale)  # a thousand steps of 1e-9
    assert np.ptp(total - 3.0 * lengths) > 1e-2 * scale  # the control: without the tension's work it is not


def test_files_keep_lines(tmp_path: Any) -> None:
    s = finger(functions=False)
    s.save(tmp_path / "finger.toml")
    assert 'rods = ["near", "far"]' in (tmp_path / "finger.toml").read_text()
    again = tt.load(tmp_path / "finger.toml")
    m, other = s.resolve(engine="reference"), again.resolve(engine="reference")
    q, v, x = state(m)
    np.testing.assert_array_equal(m.inverse_dynamics(q, v, x, u=INPUTS), other.inverse_dynamics(q, v, x, u=INPUTS))
    assert m.parameters() == other.parameters()
    assert m.mechanism.inputs.upper.tolist() == other.mechanism.inputs.upper.tolist()
    np.testing.assert_array_equal(m.outputs(q, v, x), other.outputs(q, v, x))
    with pytest.raises(tt.ModelError, match=r"pull\.y.*build this block in Python"):
        finger().save(tmp_path / "functions.toml")
    text = (tmp_path / "finger.toml").read_text().replace('rods = ["near", "far"]', 'rods = ["near", "fra"]')
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(tt.ModelError, match=r"interactions\.pull\.rods.*'far'"):
        tt.load(tmp_path / "wrong.toml")


def test_included_lines_run_through_the_copies() -> None:
    s = tt.System("hand", gravity=[0, 0, -9.81])
    s.include(finger(), "left")
    s.include(finger(), "right")
    m, alone = s.resolve(engine="reference"), finger().resolve(engine="reference")
    q, v, x = state(alone)
    both = m.inverse_dynamics(*(np.tile(each, 2) for each in (q, v, x)), u={f"right/{k}": value for k, value in INPUTS.items()})
    np.testing.assert_allclose(both[: m.nv // 2], alone.inverse_dynamics(q, v, x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(both[m.nv // 2 :], alone.inverse_dynamics(q, v, x, u=INPUTS), rtol=1e-12, atol=1e-14)


def one_rod(**fields: Any) -> tt.Model:
    s = tt.System("one", gravity=[0, 0, 0])
    rod = tt.Rod("rod", 0.4, tt.Section.circle(0.01), strains={"bending_z": 0}, damping=100.0, **FIELDS)
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.Tendon("pull", rod, y=0.006, **fields))
    return s.resolve(engine="reference")


def test_trims_find_tensions_that_pull_and_refuse_others() -> None:
    m = one_rod()
    bent = tt.trim(m, u={"pull.tension": 3.0}).q
    # bending towards the tendon, by T y L / (E I), from the other side too
    found = tt.trim(m, ["pull.tension"], q=bent)
    assert found.u[0] == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(tt.ConvergenceError):
        tt.trim(m, ["pull.tension"], q=-bent)
    with pytest.raises(tt.ModelError, match=r"pull\.tension: got -3 N; expected 0 N or more"):
        tt.trim(m, u={"pull.tension": -3.0})
    assert tt.trim(one_rod(push=True), ["pull.tension"], q=-bent).u[0] == pytest.approx(-3.0, rel=1e-9)
    # a model's functions take it as it is: solvers may try it
    assert m.forward_dynamics([0.0], [0.0], u=[-3.0]) == pytest.approx(-m.forward_dynamics([0.0], [0.0], u=[3.0]))


def test_simulations_refuse_tensions_that_push() -> None:
    m, t = one_rod(), np.linspace(0, 0.1, 11)

    def swinging(time: float, q: Any, v: Any) -> Any:
        return [np.cos(50.0 * time)]

    with pytest.raises(tt.ModelError, match=r"pull\.tension: got -1 N at t = 0 s"):
        tt.simulate(m, t, [0.0], [0.0], u=[-1.0])
    with pytest.raises(tt.ModelError, match=r"pull\.tension: got -0\.98\d* N at t = 0\.06 s"):
        tt.simulate(m, t, [0.0], [0.0], u=swinging)
    assert tt.simulate(one_rod(push=True), t, [0.0], [0.0], u=swinging).u.min() < -0.9


def test_elastic_tendons_hold_against_a_motor() -> None:
    """In series with the rod: ``T = k e``, ``T y = (E I / L) angle``, ``e = displacement - y angle``."""
    m = one_rod(stiffness=2e3)
    bending = m.mechanism.assembly.blocks["rod"].numbers.stiffness[0, 0]
    for drawn in (0.002, -0.002):
        angle = tt.trim(m, parameters={"pull.displacement": drawn}).q[0]
        expected = 2e3 * 0.006 * drawn / (bending + 2e3 * 0.006**2) if drawn > 0 else 0.0
        assert angle == pytest.approx(expected, rel=1e-9, abs=1e-12)
