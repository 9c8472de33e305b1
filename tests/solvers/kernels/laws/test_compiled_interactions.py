"""Interactions on several ports and coordinates, with inputs: cables, and laws of users' own, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import unit_beam
from tests.solvers.kernels.laws.belts import CompiledBelt, PythonBelt, RealBelt, belt_law
from titop.blocks.contract.target_motion import TargetMotion

STEP = 1e-6


def strung(*interactions: tt.Interaction, flexible: bool = False) -> tt.System:
    """Return a free body with an arm, its hand and a wheel, under a cable from the world over all of them, and more."""
    s = tt.System("strung", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, com=[0.1, 0, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0.1, 0.5]})
    arm = tt.RigidBody("arm", mass=2.0, com=[0, 0.1, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0, 0.5]})
    wheel = tt.RigidBody("wheel", mass=0.5, com=[0.02, 0, 0], inertia=0.05)
    s.connect("world", body, tt.Free("float"))
    s.connect(body.port("E"), arm, tt.Revolute("elbow", axis=[0, 1, 0]))
    s.connect(body, wheel, tt.Revolute("axle", axis=[0, 1, 1]), placement=tt.Pose([0, 0.4, 0]))
    tip = arm.port("E")
    targets: list[Any] = ["elbow", "axle"]
    if flexible:
        beam = unit_beam("beam")
        s.connect(arm.port("E"), beam, tt.Weld("clamp"))
        tip = beam.port(beam.ports[0])
        targets = ["axle", f"beam.{beam.coordinates[0]}"]
    s.world.add_port("eye", [1.0, -1.0, 2.0])
    cable = tt.Cable("cable", stiffness=80.0, length=0.5, dissipation=0.1, arms=[0.2, -0.3])
    s.add_interaction(cable, s.world.port("eye"), body.port("E"), wheel, tip, *targets)
    for interaction in interactions:
        s.add_interaction(interaction, wheel, "axle", arm, "elbow")
    return s


def state(m: tt.Model, seed: int) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), *rng.normal(size=(2, m.nv)), rng.normal(size=m.nu)


BELTS = (CompiledBelt("belt", 4.0, 0.3), PythonBelt("band", 3.0, 0.2))


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_engines_agree(flexible: bool, seed: int) -> None:
    s = strung(*BELTS, flexible=flexible)
    m, reference = s.resolve(), s.resolve(engine="reference")
    assert m.input_names == ("cable.tension", "belt.torque", "band.torque")
    q, v, x, u = state(m, seed)
    for name in ("forward_dynamics", "inverse_dynamics", "inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        for given in (u,) if "derivatives" in name else (None, u):
            one, two = (np.asarray(getattr(model, name)(q, v, x, u=given)) for model in (m, reference))
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * (np.abs(two).max() + 1))  # two orders of summation
    both = (model.hybrid_dynamics(q, v, x, x, ["elbow"], u=u) for model in (m, reference))
    for one, two in zip(*both, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * (np.abs(two).max() + 1))
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-12)
    one, two = m.actuation_matrix(q), reference.actuation_matrix(q)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(two).max())  # rounding of the largest entry, here some 20
    assert m.dissipated_power(q, v) == pytest.approx(reference.dissipated_power(q, v), rel=1e-10)
    np.testing.assert_allclose(m.reaction("belt", q, v, x, u=u), reference.reaction("belt", q, v, x, u=u), rtol=0, atol=1e-12)


@pytest.mark.parametrize("interaction", [*BELTS, RealBelt("real", 3.0, 0.2)], ids=lambda x: x.name)
@pytest.mark.parametrize("flexible", [False, True])
def test_derivatives_are_those_of_differences(interaction: tt.Interaction, flexible: bool) -> None:
    s = strung(interaction, flexible=flexible)
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, tau, u = state(m, 3)
    by_q, by_v, _ = m.forward_dynamics_derivatives(q, v, tau, u=u)

    def differences(at: Any) -> Any:
        return np.stack([(at(STEP * e) - at(-STEP * e)) / (2 * STEP) for e in np.eye(m.nv)], axis=-1)

    by_configuration = differences(lambda e: reference.forward_dynamics(m.integrate(q, e), v, tau, u=u))
    scale = np.abs(by_configuration).max()
    # central differences of 1e-6: 1e-9 of the largest entry from rounding, times a conditioning of tens
    np.testing.assert_allclose(by_q, by_configuration, rtol=0, atol=1e-7 * scale)
    rates = differences(lambda e: reference.forward_dynamics(q, v + e, tau, u=u))
    np.testing.assert_allclose(by_v, rates, rtol=0, atol=1e-7 * scale)
    without = m.forward_dynamics_derivatives(q, v, tau)[0]
    assert np.abs(by_q - without).max() > 10.0  # the control: inputs change them


def test_stiff_joints_beside_them_change_nothing() -> None:
    """Springs of quaternion joints are differentiated in Python, all else in compiled code: the sum is that of differences."""
    s = strung(BELTS[0])
    ball = tt.RigidBody("ball", mass=1.0, com=[0, 0, 0.3], inertia=0.1)
    s.connect(s["arm"].port("E"), ball, tt.Spherical("socket", stiffness=3.0, damping=0.1))
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, tau, u = state(m, 2)
    for one, two in zip(
        m.forward_dynamics_derivatives(q, v, tau, u=u), reference.forward_dynamics_derivatives(q, v, tau, u=u), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * (np.abs(two).max() + 1))


class Wheels(tt.Interaction):
    """A spring between two coordinates, on no ports."""

    port_counts, coordinate_counts = (0, 0), (2, 2)

    def act(self, motion: TargetMotion) -> Any:
        effort = 3.0 * (motion.q[1] - motion.q[0])
        return np.zeros((0, 6)), np.array([effort, -effort])


def unknown_law(numbers: Any, motion: Any, loads: Any) -> None:
    """Ask for what numba does not have."""
    loads.efforts[0] += sorted({1: motion.q[0]}.items(), key=str)[0][1]


class Unknown(tt.Interaction):
    """A law that numba refuses."""

    port_counts, coordinate_counts, compiled_law = (0, 0), (2, 2), tt.Law(unknown_law)


def wheels(interaction: tt.Interaction) -> tt.System:
    s = tt.System("wheels")
    for name in ("left", "right"):
        s.connect("world", tt.RigidBody(f"{name}_wheel", mass=1.0, inertia=2.0), tt.Revolute(name))
    s.add_interaction(interaction, "left", "right")
    return s


def test_interactions_need_no_ports() -> None:
    m = wheels(Wheels("belt")).resolve()
    np.testing.assert_allclose(m.forward_dynamics([0, 0.4], [0, 0]), [0.6, -0.6], rtol=1e-14)
    slopes = m.forward_dynamics_derivatives([0.0, 0.4], [0.0, 0.0])[0]
    np.testing.assert_allclose(slopes, [[-1.5, 1.5], [1.5, -1.5]], rtol=1e-14)


def test_check_block_compares_a_law_with_its_twin() -> None:
    class Twin(CompiledBelt):
        compiled_law = tt.Law(belt_law)

        def act(self, motion: TargetMotion) -> Any:
            return PythonBelt.act(self, motion)  # type: ignore[arg-type]

    class Other(Twin):
        def law_numbers(self) -> Any:
            return np.array([2 * self.stiffness, self.damping])

    for belt in (*BELTS, Twin("twin", 4.0, 0.3)):
        tt.check_block(belt)
    with pytest.raises(tt.ModelError, match=r"other\.compiled_law.*inconsistent-law"):
        tt.check_block(Other("other", 4.0, 0.3))


def real_law(numbers: Any, motion: Any, loads: Any) -> None:
    """Write the efforts of a spring, of a function that loses imaginary parts."""
    effort = 3.0 * np.sinh((motion.q[1] - motion.q[0]).real)
    loads.efforts[0] += effort
    loads.efforts[1] -= effort


class Real(tt.Interaction):
    """A law of real numbers alone."""

    port_counts, coordinate_counts, compiled_law = (0, 0), (2, 2), tt.Law(real_law)


def test_laws_that_take_no_complex_numbers_are_differentiated_otherwise() -> None:
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        m = wheels(Real("belt")).resolve()
    slope = 1.5 * np.cosh(0.4)
    found = m.forward_dynamics_derivatives([0.0, 0.4], [0.0, 0.0])[0]
    np.testing.assert_allclose(found, slope * np.array([[-1, 1], [1, -1]]), rtol=1e-9)  # differences of sixth order


def test_laws_that_do_not_compile_are_refused_with_the_reason() -> None:
    with pytest.raises(tt.ModelError, match=r"belt\.compiled_law: got (?!Failed).*law-not-compiled"):
        wheels(Unknown("belt")).resolve()


def pendulums(belt: tt.Interaction, gravity: float = 9.81) -> tt.System:
    s = tt.System("coupled", gravity=[0, 0, -gravity])
    for name, x in (("left", 0.0), ("right", 1.0)):
        bob = tt.RigidBody(name, mass=1.5, com=[0, 0, -0.8])
        s.connect("world", bob, tt.Revolute(f"{name}_hinge", axis=[0, 1, 0]), placement=tt.Pose([x, 0, 0]))
    s.add_interaction(belt, s["left"], s["right"], "left_hinge", "right_hinge")
    return s


@pytest.mark.parametrize("kind", [CompiledBelt, PythonBelt])
def test_a_spring_between_the_angles_of_two_pendulums_beats(kind: Any) -> None:
    """The modes' squares: ``g/l`` in step, and ``g/l + 2 k/(m l^2)`` against each other."""
    model = tt.linearize(pendulums(kind("belt", 2.0)).resolve(), [0, 0])
    found = np.sort(np.unique(np.abs(np.linalg.eigvals(model.A).imag).round(9)))
    expected = np.sqrt([9.81 / 0.8, 9.81 / 0.8 + 2 * 2.0 / (1.5 * 0.8**2)])
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # rounded to nine digits above


