"""Systems with closed loops for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt
from tests.systems import KINDS, Array, random_rotation, random_tree
from titop.blocks.constraints.rigid_closure import KINDS as ALL_KINDS

#: Lengths (m) and masses (kg) of a four-bar linkage: ground, crank, coupler, rocker. The shortest and the longest together are
#: shorter than the other two (Grashof), so that the crank turns fully; gravity acts in the plane.
LENGTHS = (1.0, 0.3, 0.9, 0.7)
MASSES = (0.0, 1.0, 2.0, 1.5)


#: Kinds of closures for bodies that move in space.
CLOSURE_KINDS = tuple(kind for kind in ALL_KINDS if not kind.startswith(("planar_", "point_", "screw")))

#: Of the gears of `geared_hand`.
RATIO, OFFSET, RACK = -1.5, 0.2, 0.05


def bar(name: str, length: float, mass: float) -> tt.RigidBody:
    """Return a slender bar along x, with a port ``end``."""
    about = mass * length**2 / 12
    return tt.RigidBody(
        name, mass=mass, com=[length / 2, 0, 0], inertia=[0.01 * about, about, about], ports={"end": [length, 0, 0]}
    )


def four_bar(closure: tt.Block | None = None, lengths: tuple[float, ...] = LENGTHS, **joint: Any) -> tt.System:
    """Return a planar four-bar linkage: three revolute joints, and a closure ``pin`` at the end of the rocker."""
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [lengths[0], 0, 0])
    crank, coupler, rocker = (
        bar(name, length, mass)
        for name, length, mass in zip(("crank", "coupler", "rocker"), lengths[1:], MASSES[1:], strict=True)
    )
    s.connect("world", crank, joint=tt.Revolute("q1", **joint))
    s.connect(crank.port("end"), coupler, joint=tt.Revolute("q2"))
    s.connect(coupler.port("end"), rocker, joint=tt.Revolute("q3"))
    s.close_loop(s.world.port("ground"), rocker.port("end"), closure or tt.RigidClosure("pin", "revolute"))
    return s


def slider_crank(
    lengths: tuple[float, float] = (0.3, 0.9),
    masses: tuple[float, float, float] = (1.0, 2.0, 1.5),
    closure: tt.Block | None = None,
) -> tt.System:
    """Return a crank and a rod in the plane of x and y, whose end the closure ``slide`` keeps on the x axis; a piston there."""
    s = tt.System("slider-crank", gravity=[0, -9.81, 0])
    crank, rod = bar("crank", lengths[0], masses[0]), bar("rod", lengths[1], masses[1])
    piston = tt.RigidBody("piston", mass=masses[2], inertia=0.01)
    s.connect("world", crank, joint=tt.Revolute("q1"))
    s.connect(crank.port("end"), rod, joint=tt.Revolute("q2"))
    s.connect(rod.port("end"), piston, joint=tt.Revolute("q3"))
    s.close_loop("world", piston, closure or tt.RigidClosure("slide", "prismatic", axis=[1, 0, 0]))
    return s


def bricard(mass: float = 1.0) -> tt.System:
    """Return Bricard's orthogonal mechanism: six unit bars, each hinge at right angles to the next; one degree of freedom.

    Folded out, the bars are edges of a cube. Five hinges are joints, the sixth the closure ``pin``.
    """
    s = tt.System("bricard", gravity=[0, 0, -9.81])
    # the edges of a cube around a diagonal, each followed by the next
    edges = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], dtype=float)
    corners = np.vstack([np.zeros(3), np.cumsum(edges, axis=0)])[:6]
    # the hinge between two edges is perpendicular to both
    axes = [np.cross(edges[k - 1], edges[k]) for k in range(6)]
    parent: Any = "world"
    for k in range(1, 6):
        reach = edges[k]
        inertia = mass / 12 * (np.eye(3) - np.outer(reach, reach)) + 1e-3 * mass * np.eye(3)
        link = tt.RigidBody(f"link{k}", mass=mass, com=reach / 2, inertia=inertia, ports={"end": reach})
        s.connect(parent, link, joint=tt.Revolute(f"q{k}", axis=axes[k]), placement=corners[1] if k == 1 else None)
        parent = link.port("end")
    s.close_loop("world", parent, tt.RigidClosure("pin", "revolute", axis=axes[0]))
    return s


def random_closed_tree(
    rng: np.random.Generator, bodies: int, compliant: int = 1, rigid: int = 1, **options: Any
) -> tuple[tt.System, NDArray[np.float64]]:
    """Return a random tree with closures, and a configuration at which the rigid ones are closed.

    The second port of each rigid closure is put where its first is at that configuration.
    """
    s = random_tree(rng, bodies, kinds=options.pop("kinds", KINDS), **options)
    probe = s.resolve("reference")
    q = probe.random_configuration(rng)
    tree = [s.world, *(s[name] for name in probe.body_names)]
    for k in range(rigid + compliant):
        i, j = rng.choice(len(tree), 2, replace=False)
        first, second = tree[i], tree[j]
        is_rigid = k < rigid
        offset = np.zeros(3) if is_rigid else rng.uniform(-0.3, 0.3, 3)
        turn = np.eye(3) if is_rigid else random_rotation(rng).as_matrix()
        R1, p1 = probe.pose(f"{first.name}.A", q)
        R2, p2 = probe.pose(second.name, q)
        second.add_port(f"loop{k}", R2.T @ (p1 + offset - p2), R2.T @ R1 @ turn)
        if is_rigid:
            kind = str(rng.choice(list(CLOSURE_KINDS)))
            axes = dict(zip(("axis", "axis2"), rng.normal(size=(2, 3)), strict=True)) if kind != "universal" else {}
            closure: tt.Block = tt.RigidClosure(f"pin{k}", kind, **axes)
        else:
            roots = rng.uniform(-1.0, 1.0, (2, 6, 6))
            closure = tt.CompliantClosure(f"pad{k}", 5.0 * roots[0] @ roots[0].T, roots[1] @ roots[1].T)
        s.close_loop(first.port("A"), second.port(f"loop{k}"), closure)
    return s, q


def accelerating(model: tt.Model, q: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return velocities and accelerations that keep the loops closed, and efforts, of order one."""
    v, a, tau = rng.normal(size=(3, model.nv))
    v = model.assemble_velocity(q, v)
    return v, model.assemble_acceleration(q, v, a), tau


