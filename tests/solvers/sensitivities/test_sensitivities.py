"""Sensitivities to every kind of parameter in every kind of system, from its block alone, against a step through the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests import mechanisms
from tests.closed_systems import bricard, four_bar, geared_hand, random_closed_tree
from tests.mixed_trees import mixed_tree, moderate_state
from tests.solvers.kernels.laws.test_rod_lines import finger
from tests.solvers.kernels.laws.test_rod_loads import swimmer
from tests.solvers.kernels.laws.test_soft_stages import mixed as soft_mixed
from tests.solvers.kernels.ports.test_fluids import floating
from tests.solvers.kernels.ports.test_interactions import all_kinds, joined
from tests.solvers.kernels.ports.test_surroundings import wet
from tests.solvers.sensitivities.whole_systems import accelerations, by_parameter, efforts, takes_complex
from tests.systems import random_pose, random_rotation, random_tree
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.multipliers import Partition
from titop.solvers.sensitivities import changed_parts
from titop.solvers.sensitivities.effects import Response

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # redundant constraints, light bodies

#: Both ways round the same numbers otherwise: the condition of what is between them, up to 1e5 here.
EXACT = 1e-10
#: Differences of sixth order, on both sides.
BY_DIFFERENCES = 1e-6


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def driven_tree() -> tt.System:
    """Return a rigid tree with springs, friction, motors with rotors, thrusters and loads."""
    s = random_tree(rng(5), 7, passive=True, loads=True)
    plain = [c.joint.name for c in s.connections if len(c.joint.coordinates) == 1]
    s.add_actuator(tt.Motor("motor", plain[0], gear=3.0, rotor_inertia=0.02))
    bodies = [c.child.block for c in s.connections]
    s.add_actuator(tt.Thruster("jet", bodies[-1].port("A"), direction=[1, 2, 3]))
    s.add_actuator(tt.Force("crane", bodies[2].port("A"), direction=[1, 0, 1], frame="world"))
    return s


def stopped() -> tt.System:
    """Return a beam whose tip runs against a bumper."""
    s = tt.System("bumper")
    beam = tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    s.connect("world", beam, tt.Revolute("hinge", limits=tt.Limits(-0.01, 0.01, stiffness=3.0)))
    s.add_limits(tt.CoordinateLimits("bumper", "boom.C_y", tt.Limits(upper=-1.0, stiffness=1e3)))
    return s


def on_own_ports() -> tt.System:
    """Return bodies that hang by ports of their own, two on one port, on which a strut pulls too; loads at all ports."""
    s = tt.System("hung", gravity=[1, 2, -9.81])
    hook = tt.RigidBody("hook", 2.0, [0.1, 0.2, 0.3], [0.1, 0.2, 0.25], {"top": [0, 0.1, 0.4], "low": [0.1, 0, -0.4]})
    left = tt.RigidBody("left", 1.0, [0, 0, -0.2], 0.1, {"end": [0.1, 0, 0]})
    right = tt.RigidBody("right", 1.0, [0, 0.1, -0.2], 0.1, {"end": tt.Pose([0, 0.3, 0], random_rotation(rng(0)))})
    s.world.add_port("beam", [1, 0, 2])
    s.connect(s.world.port("beam"), hook.port("top"), tt.Universal("swivel", stiffness=2.0), random_pose(rng(1)))
    s.connect(hook.port("low"), left, tt.Revolute("one", [1, 1, 0]))
    s.connect(hook.port("low"), right.port("end"), tt.Screw("two", pitch=0.1))
    s.add_interaction(tt.SpringDamper("strut", stiffness=20.0, damping=0.5, length=0.2), hook.port("low"), right.port("end"))
    for k, port in enumerate((hook.port("top"), hook.port("low"), right.port("end"), left.port("end"))):
        s.add_load(tt.Load(f"wind{k}", port, [1, 2, 3], [0.1, 0.2, 0.3], ("world", "port")[k % 2]))
    return s


TREES: dict[str, Callable[[], tt.System]] = {
    "rigid": driven_tree,
    "hung by ports": on_own_ports,
    "mixed": lambda: mixed_tree(rng(1), 7),
    "interactions": lambda: joined(*all_kinds(), flexible=True),
    "in water": wet,
    "floating": floating,
    "tendons": finger,
    "loads along rods": swimmer,
    "deformable": soft_mixed,
    "stops": stopped,
}


def assembled(s: tt.System, guess: Any = None, **fixed: Any) -> tuple[tt.System, Array]:
    m = s.resolve()
    return s, m.assemble(m.neutral() if guess is None else guess, **fixed)


CLOSED: dict[str, Callable[[], tuple[tt.System, Array]]] = {
    "four-bar, three redundant rows": lambda: assembled(four_bar(), [0.5, 0.5, -1.5], fixed=["q1"]),
    "bricard": lambda: assembled(bricard(), [0.1] * 5),
    "gears": lambda: assembled(geared_hand()),
    "table": lambda: (mechanisms.shared_top(3), mechanisms.shared_top_at(3, 0.7)),
    **{f"random {k}": lambda k=k: random_closed_tree(rng(k), 4, passive=True, loads=True) for k in range(6)},  # type: ignore[misc]
}


def one_of_each(m: tt.Model, most: int = 40) -> list[str]:
    """Return parameters, one of each kind of block and entry, some of them if these are many."""
    kinds: dict[Any, str] = {}
    for name in m.parameters():
        block, _, entry = name.partition(".")
        kinds.setdefault((type(m.mechanism.assembly.blocks.get(block)), entry), name)
    names = list(kinds.values())
    return [str(name) for name in rng(0).permutation(names)[:most]]


def pushed(m: tt.Model) -> dict[str, Array]:
    """Return wrenches on two ports and a body's reference frame."""
    ports = [port for port in m.port_names if "." in port and not port.startswith("world")] or list(m.port_names)
    at = ports[-1], ports[len(ports) // 2], m.body_names[-1]
    return {port: rng(7 + k).normal(size=6) for k, port in enumerate(at)}


def assert_same(m: tt.Model, name: str, found: Array, expected: Array, size: float) -> None:
    """Compare two derivatives by a parameter of what has a `size` itself."""
    value = abs(m.parameters()[name][0]) or 1.0
    tolerance = EXACT if takes_complex(m, name) else BY_DIFFERENCES
    assert np.abs(found - expected).max() <= tolerance * max(np.abs(expected).max(), 1e-2 * size / value), name


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name == "deformable")) for name in TREES])
def test_trees(name: str) -> None:
    """Efforts are those of a step through the whole; accelerations balance them, to what elimination leaves."""
    m = TREES[name]().resolve()
    q, v, tau = moderate_state(m, rng(3))
    if name == "deformable":
        q, v = m.integrate(m.neutral(), 0.02 * rng(3).normal(size=m.nv)), 0.1 * v
    a, u, wrenches, names = rng(4).normal(size=m.nv), 0.3 * rng(6).normal(size=m.nu), pushed(m), one_of_each(m)
    found = m.inverse_dynamics_sensitivities(q, v, a, names, wrenches, u)
    function, size = efforts(m, q, v, a, wrenches, u), np.abs(m.inverse_dynamics(q, v, a, wrenches, u=u)).max()
    for parameter in names:
        assert_same(m, parameter, found[parameter], by_parameter(m, parameter, function), size)
    a = m.forward_dynamics(q, v, tau, wrenches, u=u)
    needed = m.inverse_dynamics_sensitivities(q, v, a, names, wrenches, u)
    accelerated = m.forward_dynamics_sensitivities(q, v, tau, names, wrenches, u)
    matrix = m.mass_matrix(q)
    for parameter in names:
        parts = np.abs(matrix) @ np.abs(accelerated[parameter])
        assert np.abs(matrix @ accelerated[parameter] + needed[parameter]).max() <= 1e-12 * max(parts.max(), 1e-300), parameter