@pytest.mark.parametrize("kind", [CompiledBelt, PythonBelt])
def test_inputs_are_inputs_of_linear_models(kind: Any) -> None:
    """A torque between the pendulums, which turns them against each other: ``B = -+1/(m l^2)`` for axes along y."""
    s = pendulums(kind("belt", 2.0))
    for name in ("left", "right"):
        s[name].add_port("A", tt.Pose(rotation=[[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
    s.loops[0] = type(s.loops[0])((s["left"].port("A"), s["right"].port("A")), s.loops[0].closure, s.loops[0].coordinates)
    m = s.resolve()
    system = tt.linearize(m, [0, 0], inputs=["belt.torque"], outputs=["left_hinge.q"])
    assert system.input_labels == ["belt_torque"]
    assert tt.signal_table(system)["belt_torque"].unit == "N m"
    np.testing.assert_allclose(system.B[2:, 0], np.array([-1, 1]) / (1.5 * 0.8**2), rtol=1e-12)
    np.testing.assert_allclose(m.actuation_matrix([0.0, 0.0])[:, 0], [-1, 1], rtol=0, atol=1e-14)
    nonlinear = m.to_nlsys(["belt.torque"])
    np.testing.assert_allclose(nonlinear.dynamics(0.0, np.zeros(4), [1.0])[2:], system.B[2:, 0], rtol=1e-12)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_simulations_are_driven_by_inputs(engine: str) -> None:
    """A cable at constant tension over an eye lifts a load: ``a = T/m - g``; as one that changes does after a step."""
    s = tt.System("lift", gravity=[0, 0, -9.81])
    load = tt.RigidBody("load", mass=2.0)
    s.world.add_port("eye", [0, 0, 30])
    s.world.add_port("winch", [1, 0, 0])
    s.connect("world", load, tt.Prismatic("up", axis=[0, 0, 1]))
    s.add_interaction(tt.Cable("cable"), s.world.port("winch"), s.world.port("eye"), load)
    m, times = s.resolve(engine), np.linspace(0, 1, 11)
    steady = tt.simulate(m, times, [0.0], [0.0], u={"cable.tension": 30.0})
    np.testing.assert_allclose(steady.q[:, 0], 0.5 * (15 - 9.81) * times**2, rtol=0, atol=1e-9)  # a polynomial: rounding
    growing = tt.simulate(m, times, [0.0], [0.0], u={"cable.tension": lambda t, q, v: 30.0 * t}, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(growing.q[:, 0], 15 * times**3 / 6 - 0.5 * 9.81 * times**2, rtol=0, atol=1e-8)
    point = tt.trim(m, ["cable.tension"], q=[1.0])
    assert point.u[0] == pytest.approx(2 * 9.81, rel=1e-9)


def test_prescribed_motion_beside_driven_cables() -> None:
    s = strung(BELTS[0])
    m = s.resolve()
    q, v, tau, u = state(m, 5)
    imposed = np.array([name == "elbow" for name in m.coordinate_names])
    for engine in (m, s.resolve(engine="reference")):
        dynamics = engine.mechanism.engine.dynamics.prepare([], imposed)
        for size in (1.0, -2.0):
            dynamics.drive_interactions(size * u)
            expected = m.hybrid_dynamics(q, v, tau, tau, ["elbow"], u=size * u)
            for found, wanted in zip(dynamics.dynamics(q, v, tau, tau), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())  # two engines


@pytest.mark.parametrize("name", ["cable.stiffness", "cable.length", "cable.arms.1", "belt.stiffness", "band.damping"])
def test_parameters_act(name: str) -> None:
    m = strung(*BELTS).resolve()
    q, v, tau, u = state(m, 4)
    value = m.parameters()[name][0]
    (slope,) = m.forward_dynamics_sensitivities(q, v, tau, [name], u=u).values()
    changed = [m.with_parameters({name: value + h}) for h in (STEP, -STEP)]
    ahead, behind = (model.forward_dynamics(q, v, tau, u=u) for model in changed)
    assert np.abs(slope).max() > 1e-3
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * STEP), rtol=0, atol=1e-6 * np.abs(slope).max())
    stored = [sum(model.energy(q, v)[2:]) for model in changed]
    assert (stored[0] == stored[1]) == name.endswith("damping")
    again = changed[0].with_parameters({name: value})
    assert np.array_equal(again.forward_dynamics(q, v, tau, u=u), m.forward_dynamics(q, v, tau, u=u))


def test_sensitivities_by_inputs() -> None:
    m = strung(*BELTS).resolve()
    q, v, tau, u = state(m, 6)
    found = m.forward_dynamics_sensitivities(q, v, tau, ["cable.tension", "band.torque"], u=u)
    for k, name in ((0, "cable.tension"), (2, "band.torque")):
        step = np.eye(3)[k]
        change = m.forward_dynamics(q, v, tau, u=u + step) - m.forward_dynamics(q, v, tau, u=u)  # linear: any step will do
        np.testing.assert_allclose(found[name], change, rtol=0, atol=1e-9 * np.abs(change).max())


def test_files_keep_them(tmp_path: Any) -> None:
    s = strung()
    s.close_loop("world", s["arm"], tt.SpringDamper("spring", stiffness=3.0))
    s.save(tmp_path / "strung.toml")
    assert "[interactions.cable]" in (tmp_path / "strung.toml").read_text()
    m, again = s.resolve(), tt.load(tmp_path / "strung.toml").resolve()
    q, v, tau, u = state(m, 5)
    assert again.input_names == m.input_names
    assert np.array_equal(m.mechanism.inputs.upper, again.mechanism.inputs.upper)
    found, expected = (model.forward_dynamics(q, v, tau, u=u) for model in (again, m))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())  # closures come first in files
    tt.load(tmp_path / "strung.toml").save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "strung.toml").read_text()


def test_systems_with_them_are_included() -> None:
    s, one = tt.System("two", gravity=[0, 0, -9.81]), strung(BELTS[0])
    for prefix in ("a", "b"):
        s.include(one, prefix)
    m, alone = s.resolve(), one.resolve()
    assert m.input_names == ("a/cable.tension", "a/belt.torque", "b/cable.tension", "b/belt.torque")
    q, v, tau, u = state(alone, 7)
    both = m.forward_dynamics(np.tile(q, 2), np.tile(v, 2), np.tile(tau, 2), u=np.tile(u, 2))
    expected = alone.forward_dynamics(q, v, tau, u=u)
    np.testing.assert_allclose(both, np.tile(expected, 2), rtol=0, atol=1e-11 * np.abs(expected).max())


def test_pictures_show_them(tmp_path: Any) -> None:
    s = strung(BELTS[0])
    text = str(s)
    assert "interaction cable: world.eye === body.E === wheel === arm.E === elbow === axle (Cable)" in text
    for picture in (s.to_mermaid(), s.to_dot(), s._repr_html_()):
        assert "cable" in picture
    assert s.to_mermaid().count("-.->") == 2 * 3 + 6 + 4  # joints with a wire on either side; ends of cable and belt
    for collapse in (None, ["body"], ["arm"]):
        s.draw(tmp_path / "strung.png", collapse=collapse)
    assert "cable.tension" in text or "tension" in s.to_mermaid()


def wrong(*targets: Any, cable: tt.Cable | None = None) -> tt.System:
    s = strung()
    s.connect("world", tt.RigidBody("ball", mass=1.0, inertia=1.0), tt.Spherical("socket"))
    s.add_interaction(
        cable or tt.Cable("rope"), *(s[name] if name in s.graph and name in ("arm", "body") else name for name in targets)
    )
    return s


@pytest.mark.parametrize(
    ("targets", "arms", "said"),
    [
        (["world"], [], "rope: got 1 ports; expected 2 or more ports"),
        (["world", "arm", "elbow"], [], "rope: got 1 coordinates; expected 0 coordinates"),
        (["world", "arm"], [1.0], "rope: got 0 coordinates; expected 1 coordinates"),
        (["arm", "world", "arm"], [], "rope: got arm; expected each port once"),
        (["world", "arm", "elbow", "elbow"], [1, 2], "rope: got elbow.angle; expected each coordinate once"),
        (["world", "arm", "knee"], [1.0], "rope.targets: got knee"),
        (["world", "arm", "elbow.turn"], [1.0], "rope.targets: got elbow.turn"),
        (["world", "arm", "socket"], [1.0], "rope.targets: got socket"),
        (["world", "arm", "float"], [1.0], "rope.targets: got float"),
        (["world", 3], [], r"targets\[1\]: got 3"),
    ],
)
def test_wrong_targets_are_refused_by_name(targets: Any, arms: Any, said: str) -> None:
    with pytest.raises(tt.ModelError, match=said):
        wrong(*targets, cable=tt.Cable("rope", arms=arms)).resolve(engine="reference")


def test_what_is_no_interaction_is_refused() -> None:
    s = strung()
    s.add_interaction(tt.RigidClosure("pin"), s["arm"], s["body"])  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError, match="not-an-interaction"):
        s.resolve(engine="reference")


