"""Systems with rods: both engines, derivatives against complex steps through the reference, closed loops, subclasses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from titop.solvers.engines.compiled import law_kinds
from titop.solvers.kernels.interface import layout, records
from titop.solvers.kernels.interface.stages import Call
from titop.solvers.kernels.laws import rod_stages
from titop.solvers.native.callbacks import Callback

Array = NDArray[Any]

#: The two engines sum the same terms in other orders; solutions with M lose what its condition asks for.
SAME = 1e-11

#: Derivatives against complex steps, which are exact to rounding as the slopes are.
EXACT = 1e-10


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))


def branched(closed: bool = False) -> tt.System:
    """Return a hub on a free joint or, `closed`, a hinge, with a rod that carries a hand and, between points, a bent rod."""
    s = tt.System("branched", gravity=[0.3, -0.4, -9.81])
    hub = tt.RigidBody("hub", 2.0, [0.1, 0.0, -0.1], [0.05, 0.06, 0.07])
    hand = tt.RigidBody("hand", 0.3, [0.05, 0.0, 0.01], [1e-3, 2e-3, 2e-3], ports={"grip": [0.1, 0.0, 0.0]})
    strains = {"torsion": 0, "bending_y": 1, "bending_z": 1, "elongation": 0, "shear_z": 0}
    arm = manipulator(strains=strains, ports={"middle": (0.2, tt.Pose([0.0, 0.02, 0.0]))})
    bend = {"reference_strain": [0.3, 1.0, -2.0, 1.0, 0.0, 0.0], "section": tt.Section.circle([0.01, 0.0])}
    finger = tt.Rod("finger", length=0.3, young=1e6, density=1100.0, damping=1e3, strains="kirchhoff", basis=0, **bend)
    s.connect("world", hub, tt.Revolute("base", axis=[0, 1, 0]) if closed else tt.Free("base"))
    s.connect(hub, arm, tt.Weld("shoulder"), placement=tt.Pose([0.1, 0.2, 0.0]))
    s.connect(arm.port("tip"), hand, tt.Universal("wrist"))
    s.connect(arm.port("middle"), finger, tt.Revolute("knuckle", axis=[0, 0, 1], stiffness=0.3))
    s.add_load(tt.Load("push", arm.port("tip"), force=[0.3, -0.2, 0.5], torque=[0.01, 0.02, 0.03], frame="world"))
    if closed:
        s.close_loop(
            hand.port("grip"), finger.port("tip"), tt.CompliantClosure("thread", stiffness=np.diag([50.0] * 3 + [0.1] * 3))
        )
    return s


def state(model: tt.Model, seed: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(3, model.nv))


WRENCHES = {port: np.linspace(-0.2, 0.3, 6) for port in ("arm.middle", "rod.middle", "finger.tip", "hand.grip", "finger")}


def wrenches(model: tt.Model) -> dict[str, Array]:
    return {port: wrench for port, wrench in WRENCHES.items() if port in model.port_names}


@pytest.mark.parametrize("closed", [False, True])
def test_engines_agree(closed: bool) -> None:
    system = branched(closed)
    model, reference = system.resolve(), system.resolve("reference")
    assert model.mechanism.engine.is_compiled
    q, v, a, tau = state(model, 3)
    at, prescribed = wrenches(model), ["rod", "knuckle"]
    assert len(at) == 4
    functions: list[Callable[[tt.Model], Any]] = [
        lambda model: model.inverse_dynamics(q, v, a, at),
        lambda model: model.inverse_dynamics(q, v, a),
        lambda model: model.mass_matrix(q),
        lambda model: model.nonlinear_effects(q, v),
        lambda model: model.gravity_effects(q),
        lambda model: model.coriolis_matrix(q, v),
        lambda model: model.passive_efforts(q, v),
        lambda model: model.energy(q, v),
        lambda model: model.momentum(q, v),
        lambda model: model.center_of_mass(q),
        *(lambda model, port=port: model.motion(port, q, v, a) for port in model.port_names),
        *(lambda model, port=port: model.jacobian(port, q) for port in model.port_names),
        *(lambda model, joint=joint: model.reaction(joint, q, v, a, at) for joint in model.joint_names),
    ]
    for function in functions:
        assert error(function(model), function(reference)) < SAME
    solved: list[Callable[[tt.Model], Any]] = [
        lambda model: model.forward_dynamics(q, v, tau, at),
        lambda model: np.concatenate(model.hybrid_dynamics(q, v, tau, a, prescribed, at)),
    ]
    accuracy = SAME + 10.0 * np.finfo(float).eps * float(np.linalg.cond(model.mass_matrix(q)))
    for function in solved:
        assert error(function(model), function(reference)) < accuracy


@pytest.mark.parametrize("closed", [False, True])
def test_derivatives_are_complex_steps_through_the_reference(closed: bool) -> None:
    system = branched(closed)
    model, reference = system.resolve(), system.resolve("reference")
    q, v, a, tau = state(model, 4)
    at = wrenches(model)
    found, expected = (m.inverse_dynamics_derivatives(q, v, a, wrenches=at) for m in (model, reference))
    assert max(map(error, found, expected)) < EXACT
    accuracy = EXACT + 100.0 * np.finfo(float).eps * float(np.linalg.cond(model.mass_matrix(q)))
    found, expected = (m.forward_dynamics_derivatives(q, v, tau, wrenches=at) for m in (model, reference))
    assert max(map(error, found, expected)) < accuracy


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_slender_rods_keep_their_digits() -> None:
    """The last part of a bent rod, as thin as a thousandth of its length, turns about itself with hardly any inertia.

    Of that, moments about the base, which are 10^6 times as large, would leave eleven digits.
    """
    pieces = tt.StrainBasis.piecewise_constant(6)
    strains = {"torsion": pieces, "bending_y": pieces, "bending_z": pieces}
    s = tt.System("slender")
    rod = tt.Rod("rod", 1.0, tt.Section.circle(1e-3), young=1e6, density=1e3, strains=strains, points=2)
    s.connect("world", rod, tt.Weld("clamp"))
    model, reference = s.resolve(), s.resolve("reference")
    q = 2.0 * np.random.default_rng(0).normal(size=model.nv)
    expected = reference.mass_matrix(q)
    own = np.diag(expected)
    assert own.min() < 1e-5 * own.max()
    for found in (model.mass_matrix(q), model.inverse_dynamics_derivatives(q, 0.0 * q, 0.0 * q)[2]):
        assert np.abs((found - expected) / np.sqrt(np.outer(own, own))).max() < 1e-12  # of 12 places


def test_two_rods_in_a_rigid_loop() -> None:
    """Their tips on a pin: both engines, accelerations, prescribed motions, derivatives; the pin's points stay together."""
    s = tt.System("loop", gravity=[0.3, -0.4, -9.81])
    fields: dict[str, Any] = {
        "section": tt.Section.circle([0.02, 0.01]),
        "young": 1e6,
        "density": 1e3,
        "damping": 1e3,
        "basis": 0,
    }
    one, two = (tt.Rod(name, length=length, **fields) for name, length in (("one", 0.5), ("two", 0.6)))
    s.connect("world", one, tt.Revolute("left", axis=[0, 1, 0]))
    s.connect("world", two, tt.Spherical("right"), placement=tt.Pose([0.4, 0.0, 0.0]))
    s.close_loop(one.port("tip"), two.port("tip"), tt.RigidClosure("pin", kind="spherical"))
    model, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(0)
    q = model.assemble(model.configuration({"left": -1.2}))
    v = model.assemble_velocity(q, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    a = model.forward_dynamics(q, v, tau)
    assert error(a, reference.forward_dynamics(q, v, tau)) < 1e-9  # multipliers lose what the loop's condition asks for
    found, expected = (m.hybrid_dynamics(q, v, tau, a, ["left"]) for m in (model, reference))
    assert max(map(error, found, expected)) < 1e-9
    ends = [np.asarray(model.motion(port, q, v, a)) for port in ("one.tip", "two.tip")]
    turned = [model.pose(port, q)[0] for port in ("one.tip", "two.tip")]
    moved = [R @ (m[:3] + np.cross(m[9:12], m[6:9])) for R, m in zip(turned, ends, strict=True)]
    assert error(moved[0], moved[1]) < 1e-9
    found, expected = (m.forward_dynamics_derivatives(q, v, tau) for m in (model, reference))
    assert max(map(error, found, expected)) < 1e-8


@pytest.mark.filterwarnings("ignore:.*ill-conditioned:titop.ModelWarning")
def test_the_manipulator_at_large_bends() -> None:
    """Coordinates of several radians: from point to point the rod turns by more than one."""
    s = tt.System("clamped", gravity=[0.0, 0.0, -9.81])
    s.connect("world", manipulator(), tt.Weld("clamp"))
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, _ = state(model, 0)
    q[:15] *= 5.0
    assert error(model.inverse_dynamics(q, v, a), reference.inverse_dynamics(q, v, a)) < SAME
    found, expected = (m.inverse_dynamics_derivatives(q, v, a) for m in (model, reference))
    assert max(map(error, found, expected)) < EXACT


def broken(stage: str, column: int, factor: float) -> Any:
    """Return the kind of rods with a stage that multiplies what it reads of its ports, or what it wrote."""
    law = rod_stages.LAW
    whole = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(Call._fields))(getattr(law, stage).address)

    def scaled(*words: int) -> None:
        call = Call(*words)
        record = np.ctypeslib.as_array((ctypes.c_double * records.law_size(call.n, call.ports)).from_address(call.law))
        if stage != "inward":
            assert whole(*words) == layout.OK
        for p in range(call.ports):
            record[records.port_at(call.n, p) + column :][:6] *= factor
        if stage == "inward":
            assert whole(*words) == layout.OK

    stages = {name: getattr(law, name) for name in ("terms", "outward", "inward", "slopes", "energy")}
    return SimpleNamespace(**stages | {stage: Callback(scaled, len(Call._fields))}, room=law.room)


