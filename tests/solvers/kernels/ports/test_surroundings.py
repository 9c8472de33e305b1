"""What surrounds blocks and acts on them, in both engines and every causality: drag, buoyancy, follower loads, weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope, telescope_energy, telescope_law
from tests.flexible import UNIT
from tests.solvers.kernels.laws.mixed_systems import differences, functions, state, stepped
from tests.solvers.kernels.ports.wet_systems import Floating, Wet, hung
from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.contract.applied import derivatives_at
from titop.solvers.engines.compiled import python_laws
from titop.solvers.engines.compiled.law_tables import compiled_law, compiled_surroundings

#: The slender beam turns with little inertia about its axis.
pytestmark = pytest.mark.filterwarnings("ignore:beam.C_rx:titop.ModelWarning")


class Followed(tt.Beam):
    """A beam whose tip is pushed in a direction that turns along, and whose own motion meets a fluid."""

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the load, and a drag of the tip."""
        R, r, S = self.pose_and_subspace("C", q)
        onto = np.hstack([twist_transport(R, r), S])
        tip = onto @ np.concatenate([twist, v])
        return onto.T @ (np.array([-2.0, 0.0, 3.0, 0.0, 0.1, 0.0]) - 0.3 * tip * tip)


def telescope_in_water(numbers: Any, q: Any, v: Any, twist: Any, rotation: Any, position: Any, efforts: Any) -> None:
    """Fill in a drag along and across, and buoyancy that grows with depth."""
    for k in range(3):
        efforts[k] = -numbers[0] * twist[k] * twist[k] - rotation[2, k] * 2.0 * position[2]
        efforts[3 + k] = -0.1 * twist[3 + k] * (1.0 + q[0] * q[0])
    efforts[6] = -0.2 * v[0] * v[0] + 0.1 * twist[2] * q[1] + position[0]
    efforts[7] = rotation[0, 1] * 0.3 - 0.1 * v[1]


class WetTelescope(Telescope):
    """A compiled telescope in water."""

    compiled_law = tt.Law(telescope_law, telescope_in_water, telescope_energy)


def wet() -> tt.System:
    """Return a tree of blocks on which something acts, by each of the doors, beside blocks on which nothing does."""
    hub = Wet("hub", 6.0, [0.1, 0, 0], [0.6, 0.7, 0.8], ports={"A": [0, 0.5, 0], "B": [0.2, 0, 0.4]})
    beam, boom, slider = Followed("beam", **UNIT), WetTelescope("boom"), Floating("slider")
    s = tt.System("wet", gravity=[0.3, -9.0, 1.0])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), beam, tt.Revolute("hinge", axis=[1, 2, 3], stiffness=2.0))
    s.connect(beam.port("C"), boom, tt.Spherical("ball"))
    s.connect(boom.port("C"), slider, tt.Weld("weld"))
    s.connect(slider.port("C"), Wet("tip", 0.4, inertia=[0.01, 0.02, 0.02]), tt.Prismatic("rail", axis=[0, 1, 0]))
    s.connect(hub.port("B"), tt.RigidBody("dry", 0.5, [0, 0.1, 0], 0.01), tt.Universal("elbow"))
    s.add_load(tt.Load("push", boom.port("C"), force=[1, 2, 3], torque=[0.1, 0.2, 0.3], frame="world"))
    s.add_load(tt.Load("pull", hub.port("B"), force=[1, 0, 3], frame="world"))
    s.close_loop(hub.port("B"), boom.port("C"), tt.CompliantClosure("strut", stiffness=np.eye(6) * 3.0))
    return s


