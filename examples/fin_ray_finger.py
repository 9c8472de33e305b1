"""A fin-ray finger: two soft walls that meet at a tip, ribs between them, moved by a slider at its base (key M, 5.2).

Seventeen rods in a plane, joined by five hinges on the left wall and the slider: 74 coordinates. Five hinges on the right wall
and the tip, where both walls are one, close loops; of their 31 constraints 13 are independent, since all moves in a plane.

Walls 1 mm wide, 2.5 cm high and 3 cm long between ribs, ribs 1 mm wide and 1 cm high, of ABS (2 GPa, Poisson's ratio 0.35), are
the paper's, and so are the strains: bending is linear along a rod, elongation and shear are constant. The paper prints neither
density and viscosity, nor the width of the base, nor the motion of the slider: these are ours. Eight millimetres inwards the
lowest rib buckles; the slider stays clear of that.

Closing, the wall presses a cylinder of foam against a jaw; the table on which this stands sinks, and friction holds it.
Contacts have bristles (`tangential_stiffness`): so the grasp has an equilibrium, and a stiffness. The paper grasps nothing.

Run it: ``python examples/fin_ray_finger.py`` draws ``fin_ray_finger.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array

#: Of each wall between two ribs: length, height and width (m), and how many there are; of ribs: height (m).
LENGTH, HEIGHT, WIDTH, LEVELS, RIB_HEIGHT = 0.03, 0.025, 0.001, 6, 0.01
#: Young's modulus (Pa), Poisson's ratio, density (kg/m^3) and viscosity (Pa s; strains relax within 0.3 ms).
YOUNG, POISSON, DENSITY, VISCOSITY = 2e9, 0.35, 1040.0, 2e5
#: Distance (m) of both feet, how far the slider moves to either side (m), and how long there and back takes (s).
BASE, STROKE, PERIOD = 0.06, 0.006, 2.5
#: What is grasped, a cylinder of foam: radius (m), mass (kg), height at the wall (of rods), and the gap on both sides (m).
RADIUS, MASS, PLACE, GAP = 0.02, 0.03, 3.5, 2e-4
#: How many points of the wall touch it; of each and of the jaw: stiffness (N/m^1.5), bristles (1/m), and so on.
POINTS = 5
FOAM: dict[str, Any] = {"stiffness": 6e4, "dissipation": 20.0, "friction": 0.8, "slip_velocity": 0.02}
BRISTLES = 2e3
#: When (s) the slider closes, and the table sinks, and by how much (m).
CLOSING, SINKING, CLOSED, SUNK = (0.2, 0.7), (1.0, 1.5), 0.006, -0.02
#: Coordinates of the grasp that are moved by what acts, and what is held.
MOVED, HELD = ("moves.x", "moves.y", "moves.theta"), ("slider", "lift")
#: Free strains of all rods: 4 coordinates.
STRAINS = {"bending_y": 1, "elongation": 0, "shear_z": 0}


def rod(name: str, length: float, height: float, order: int, **more: Any) -> tt.Rod:
    """Return a rod that bends in the plane of its x and z; bending, elongation and shear are of `order` and one lower."""
    strains = {name: degree + order - 1 for name, degree in STRAINS.items()}
    section = tt.Section.rectangle(height, WIDTH)
    return tt.Rod(name, length, section, YOUNG, DENSITY, POISSON, damping=VISCOSITY, strains=strains, **more)


def build(order: int = 1, redundant: bool = True) -> tt.System:
    """Return the finger in the plane of x and z, its tip up; strains of higher `order` show what the paper's are good for.

    Without `redundant` constraints the closures are those of a planar system.
    """
    s, lean = tt.System("fin-ray finger", gravity=[0, 0, -9.81]), np.arcsin(BASE / 2 / (LEVELS * LENGTH))
    kinds = ("revolute", "weld") if redundant else ("planar_revolute", "planar_weld")
    walls: dict[str, list[tt.Rod]] = {"left": [], "right": []}
    for side, angle in (("left", lean), ("right", -lean)):
        up = np.column_stack([[np.sin(angle), 0, np.cos(angle)], [0, 1, 0], [-np.cos(angle), 0, np.sin(angle)]])
        foot = tt.Prismatic("slider", axis=up.T[:, 0]) if side == "left" else tt.Weld("foot")
        at = tt.Pose([-BASE / 2 if side == "left" else BASE / 2, 0, 0], up)
        for k in range(1, LEVELS + 1):
            part = rod(f"{side}{k}", LENGTH, HEIGHT, order, ports={"level": (LENGTH, tt.Pose(rotation=up.T))})
            below = walls[side][-1].port("tip") if k > 1 else "world"
            s.connect(below, part, foot if k == 1 else tt.Weld(f"{side}{k}_root"), placement=at if k == 1 else None)
            walls[side].append(part)
    for k, (left, right) in enumerate(zip(walls["left"], walls["right"], strict=True), start=1):
        if k == LEVELS:
            s.close_loop(
                right.port("level"), left.port("level"), tt.RigidClosure("tip", kinds[1], axis=[0, 1, 0], redundant=redundant)
            )
            break
        rib = rod(f"rib{k}", BASE * (1 - k / LEVELS), RIB_HEIGHT, order)
        s.connect(left.port("level"), rib, tt.Revolute(f"hinge{k}", axis=[0, 1, 0]))
        pin = tt.RigidClosure(f"pin{k}", kinds[0], axis=[0, 1, 0], redundant=redundant)
        s.close_loop(right.port("level"), rib.port("tip"), pin)
    return s


def frames() -> tuple[Array, Array]:
    """Return the directions out of the right wall and up along it, straight (3 each)."""
    lean = np.arcsin(BASE / 2 / (LEVELS * LENGTH))
    return np.array([np.cos(lean), 0, np.sin(lean)]), np.array([-np.sin(lean), 0, np.cos(lean)])


def build_grasp() -> tt.System:
    """Return the finger with a cylinder between its right wall and a jaw parallel to this; it stands on a table."""
    s, (out, up) = build(redundant=False), frames()
    centre = [BASE / 2, 0, 0] + PLACE * LENGTH * up + (WIDTH / 2 + GAP + RADIUS) * out
    can, table = tt.RigidBody("can", MASS, inertia=MASS * RADIUS**2 / 2), tt.RigidBody("table", 0.1)
    s.connect("world", can, tt.Planar("moves"), placement=tt.Pose(centre, [[1, 0, 0], [0, 0, -1], [0, 1, 0]]))
    s.connect("world", table, tt.Prismatic("lift", axis=[0, 0, 1]), placement=tt.Pose(centre - [0, 0, RADIUS]))
    s.world.add_port("jaw", position=centre + (RADIUS + GAP) * out)
    laws = FOAM | {"tangential_stiffness": BRISTLES}
    wall = tt.Contact("wall", WIDTH / 2, on=s[f"right{int(PLACE) + 1}"], shape=tt.Shape.cylinder(RADIUS), points=POINTS, **laws)
    s.add_interaction(wall, can)
    s.close_loop(s.world.port("jaw"), can, tt.Contact("jaw", RADIUS, normal=-out, **laws))
    s.close_loop(table, can, tt.Contact("stand", RADIUS, **laws))
    return s


def motion(t: float) -> tuple[float, float, float]:
    """Return where the slider is, its rate and acceleration (m, m/s, m/s^2): in, out and back again, from rest."""
    rate = 2 * np.pi / PERIOD
    s, c = np.sin(rate * t), np.cos(rate * t)
    # s^3 begins with neither rate nor acceleration
    return STROKE * s**3, 3 * STROKE * rate * s * s * c, 3 * STROKE * rate**2 * s * (2 * c * c - s * s)


def held(model: tt.Model, place: float, near: tt.OperatingPoint | None = None) -> tt.OperatingPoint:
    """Return the equilibrium with the slider held at a place (m), next to another one if given; its force is found."""
    unknowns = [name for name in model.coordinate_names if name != "slider"]
    guess = model.neutral() if near is None else near.q.copy()
    guess[0] = place
    return tt.trim(model, [*unknowns, "slider.tau"], q=guess)


def openings(model: tt.Model, places: Array) -> list[tt.OperatingPoint]:
    """Return the equilibria at places (m) of the slider, each sought from the one before, from the middle to both ends."""
    points = {0.0: held(model, 0.0)}
    for outwards in (np.sort(places[places > 0]), np.sort(places[places < 0])[::-1]):
        before = points[0.0]
        for place in outwards:
            before = points[float(place)] = held(model, place, before)
    return [points[float(place)] for place in places]


def family(model: tt.Model, points: list[tt.OperatingPoint]) -> tt.LPVModel:
    """Return the linear models about equilibria, the slider held: from forces on the right wall to its place."""

    def wall(q: Array, v: Array, a: Array, u: Array) -> Array:
        return model.pose("right3.level", q)[1]

    places = {"slider.q": [point.q[0] for point in points]}
    return tt.lpv(model, places, points, inputs=["right3.level.F"], outputs=[("wall", wall)], hold=["slider"])


def simulate(model: tt.Model, duration: float, **options: Any) -> tt.Trajectory:
    """Let the slider move, from the equilibrium; 50 states a second."""
    start, times = held(model, 0.0), np.linspace(0.0, duration, round(50 * duration) + 1)
    given = {"method": tt.GeneralizedAlpha(0.5), "rtol": 1e-3, "atol": 1e-6, "max_step": PERIOD / 125} | options
    return tt.simulate(model, times, start.q, np.zeros(model.nv), prescribed={"slider": motion}, **given)


def ramp(t: float, between: tuple[float, float], height: float) -> tuple[float, float, float]:
    """Return what rises from zero to a height between two times (s), its rate and acceleration: a polynomial of degree 5."""
    span = between[1] - between[0]
    s = float(np.clip((t - between[0]) / span, 0.0, 1.0))
    place, rate, bend = s**3 * (10 - 15 * s + 6 * s * s), 30 * (s * (1 - s)) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
    return height * place, height * rate / span, height * bend / span**2


def grasp(model: tt.Model, times: Array, **options: Any) -> tt.Trajectory:
    """Let the finger close on the cylinder, and the table sink; from the equilibrium in which it stands there."""
    unknowns = [name for name in model.coordinate_names if name not in HELD]
    start = tt.trim(model, [*unknowns, "slider.tau", "lift.tau"], q=model.configuration({"moves.y": -2e-4}))
    moves = {"slider": lambda t: ramp(t, CLOSING, CLOSED), "lift": lambda t: ramp(t, SINKING, SUNK)}
    given = {"method": tt.GeneralizedAlpha(0.5), "rtol": 1e-3, "atol": 1e-6} | options
    return tt.simulate(model, times, start.q, np.zeros(model.nv), x0=start.x, prescribed=moves, **given)


def lines(model: tt.Model, q: Array) -> list[Array]:
    """Return the axis of every rod (11 x 3, m)."""
    rods = {name: block.length for name, block in model.mechanism.assembly.blocks.items() if isinstance(block, tt.Rod)}
    return [model.section_poses(name, np.linspace(0.0, length, 11), q)[1] for name, length in rods.items()]


def gripped(model: tt.Model, run: tt.Trajectory) -> tt.OperatingPoint:
    """Return the equilibrium next to where a grasp has come to rest: friction holds the cylinder, as bristles are bent."""
    unknowns = [name for name in model.coordinate_names if name not in HELD]
    return tt.trim(model, [*unknowns, "slider.tau", "lift.tau"], q=run.q[-1], x=run.x[-1])


def stiffness(model: tt.Model, point: tt.OperatingPoint) -> Array:
    """Return how stiff (3, 3) the grasp is against forces along x and z and a torque about -y, slider and table held.

    Of the linear model at rest, in which bristles follow: accelerations vanish, loops stay closed, what is held stays.
    """
    held, moved = ([model.coordinate_names.index(name) for name in names] for names in (HELD, MOVED))
    by_q, _, by_effort = point.forward_derivatives
    fixed = np.vstack([model.closure_jacobian(point.q), np.eye(model.nv)[held]])
    rows = np.block([[by_q, by_effort[:, held]], [fixed, np.zeros((len(fixed), len(held)))]])
    loads = np.vstack([by_effort[:, moved], np.zeros((len(fixed), len(moved)))])
    sizes = np.linalg.norm(rows, axis=1)[:, None]
    return np.linalg.inv(-np.linalg.lstsq(rows / sizes, loads / sizes)[0][moved])


def draw(run: tt.Trajectory, points: list[tt.OperatingPoint], held: tt.OperatingPoint, output: str) -> None:
    """Draw the finger at rest at several openings and in the grasp, the slider's force there, and forces of a grasp."""
    free, model, places = points[0].model, run.model, [point.q[0] for point in points]
    figure = plt.figure(figsize=(8.4, 5), layout="constrained")
    grid = figure.add_gridspec(2, 3, width_ratios=(1.0, 1.0, 1.2))
    shape, closed = figure.add_subplot(grid[:, 0]), figure.add_subplot(grid[:, 1])
    force, carried = figure.add_subplot(grid[0, 2]), figure.add_subplot(grid[1, 2])
    for axes, drawn in ((shape, ((0, "C0"), (len(points) // 2, "0.4"), (-1, "C3"))), (closed, ())):
        for k, colour in drawn:
            for line in lines(free, points[k].q):
                axes.plot(1e3 * line[:, 0], 1e3 * line[:, 2], colour, linewidth=1)
        axes.set(xlabel="x [mm]", aspect="equal", xlim=(-45, 65), ylim=(-5, 185))
    shape.set(ylabel="z [mm]", title="opened and closed")
    closed.set(title="a grasp")
    for line in lines(model, held.q):
        closed.plot(1e3 * line[:, 0], 1e3 * line[:, 2], "C3", linewidth=1)
    for q, style in ((run.q[0], ":"), (held.q, "-")):
        rotation, place = model.pose("can", q)
        angles = np.linspace(0.0, 2.0 * np.pi, 61)
        edge = place + RADIUS * np.column_stack([np.cos(angles), np.sin(angles), 0 * angles]) @ rotation.T
        closed.plot(1e3 * edge[:, 0], 1e3 * edge[:, 2], "C0", linestyle=style)
    jaw, along = model.pose("world.jaw", held.q)[1], frames()[1]
    ends = np.array([jaw - 0.04 * along, jaw + 0.04 * along])
    closed.plot(1e3 * ends[:, 0], 1e3 * ends[:, 2], "0.3", linewidth=3)
    force.plot(1e3 * np.array(places), [point.tau[0] for point in points], "o-", markersize=3)
    force.set(xlabel="slider [mm]", ylabel="force of the slider [N]")
    for name, colour in (("wall", "C3"), ("jaw", "0.3"), ("stand", "C2")):
        size = np.linalg.norm(run.contacts(name).force.sum(axis=1), axis=1)
        carried.plot(run.t, size, colour, label=name)
    carried.set(xlabel="t [s]", ylabel="force on the cylinder [N]")
    carried.set_ylim(0, 0.65)
    carried.legend(fontsize="small", loc="upper right", ncols=3, columnspacing=1)
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, list[tt.OperatingPoint], tt.Trajectory, tt.OperatingPoint]:
    """Find the finger's equilibria, move it, let it grasp, and draw it."""
    parser = argparse.ArgumentParser(description="A fin-ray finger moved by a slider.")
    parser.add_argument("--output", default="fin_ray_finger.png")
    parser.add_argument("--duration", type=float, default=10.0, help="simulated time, s")
    parser.add_argument("--animation", help="where to write an animation of the grasp, as .html")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    rank, count = model.closure_rank(model.neutral()), len(model.constraint_names)
    print(f"{model.nv} coordinates, {rank} of {count} constraints independent")
    points = openings(model, np.linspace(-STROKE, STROKE, 9))
    for point in points[::4]:
        print(f"slider at {1e3 * point.q[0]:6.1f} mm: held by {point.tau[0]:7.3f} N, tip at "
              f"{np.round(1e3 * model.pose('left6.tip', point.q)[1][[0, 2]], 3)} mm")  # fmt: skip
    models = family(model, points)
    for k in (0, 4, 8):
        place = points[k].q[0]
        member, slowest = models.at({"slider.q": place}), min(models.eigenvalues[k], key=abs)
        ratio, stiff = -slowest.real / abs(slowest), 1 / member.dcgain()[0, 0]
        print(f"slider held at {1e3 * place:4.1f} mm: {abs(slowest) / (2 * np.pi):.2f} Hz, damping ratio {ratio:.3f}; "
              f"a force on the right wall meets {stiff:.0f} N/m")  # fmt: skip
    run = simulate(model, arguments.duration)
    open_by = max(np.abs(model.closure_error(q)).max() for q in run.q[::50])
    print(f"{arguments.duration:g} s: {run.statistics['steps']:.0f} steps, loops open by at most {open_by:.1e} (m, rad)")
    grasped = grasp(build_grasp().resolve(), np.linspace(0.0, 10.0, 501))
    held = gripped(grasped.model, grasped)
    print(f"grasp: {grasped.statistics['steps']:.0f} steps; {held.stability}; held by {held.tau[0]:.3f} N on the slider")
    stiff = stiffness(grasped.model, held)
    print(f"stiffness against forces along x and z: {stiff[0, 0]:.0f} and {stiff[1, 1]:.0f} N/m")
    draw(grasped, points, held, arguments.output)
    if arguments.animation:
        can = {"cylinder": [RADIUS, HEIGHT], "color": "#3a7"}
        grasped.animate(arguments.animation, {"can": can})
    return run, points, grasped, held


if __name__ == "__main__":
    main()
