"""Systems with closed loops for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import titop as tt
from numpy.typing import NDArray
from titop.blocks.rigid_closure import KINDS as CLOSURE_KINDS

from tests.systems import KINDS, Array, random_rotation, random_tree

#: Lengths (m) and masses (kg) of a four-bar linkage: ground, crank, coupler, rocker. The shortest and the longest together are
#: shorter than the other two (Grashof), so that the crank turns fully; gravity acts in the plane.
LENGTHS = (1.0, 0.3, 0.9, 0.7)
MASSES = (0.0, 1.0, 2.0, 1.5)


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


def slider_crank(lengths: tuple[float, float] = (0.3, 0.9), masses: tuple[float, float, float] = (1.0, 2.0, 1.5)) -> tt.System:
    """Return a crank and a rod in the plane of x and y, whose end the closure ``slide`` keeps on the x axis; a piston there."""
    s = tt.System("slider-crank", gravity=[0, -9.81, 0])
    crank, rod = bar("crank", lengths[0], masses[0]), bar("rod", lengths[1], masses[1])
    piston = tt.RigidBody("piston", mass=masses[2], inertia=0.01)
    s.connect("world", crank, joint=tt.Revolute("q1"))
    s.connect(crank.port("end"), rod, joint=tt.Revolute("q2"))
    s.connect(rod.port("end"), piston, joint=tt.Revolute("q3"))
    s.close_loop("world", piston, tt.RigidClosure("slide", "prismatic", axis=[1, 0, 0]))
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