#: Andrews' squeezing mechanism: Hairer and Wanner, Solving Ordinary Differential Equations II, section VII.7, and the test set
#: for IVP solvers: angles (rad) at the start and after 0.03 s.
ANDREWS_ORDER = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
ANDREWS_START = (
    -0.0617138900142764,
    0.0,
    0.455279819163070,
    0.222668390165885,
    0.487364979543842,
    -0.222668390165885,
    1.23054744454982,
)
ANDREWS_END = (
    15.81077119629904,
    -15.75637105984298,
    0.04082224013073101,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    1.048080741042263,
)
#: Accelerations of the first two at the start (rad/s^2), of the same source.
ANDREWS_ACCELERATIONS = (14222.4439199541, -10666.8329399656)
#: Drive torque (N m), stiffness (N/m) and length (m) of the spring, and the point C (m) on which it hangs.
ANDREWS_TORQUE = 0.033
ANDREWS_SPRING = (4530.0, 0.07785, (0.014, 0.072, 0.0))


def andrews() -> tt.System:
    """Return Andrews' squeezing mechanism without its spring, which pulls at the port ``k3.D``; joints named as its angles."""
    bodies = {  # mass, moment of inertia, centre of mass, ports
        "k1": (0.04325, 2.194e-6, (0.00092, 0), {"tip": (0.007, 0)}),
        "k2": (0.00365, 4.410e-7, (-0.0115, 0), {"E": (-0.028, 0)}),
        "k3": (0.02373, 5.255e-6, (0.01043, -0.01874), {"E": (0, -0.035), "D": (0.02, -0.018)}),
        "k5": (0.07050, 1.169e-5, (0.02308, -0.00916), {"tip": (0.04, 0)}),
        "k4": (0.00706, 5.667e-7, (0, -0.00579), {"E": (0, -0.02)}),
        "k7": (0.05498, 1.912e-5, (0.00449, -0.01228), {"tip": (0, -0.04)}),
        "k6": (0.00706, 5.667e-7, (0.00579, 0), {"E": (0.02, 0)}),
    }
    s = tt.System("andrews", gravity=[0, 0, 0])
    a, b = [-0.06934, -0.00227, 0], [-0.03635, 0.03273, 0]
    k = {
        name: tt.RigidBody(
            name, mass, com=[*com, 0], inertia=[about / 2, about / 2, about], ports={p: [*at, 0] for p, at in ports.items()}
        )
        for name, (mass, about, com, ports) in bodies.items()
    }
    s.connect("world", k["k1"], joint=tt.Revolute("beta"))
    s.connect(k["k1"].port("tip"), k["k2"], joint=tt.Revolute("Theta"))
    s.connect("world", k["k3"], joint=tt.Revolute("gamma"), placement=b)
    s.connect("world", k["k5"], joint=tt.Revolute("delta"), placement=a)
    s.connect(k["k5"].port("tip"), k["k4"], joint=tt.Revolute("Phi"))
    s.connect("world", k["k7"], joint=tt.Revolute("epsilon"), placement=a)
    s.connect(k["k7"].port("tip"), k["k6"], joint=tt.Revolute("Omega"))
    for name in ("k3", "k4", "k6"):
        s.close_loop(k["k2"].port("E"), k[name].port("E"), tt.RigidClosure(f"at_{name}", directions=np.eye(6)[:, :2]))
    return s