@pytest.mark.parametrize(
    ("stage", "column"),
    [
        ("outward", layout.PORT_ACC),
        ("outward", layout.PORT_TWIST),
        ("inward", layout.PORT_WRENCH),
        ("terms", layout.PORT_GAMMA),
        ("slopes", layout.PORT_S),
    ],
)
def test_a_broken_stage_is_seen(stage: str, column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a stage of which a port's numbers differ by a hundredth."""
    system = branched()
    model = system.resolve()
    q, v, a, tau = state(model, 1)

    def all_of(model: tt.Model) -> Array:
        derivatives = model.inverse_dynamics_derivatives(q, v, a)
        return np.vstack([model.inverse_dynamics(q, v, a), model.forward_dynamics(q, v, tau), *derivatives])

    expected = all_of(model)
    for factor, sound in ((1.0, True), (1.01, False)):
        law = broken(stage, column, factor)
        monkeypatch.setitem(law_kinds.KINDS, "Rod", lambda _, law=law: law)
        found = all_of(system.resolve())
        errors = [error(found[rows], expected[rows]) for rows in (0, 1, slice(2, None))]
        assert bool(max(errors) < 1e-12) is sound


def test_parameters_reach_the_law() -> None:
    """Length, material and section, as if the rod had been built with them."""
    changes = {"rod.length": 0.6, "rod.young": 2e6, "rod.density": 900.0, "rod.damping": 5e3}
    models = []
    for fields in ({}, {name.removeprefix("rod."): value for name, value in changes.items()}):
        s = tt.System("clamped", gravity=[0.0, 0.0, -9.81])
        s.connect("world", manipulator(**fields), tt.Weld("clamp"))
        models.append(s.resolve())
    q, v, _, tau = state(models[1], 0)
    changed = models[0].with_parameters(changes)
    assert np.array_equal(changed.forward_dynamics(q, v, tau), models[1].forward_dynamics(q, v, tau))
    assert error(changed.forward_dynamics(q, v, tau), models[0].forward_dynamics(q, v, tau)) > 1e-3


def test_a_subclass_with_a_law_of_its_own_is_left_to_python() -> None:
    class Stiffening(tt.Rod):
        """Has a cubic spring beside its elasticity."""

        def elastic_energy(self, q: Array) -> Any:
            """Return the energy."""
            return super().elastic_energy(q) + 2.0 * (q @ q) ** 2

        def passive_efforts(self, q: Array, v: Array) -> Array:
            """Return the efforts that belong to it."""
            return super().passive_efforts(q, v) - 8.0 * (q @ q) * q

    fields = {"length": 0.5, "section": tt.Section.circle(0.02), "young": 1e6, "density": 1e3, "basis": 0}
    s, t = tt.System("one"), tt.System("two")
    s.connect("world", Stiffening("rod", **fields), tt.Weld("clamp"))
    t.connect("world", tt.Rod("rod", **fields), tt.Weld("clamp"))
    own, plain = s.resolve(), t.resolve()
    assert plain.mechanism.engine.is_compiled
    assert not own.mechanism.engine.is_compiled
    q, rest = np.array([0.3, -0.2, 0.5]), np.zeros(3)
    difference = own.inverse_dynamics(q, rest, rest) - plain.inverse_dynamics(q, rest, rest)
    assert error(difference, 8.0 * (q @ q) * q) < 1e-10
