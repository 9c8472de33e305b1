"""Blocks whose classes redefine parts of titop's own: both engines follow them, whatever the kernels know of the base class.

A class that redefines a function without changing what it returns takes the general road through the compiled engine, where it
must agree with the plain class on the fast one; a class that changes something must agree with the reference, and not with the
plain class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.flexible import random_body as random_panel
from tests.systems import KINDS, random_body, random_joint, random_pose, random_state
from titop.blocks.basics.spatial import rotation_exp
from titop.blocks.contract.block import overrides

Array = NDArray[np.float64]

#: Two summations of the same terms; derivatives of overriding blocks by differences where they are nested.
ACCURACY, SLOPES = 1e-11, 1e-8


def subclass(block: tt.Block, **own: Any) -> Any:
    """Return a copy of a block as one of a subclass with functions of its own."""
    changed = copy.copy(block)
    changed.__class__ = type(f"My{type(block).__name__}", (type(block),), own)
    return changed


def forwarded(base: type, name: str) -> Callable[..., Any]:
    """Return a function that does what the base class does."""
    return lambda self, *arguments: getattr(base, name)(self, *arguments)


def system(kind: str, overriding: Callable[[tt.Block], tt.Block]) -> tt.System:
    """Return a chain with a joint of a kind in the middle, and a flexible body; some blocks of it overridden."""
    rng = np.random.default_rng(KINDS.index(kind))
    s = tt.System(kind, gravity=rng.normal(size=3))
    base, middle, end = (random_body(rng, name) for name in ("base", "middle", "end"))
    base, middle, end, panel, joint = (
        overriding(block) for block in (base, middle, end, random_panel(rng), random_joint(rng, "joint", kind, passive=True))
    )
    s.connect("world", base.port("A"), tt.Free("free"), random_pose(rng))
    s.connect(base.port("B"), middle.port("A"), joint, random_pose(rng))
    s.connect(middle, panel, overriding(tt.Revolute("root", [1, 2, 3], stiffness=2.0, friction=tt.Friction(0.2))))
    s.connect(panel.port("C1"), end, overriding(tt.Weld("weld")))
    s.add_load(tt.Load("push", middle.port("B"), force=[1, 2, 3], frame="world"))
    s.add_load(tt.Load("pull", end, torque=[1, 2, 3]))
    s.add_actuator(tt.Motor("motor", "root", gear=3.0, rotor_inertia=0.1))
    s.add_actuator(tt.Force("jet", end.port("B"), direction=[1, 0, 0]))
    return s


def results(model: tt.Model, state: tuple[Array, ...], derivatives: bool) -> Iterator[tuple[str, Array]]:
    """Yield everything that a model says of a state."""
    q, v, a, tau = state
    wrenches = {"middle.A": np.arange(6.0), "end": np.ones(6), "panel.C0": np.ones(6)}
    acting: dict[str, Any] = {"wrenches": wrenches, "u": {"motor": 0.7, "jet": 1.3}}
    yield "forward", model.forward_dynamics(q, v, tau, **acting)
    yield "inverse", model.inverse_dynamics(q, v, a, **acting)
    yield "hybrid", np.concatenate(model.hybrid_dynamics(q, v, tau, a, ["root", "free"], wrenches))
    yield "mass", model.mass_matrix(q)
    yield "effects", model.nonlinear_effects(q, v)
    yield "passive", model.passive_efforts(q, v)
    yield "energy", np.array(model.energy(q, v))
    yield "momentum", model.momentum(q, v)
    yield "center", model.center_of_mass(q)
    for port in ("base.B", "middle", "middle.B", "panel.C1", "end.A", "end"):
        yield f"motion {port}", model.motion(port, q, v, a)[:15]
        yield f"jacobian {port}", model.jacobian(port, q)
    for joint in ("joint", "root", "weld", "free"):
        yield f"reaction {joint}", model.reaction(joint, q, v, a, wrenches)
    if derivatives:
        yield "inverse slopes", np.array(model.inverse_dynamics_derivatives(q, v, a, wrenches))
        yield "forward slopes", np.array(model.forward_dynamics_derivatives(q, v, tau, wrenches))
        yield "motion slopes", np.array(model.motion_derivatives("end.A", q, v, a)[3])


def differences(model: tt.Model, other: tt.Model, derivatives: bool = False) -> dict[str, float]:
    """Return the relative differences of what two models say, those that are too large."""
    found, state = {}, random_state(other, np.random.default_rng(1))
    pairs = zip(results(model, state, derivatives), results(other, state, derivatives), strict=True)
    for (name, one), (_, two) in pairs:
        error = float(np.abs(one - two).max(initial=0.0) / max(np.abs(two).max(initial=0.0), 1e-3))
        if not error < (SLOPES if "slopes" in name else ACCURACY):
            found[name] = error
    return found


def unchanged(block: tt.Block) -> tt.Block:
    """Redefine all that makes the law of a block, to the same effect."""
    names = {"pose", "mass_matrix", "motion_subspace", "subspace_rate", "gyroscopic", "passive_efforts", "elastic_energy"}
    if isinstance(block, tt.RigidBody):
        names = {"pose", "mass_matrix", "gyroscopic"}
    return subclass(block, **{name: forwarded(type(block), name) for name in names})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_the_general_road_agrees_with_the_fast_one(kind: str) -> None:
    fast, general = (system(kind, overriding).resolve() for overriding in (lambda block: block, unchanged))
    assert fast.mechanism.engine.is_compiled
    assert not general.mechanism.engine.is_compiled
    # nested differences take a while: one joint with a constant subspace, one with another, one on a group
    assert not differences(general, fast, derivatives=kind in ("Revolute", "Universal", "Spherical"))
    assert not differences(system(kind, unchanged).resolve("reference"), fast)


def heavier(self: Any, *q: Any) -> Array:
    """Three times the inertia."""
    return 3.0 * tt.RigidBody.mass_matrix(self, *q)


CHANGES: dict[str, tuple[type[tt.Block], dict[str, Any]]] = {
    "inertia": (tt.RigidBody, {"mass_matrix": heavier}),
    "ports": (tt.RigidBody, {"pose": lambda self, port, q=None: (np.eye(3), np.ones(3))}),
    "gyroscopic": (tt.RigidBody, {"gyroscopic": lambda self, q, v, twist: np.ones(6)}),
    "spring": (tt.Joint, {"passive_efforts": lambda self, q, v: -np.ones(self.nv)}),
    "damper": (tt.Joint, {"damping_efforts": lambda self, q, v: -10 * v}),
    "armature": (tt.Joint, {"mass_matrix": lambda self, q: np.diag([0.0] * 6 + [2.0] * self.nv)}),
    "kinematics": (tt.Joint, {"pose": lambda self, port, q: (type(self).__mro__[1].pose(self, port, q)[0], np.ones(3))}),
    "subspace": (tt.Joint, {"motion_subspace": lambda self, port, q: 2 * type(self).__mro__[1].motion_subspace(self, port, q)}),
    "panel": (tt.FlexibleBody, {"damping_efforts": lambda self, q, v: -20 * v}),
    "shift": (tt.FlexibleBody, {"shift": lambda self, q: 0.0 * tt.FlexibleBody.shift(self, q)}),
}


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_class_changes_counts(change: str) -> None:
    kind, own = CHANGES[change]

    def changed(block: tt.Block) -> tt.Block:
        return subclass(block, **own) if isinstance(block, kind) else block

    s = system("Universal", changed)
    compiled, reference = s.resolve(), s.resolve("reference")
    assert not differences(compiled, reference)
    assert differences(compiled, system("Universal", lambda block: block).resolve())


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("base", [tt.Revolute, tt.Prismatic])
def test_a_joint_with_a_spring_of_its_own(base: type[tt.Joint]) -> None:
    """A cubic spring under a mass on a rail, or on a hinge without gravity: by hand."""

    class Cubic(base):  # type: ignore[valid-type,misc]
        def elastic_energy(self, q: Array) -> Any:
            return 2.0 * q[0] ** 4

        def passive_efforts(self, q: Array, v: Array) -> Array:
            return -8.0 * q**3 - 0.5 * v

        def damping_efforts(self, q: Array, v: Array) -> Array:
            return -0.5 * v

    s = tt.System("cubic", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 2.0, inertia=2.0), Cubic("joint", axis=[0, 0, 1]))
    for engine in ("compiled", "reference"):
        model = s.resolve(engine)
        assert model.forward_dynamics([0.7], [0.3], [1.0])[0] == pytest.approx((1.0 - 8 * 0.7**3 - 0.15) / 2, rel=1e-14)
        assert model.energy([0.7], [0.3]).elastic == pytest.approx(2 * 0.7**4, rel=1e-14)
        assert model.forward_dynamics_derivatives([0.7], [0.3], [1.0])[0][0, 0] == pytest.approx(-12 * 0.7**2, rel=1e-11)


def test_a_function_of_one_block_counts() -> None:
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    body.mass_matrix = lambda q=None: 5.0 * np.eye(6)  # type: ignore[method-assign]
    s = tt.System("one", gravity=[0, 0, 0])
    s.connect("world", body, tt.Prismatic("rail"))
    assert s.resolve().mass_matrix([0.0])[0, 0] == 5.0


def test_constructors_and_checks_change_nothing() -> None:
    class Ball(tt.RigidBody):
        """Named after what it is made of."""

        def __init__(self, name: str, radius: float, density: float) -> None:
            mass = 4 / 3 * np.pi * radius**3 * density
            super().__init__(name, mass, inertia=0.4 * mass * radius**2)
            self.radius = radius

        def check(self) -> Any:
            return super().check()

        def volume(self) -> float:
            return 4 / 3 * np.pi * self.radius**3

    s = tt.System("ball")
    s.connect("world", Ball("ball", 0.1, 1000.0), tt.Revolute("hinge"))
    assert not overrides(s["ball"])
    assert s.resolve().mechanism.engine.is_compiled


def test_parameters_of_ones_own_change_the_law() -> None:
    class Ball(tt.RigidBody):
        def __init__(self, name: str, radius: float) -> None:
            super().__init__(name, 4e3 * radius**3, inertia=1.6e3 * radius**5)
            self.radius = radius

        def parameters(self) -> dict[str, tuple[float, str]]:
            return {"radius": (self.radius, "m")}

        def with_parameters(self, values: dict[str, float]) -> Any:
            return Ball(self.name, values["radius"])

    s = tt.System("ball")
    s.connect("world", Ball("ball", 0.1), tt.Revolute("hinge"))
    model = s.resolve()
    changed = model.with_parameters({"ball.radius": 0.2})
    assert changed.mass_matrix([0.0])[0, 0] == pytest.approx(32 * model.mass_matrix([0.0])[0, 0], rel=1e-14)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_bodies_on_the_frame_by_which_a_flexible_body_hangs(engine: str) -> None:
    """The second body, on the frame of the first, moves as if it hung on the same joint."""
    models = []
    for split in (False, True):
        rng = np.random.default_rng(3)
        panel, end, extra = random_panel(rng), random_body(rng, "end"), random_body(rng, "extra")
        s = tt.System("frame", gravity=[1, 2, 3])
        holder = tt.RigidBody("holder", 0.0)
        s.connect("world", holder, tt.Revolute("hinge", [1, 2, 3]))
        s.connect(holder, panel, tt.Weld("glue"))
        s.connect(holder if split else panel, end.port("A"), tt.Revolute("root", [3, 2, 1]), tt.Pose([0.1, 0.2, 0.3]))
        s.connect(holder if split else panel, extra, tt.Weld("more"))
        models.append(s.resolve(engine))
    q, v, a, tau = random_state(models[0], np.random.default_rng(1))
    for name, x in (("forward_dynamics", tau), ("inverse_dynamics", a), ("forward_dynamics_derivatives", tau)):
        found, expected = (np.array(getattr(model, name)(q, v, x)) for model in models)
        assert np.abs(found - expected).max() < ACCURACY * np.abs(expected).max()
    found, expected = (model.mass_matrix(q) for model in models)
    assert np.abs(found - expected).max() < ACCURACY
    found, expected = (model.reaction("hinge", q, v, a) for model in models)
    assert np.abs(found - expected).max() < ACCURACY * np.abs(expected).max()
    # what hangs on the frame goes through the weld that holds the panel
    inertial = models[0].reaction("glue", q, v, a) - models[1].reaction("glue", q, v, a)
    others = models[1].reaction("more", q, v, a)
    assert np.linalg.norm(inertial) > np.linalg.norm(others) / 100


# -- joints of one's own -------------------------------------------------------------------------------------------------


class Helix(tt.Joint):
    """A screw about z, by its pose alone."""

    coordinates, units = ("turn",), ("rad",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        z = np.array([0.0, 0.0, 1.0])
        return rotation_exp(q[0] * z), 0.3 * q[0] * z


class Cross(tt.Joint):
    """A universal joint, by its pose alone: its motion subspace turns."""

    coordinates, units = ("first", "second"), ("rad", "rad")

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        x, y = np.eye(3)[:2]
        return rotation_exp(q[0] * x) @ rotation_exp(q[1] * y), 0 * q[0] * x


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("own", [Helix, Cross])
def test_a_joint_without_a_chain_works(own: type[tt.Joint]) -> None:
    plain: Any = {Helix: lambda **k: tt.Screw("joint", pitch=0.3, **k), Cross: lambda **k: tt.Universal("joint", **k)}[own]
    passive = {
        "stiffness": 3.0,
        "damping": 0.4,
        "armature": 0.1,
        "friction": tt.Friction(0.2),
        "rest": [0.2] * len(own.coordinates),
    }
    models = []
    for joint in (plain(**passive), own("joint", **passive)):
        rng = np.random.default_rng(0)
        s = tt.System("own", gravity=[1, 2, 3])
        body, end = random_body(rng, "middle"), random_body(rng, "end")
        s.connect("world", body.port("A"), joint, random_pose(rng))
        s.connect(body.port("B"), end, tt.Revolute("root", axis=[1, 2, 3]))
        s.add_actuator(tt.Motor("motor", f"joint.{joint.coordinates[0]}", gear=2.0, rotor_inertia=0.3))
        models += [s.resolve(), s.resolve("reference")]
    q, v, a, tau = random_state(models[0], np.random.default_rng(1))
    for model in models[1:]:
        for function, x in (("forward_dynamics", tau), ("inverse_dynamics", a)):
            expected = getattr(models[0], function)(q, v, x)
            assert np.abs(getattr(model, function)(q, v, x) - expected).max() < ACCURACY * np.abs(expected).max()
            slopes = np.array(getattr(models[0], f"{function}_derivatives")(q, v, x))
            assert np.abs(getattr(model, f"{function}_derivatives")(q, v, x) - slopes).max() < SLOPES * np.abs(slopes).max()


def test_a_joint_without_a_pose_is_refused_by_name() -> None:
    for joint in (tt.Joint("nothing"), type("Nothing", (tt.Joint,), {"coordinates": ("x",), "units": ("m",)})("nothing")):
        s = tt.System("bare")
        s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), joint)
        for engine in ("compiled", "reference"):
            with pytest.raises(tt.ModelError, match=r"nothing.*defines no pose"):
                s.resolve(engine)


# -- what the compiled engine cannot follow -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["load", "rigid"])
def test_closures_and_loads_of_ones_own_are_refused_by_name(kind: str) -> None:
    s = tt.System("own", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Revolute("hinge"))
    if kind == "load":
        s.add_load(subclass(tt.Load("mine", body), wrench=lambda self, rotation: np.ones(6)))
    else:
        closure = tt.RigidClosure("mine", "spherical")
        s.close_loop("world", body, subclass(closure, error=lambda self, R, r: 2 * r))
    with pytest.raises(tt.ModelError, match=r"mine\.(wrench|error).*by heart"):
        s.resolve()


def test_interactions_of_ones_own_are_followed() -> None:
    s = tt.System("own", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Revolute("hinge"))
    s.close_loop("world", body, subclass(tt.CompliantClosure("mine", stiffness=1.0), energy=lambda self, R, r: 7.0))
    assert s.resolve().energy([0.5], [0.0]).elastic == s.resolve("reference").energy([0.5], [0.0]).elastic == 7.0


def test_a_closure_of_no_kind_is_refused() -> None:
    from titop.blocks.constraints.closure import Closure

    s = tt.System("own")
    body = tt.RigidBody("body", 1.0)
    s.connect("world", body, tt.Revolute("hinge"))
    s.close_loop("world", body, type("Mine", (Closure,), {})("mine"))
    with pytest.raises(tt.ModelError, match="not-a-closure"):
        s.resolve()


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("by", ["class", "instance"])
def test_configurations_move_as_a_joint_of_ones_own_says(engine: str, by: str) -> None:
    """A hinge whose angle stays within half a turn, beside one of titop's whose angle does not."""

    def wrapped(self: Any, q: Array, dq: Array) -> Array:
        return (q + dq + np.pi) % (2 * np.pi) - np.pi

    hinge = tt.Revolute("mine")
    if by == "class":
        hinge = subclass(hinge, integrate=wrapped)
    else:
        hinge.integrate = wrapped.__get__(hinge)
    s = tt.System("two")
    for joint in (tt.Revolute("plain"), hinge):
        s.connect("world", tt.RigidBody(f"at_{joint.name}", 1.0, inertia=1.0), joint)
    moved = s.resolve(engine).integrate([3.0, 3.0], [1.0, 1.0])
    np.testing.assert_allclose(moved, [4.0, 4.0 - 2 * np.pi], rtol=1e-15)