def closed_four_bar(
    angle: float = 0.5, rate: float = 2.0, engine: str = "compiled", closure: tt.Block | None = None
) -> tuple[tt.Model, Array, Array]:
    """Return a closed four-bar linkage: model, configuration and velocity, of which the crank's are given (rad, rad/s)."""
    model = four_bar(closure).resolve(engine)
    q = model.assemble([angle, 0.5, -1.5], fixed=["q1"])
    return model, q, model.assemble_velocity(q, [rate, 0, 0], fixed=["q1"])


def geared_hand(ratio: float = RATIO) -> tt.System:
    """Return two fingers with tips that slide on a palm; the left finger drives the right one and its tip."""
    s = tt.System("hand")
    ports = {"l": [0.1, 0, 0.2], "r": [-0.1, 0, 0.2]}
    palm = tt.RigidBody("palm", mass=1.0, com=[0, 0, 0.1], inertia=[0.1, 0.1, 0.1], ports=ports)
    s.connect("world", palm, tt.Revolute("wrist", axis=[1, 2, 0.3], stiffness=2.0))
    for side in "lr":
        finger = tt.RigidBody(f"finger_{side}", 0.3, [0.02, 0.01, 0.1], [0.01, 0.02, 0.015], {"tip": [0, 0, 0.2]})
        s.connect(palm.port(side), finger, tt.Revolute(side, axis=[0, 1, 0.2], damping=0.1))
        tip = tt.RigidBody(f"tip_{side}", mass=0.1, com=[0.02, 0.01, 0.1], inertia=[0.01, 0.02, 0.015])
        s.connect(finger.port("tip"), tip, tt.Prismatic(f"slide_{side}", axis=[0, 0.2, 1]))
    s.add_gear(tt.Gear("pair", driver="l", driven="r", ratio=ratio, offset=OFFSET))
    s.add_gear(tt.Gear("rack", driver="l", driven="slide_r", ratio=RACK))
    return s


def stewart(seed: int, gravity: float = 0.0, stiffness: float = 1e5) -> tt.System:
    """Return a platform on six legs with springs, at rest at neutral, feet and tops somewhere on two circles."""
    rng = np.random.default_rng(seed)
    angles, height = rng.uniform(0, 2 * np.pi, 12), rng.uniform(0.8, 1.5)
    feet, tops = (
        radius * np.stack([np.cos(some), np.sin(some), 0 * some], axis=1)
        for radius, some in ((1.5, np.sort(angles[:6])), (1.0, np.sort(angles[6:])))
    )
    s = tt.System("stewart", gravity=[0, 0, -gravity])
    plate = tt.RigidBody("plate", 50.0, inertia=[10, 10, 18], ports={f"t{i}": top for i, top in enumerate(tops)})
    s.connect("world", plate, tt.Free("base"), [0, 0, height])
    for i, (foot, top) in enumerate(zip(feet, tops, strict=True)):
        leg = top - foot + np.array([0, 0, height])
        x, length = leg / np.linalg.norm(leg), float(np.linalg.norm(leg))
        y = np.cross([0, 0, 1], x) / np.linalg.norm(np.cross([0, 0, 1], x))
        s.world.add_port(f"f{i}", position=foot, rotation=np.column_stack([x, y, np.cross(x, y)]))
        lower = tt.RigidBody(f"lower{i}", 4.0, com=[0.3, 0, 0], inertia=[0.01, 0.05, 0.05])
        upper = tt.RigidBody(f"upper{i}", 2.0, com=[-0.25, 0, 0], inertia=[0.01, 0.03, 0.03])
        s.connect(s.world.port(f"f{i}"), lower, tt.Universal(f"u{i}", axis1=[0, 1, 0], axis2=[0, 0, 1]))
        s.connect(lower, upper, tt.Prismatic(f"l{i}", axis=[1, 0, 0], stiffness=stiffness), [length, 0, 0])
        s.close_loop(upper, plate.port(f"t{i}"), tt.RigidClosure(f"c{i}", directions=np.eye(6)[:, :3]))
    return s