def test_reactions_of_interactions_without_two_ports_are_refused() -> None:
    m = wheels(tt.Cable("belt", stiffness=3.0, length=-1.0, arms=[0.1, -0.1])).resolve(engine="reference")
    with pytest.raises(tt.ModelError, match="unknown-joint"):
        m.reaction("belt", [0, 0], [0, 0], [0, 0])


def test_a_cable_with_one_arm_comes_back_from_a_file(tmp_path: Any) -> None:
    s = tt.System("winch")
    s.connect("world", tt.RigidBody("drum", mass=1.0, inertia=0.1), tt.Revolute("axle"))
    s.add_interaction(tt.Cable("rope", stiffness=10.0, arms=[0.1], max_tension=5.0), "axle")
    s.save(tmp_path / "winch.toml")
    m, again = s.resolve(engine="reference"), tt.load(tmp_path / "winch.toml").resolve(engine="reference")
    assert np.array_equal(m.passive_efforts([1.0], [0.0]), again.passive_efforts([1.0], [0.0]))


def test_inputs_have_the_ranges_that_interactions_say() -> None:
    s = tt.System("lift")
    s.connect("world", tt.RigidBody("load", mass=1.0), tt.Prismatic("up"))
    for name, most in (("rope", 5.0), ("spare", np.inf)):
        s.world.add_port(name, [0, 0, 3])
        s.add_interaction(tt.Cable(name, max_tension=most), s.world.port(name), s["load"])
    inputs = s.resolve(engine="reference").mechanism.inputs
    assert inputs.lower.tolist() == [0.0, 0.0]
    assert inputs.upper.tolist() == [5.0, np.inf]