@pytest.mark.parametrize("name", CLOSED)
def test_closed_systems(name: str) -> None:
    s, q = CLOSED[name]()
    m = s.resolve()
    v, a = m.assemble_velocity(q, rng(3).normal(size=m.nv)), rng(4).normal(size=m.nv)
    a = m.assemble_acceleration(q, v, a)
    tau, u, wrenches, names = rng(5).normal(size=m.nv), 0.3 * rng(6).normal(size=m.nu), pushed(m), one_of_each(m)
    found = m.inverse_dynamics_sensitivities(q, v, a, names, wrenches, u)
    accelerated = m.forward_dynamics_sensitivities(q, v, tau, names, wrenches, u)
    needed, driven = efforts(m, q, v, a, wrenches, u), accelerations(m, q, v, tau, wrenches, u)
    sizes = [
        np.abs(x).max() for x in (m.inverse_dynamics(q, v, a, wrenches, u=u), m.forward_dynamics(q, v, tau, wrenches, u=u))
    ]
    for parameter in names:
        assert_same(m, parameter, found[parameter], by_parameter(m, parameter, needed), sizes[0])
        assert_same(m, parameter, accelerated[parameter], by_parameter(m, parameter, driven), sizes[1])


@pytest.mark.parametrize(
    ("break_it", "test", "name"),
    [
        ((changed_parts, "twist_cross", lambda _: np.zeros((6, 6))), test_trees, "rigid"),
        ((changed_parts, "_move_back", lambda *_: []), test_trees, "hung by ports"),
        ((Response, "turned", lambda *_: 0.0), test_closed_systems, "four-bar, three redundant rows"),
        ((Partition, "follow", lambda self, right: np.zeros((self.size[1], *right.shape[1:]))), test_closed_systems, "bricard"),
    ],
)
def test_each_part_is_seen(break_it: Any, test: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above fail where a part of what they test does nothing."""
    monkeypatch.setattr(*break_it)
    with pytest.raises(AssertionError):
        test(name)