def test_engines_agree() -> None:
    models = [wet().resolve(engine) for engine in ("compiled", "reference")]
    at = state(models[1])
    compiled, plain = (functions(model, *at) for model in models)
    for found, model in ((compiled, models[0]), (plain, models[1])):
        found["gravity"], found["bias"] = model.gravity_effects(at[0]), model.nonlinear_effects(*at[:2])
        found["mass"] = model.center_of_mass(at[0])
        found["hybrid"] = np.array(model.hybrid_dynamics(*at, at[2], model.coordinate_names[::2]))
    assert not differences(compiled, plain)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_slopes(function: str) -> None:
    model = wet().resolve()
    at = state(model)
    found, expected = np.array(getattr(model, f"{function}_derivatives")(*at)), stepped(model, function, *at)
    # steps of 1e-4 leave 3e-9, and 16 times less at half the length: the fifth derivatives of a beam that is bent far
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_slopes_of_both_engines(function: str) -> None:
    models = [hung().resolve(engine) for engine in ("compiled", "reference")]
    at = state(models[0])
    found, plain = (np.array(getattr(model, f"{function}_derivatives")(*at)) for model in models)
    # the reference differentiates a weight's slopes by differences, good to 1e-10 of them
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-9 * np.abs(plain).max())


def test_a_displacement_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: slopes by displacement of the blocks are taken for zero."""

    def without(*arguments: Any) -> tuple[Array, ...]:
        *others, by_displacement = derivatives_at(*arguments)
        return *others, 0 * by_displacement

    monkeypatch.setattr(python_laws, "derivatives_at", without)
    with pytest.raises(AssertionError):
        test_slopes("inverse_dynamics")


def test_doors() -> None:
    """What a law says acts is compiled; a subclass that says it in Python, or a weight, leaves the law itself compiled."""

    class Anew(WetTelescope):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Return twice what the class says."""
            return 2.0 * super().applied_efforts(q, v, twist, rotation, position)

    class Same(WetTelescope):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Return what the class says, in Python."""
            return super().applied_efforts(q, v, twist, rotation, position)

    class Weightless(WetTelescope):
        def weight(self, q: Array) -> tuple[Any, Array]:
            """Return nothing."""
            return 0.0, np.zeros(3)

    def model(cls: type[tt.Block]) -> tt.Model:
        s = tt.System("one", gravity=[1.0, 2.0, -9.0])
        s.connect("world", tt.RigidBody("hub", 3.0, inertia=0.1), tt.Free("base"))
        s.connect(s["hub"], cls("boom"), tt.Weld("weld"))
        return s.resolve()

    bare, plain, anew, weightless = (model(cls) for cls in (Telescope, WetTelescope, Anew, Weightless))
    assert [m.mechanism.engine.is_compiled for m in (bare, plain, anew, weightless)] == [True, True, False, False]
    for m in (anew, weightless):
        assert compiled_law(m.mechanism.assembly.blocks["boom"]) is not None
        assert compiled_surroundings(m.mechanism.assembly.blocks["boom"]) is None
    at = state(plain)
    efforts = [m.inverse_dynamics(*at) for m in (bare, plain, anew)]
    # sums of terms of the same size, in another order
    np.testing.assert_allclose(efforts[2] - efforts[1], efforts[1] - efforts[0], rtol=0, atol=1e-12 * np.abs(efforts[1]).max())
    assert np.abs(efforts[1] - efforts[0]).max() > 0.1
    ends = [tt.simulate(m, [0, 0.2], at[0], at[1], rtol=1e-9).q[-1] for m in (plain, model(Same))]
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11)  # the same steps, rounding aside
    down = weightless.pose("hub", at[0])[0].T @ weightless.gravity
    expected = -3.0 * np.concatenate([down, np.zeros(weightless.nv - 3)])  # N, the hub's alone
    np.testing.assert_allclose(weightless.gravity_effects(at[0]), expected, rtol=0, atol=1e-12)
    found = np.array(weightless.inverse_dynamics_derivatives(*at))
    np.testing.assert_allclose(found, stepped(weightless, "inverse_dynamics", *at), rtol=0, atol=1e-7 * np.abs(found).max())


def test_with_a_rigid_closure() -> None:
    """Constraint forces, and derivatives of both engines, with what acts on blocks of the loop."""

    def build() -> tt.System:
        one, two = (Wet(name, 2.0, [0.5, 0, 0], 0.1, ports={"E": [1.0, 0, 0]}) for name in ("one", "two"))
        s = tt.System("loop", gravity=[0, 0, -9.81])
        s.connect("world", one, tt.Revolute("left", axis=[0, 1, 0]))
        s.connect("world", two, tt.Revolute("right", axis=[0, 1, 0]), placement=tt.Pose([1.2, 0, 0]))
        s.close_loop(one.port("E"), two.port("E"), tt.RigidClosure("slide", directions=np.eye(6)[:, :1]))
        return s

    models = [build().resolve(engine) for engine in ("compiled", "reference")]
    q = models[0].assemble(models[0].configuration({"left": -0.8, "right": -2.2}), fixed=["left"])
    v = models[0].assemble_velocity(q, np.ones(2), fixed=["left"])
    tau = np.array([0.3, -0.2])
    accelerations, slopes, carried = [], [], []
    for m in models:
        accelerations.append(m.forward_dynamics(q, v, tau))
        slopes.append(np.array(m.forward_dynamics_derivatives(q, v, tau)))
        carried.append(m.reaction("slide", q, v, accelerations[-1]))
    np.testing.assert_allclose(*accelerations, rtol=1e-10)
    np.testing.assert_allclose(*carried, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(*slopes, rtol=0, atol=1e-9 * np.abs(slopes[1]).max())


def test_a_joint_says_what_acts_on_it() -> None:
    """A compass: a hinge turned north by a field that grows with height, wherever the joint is carried."""

    class Compass(tt.Revolute):
        def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
            """Return the torque on the needle, and its opposite on what carries it."""
            needle = rotation @ np.array([np.cos(q[0]), np.sin(q[0]), 0 * q[0]])
            torque = rotation.T @ np.cross(needle, [0.0, 2.0 + position[2], 0.0])
            return np.concatenate([np.zeros(3), torque, torque[2:]])

    s = tt.System("ship", gravity=[0, 0, -9.81])
    hull = tt.RigidBody("hull", 3.0, [0.1, 0, 0.2], [0.3, 0.4, 0.5], ports={"deck": [0.2, 0.1, 0.5]})
    s.connect("world", hull, tt.Free("sea"))
    s.connect(hull.port("deck"), tt.RigidBody("needle", 0.1, inertia=0.01), Compass("compass"), placement=tt.Pose([0.1, 0, 0]))
    models = [s.resolve(engine) for engine in ("compiled", "reference")]
    at = state(models[0])
    for function in ("forward_dynamics", "passive_efforts"):
        arguments = at if function == "forward_dynamics" else at[:2]
        compiled, plain = (getattr(m, function)(*arguments) for m in models)
        np.testing.assert_allclose(compiled, plain, rtol=0, atol=1e-10 * max(1.0, np.abs(plain).max()))
    found = np.array(models[0].forward_dynamics_derivatives(*at))
    np.testing.assert_allclose(found, stepped(models[0], "forward_dynamics", *at), rtol=0, atol=1e-7 * np.abs(found).max())


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_energy_of_surroundings_that_do_nothing_counts_in_both_engines() -> None:
    """An energy without the efforts that follow from it is suspicious; engines that disagree about it are worse."""

    class Storing(tt.RigidBody):
        def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
            return 3.0 + 2.0 * position[0]

    s = tt.System("storing")
    s.connect("world", Storing("body", 1.0, inertia=0.1), tt.Prismatic("rail", axis=[1, 0, 0]))
    model, reference = s.resolve(), s.resolve("reference")
    np.testing.assert_allclose(model.energy([0.5], [1.0]), reference.energy([0.5], [1.0]), rtol=1e-14)
    assert model.energy([0.5], [1.0]).elastic == pytest.approx(4.0)
