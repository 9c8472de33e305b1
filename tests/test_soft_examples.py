"""The deformable bodies of ``examples/``: what they find is right."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.example_scripts import script
from tests.planar_frame import Frame


def test_soft_free_evolution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PCC and PCS: the other two have kinematics whose derivatives take minutes to compile.

    The balance of all four is in ``tests/solvers/simulation/test_soft_energy.py``.
    """
    example = script("soft_free_evolution")
    arguments = ["--output", str(tmp_path / "figure.png"), "--duration", "1", "--cases", "PCC", "PCS"]
    runs = example["main"](arguments)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("balanced within") == 2
    _, weights = example["times"](1.0)
    for run in runs.values():
        dissipated, rest = example["balance"](run, weights)
        assert abs(rest) < 1e-6  # a thousand steps with a relative error of 1e-8 or less, of some 16 J
        assert dissipated > 10.0
        assert np.abs(run.q[-1] - run.q[0]).max() > 1.0


def test_steady_states_of_the_soft_arm() -> None:
    """PCC is PCS without torsion and shear: they hang with the same tip but for these, and the arm's weight is held."""
    example = script("soft_free_evolution")
    tt, tips = example["tt"], []
    for name in ("PCC", "PCS"):
        model = example["build"](example["CASES"][name]).resolve()
        point = tt.trim(model, q={"lower.bending_x": -1.5})
        assert point.stability == "stable"
        tips.append(model.pose("upper.tip", point.q)[1])
        bending = model.reaction("lower_clamp", point.q, point.v, np.zeros(model.nv))
        mass = 2 * example["DENSITY"] * np.pi * 0.01**2 * example["LONG"]
        assert np.linalg.norm(bending[:3]) == pytest.approx(9.81 * mass, rel=1e-9)
    assert tips[0][0] == pytest.approx(0.0, abs=1e-9)
    # shear gives way by some weight over shear stiffness, 1e-4 of the length
    assert np.abs(tips[0] - tips[1]).max() < 1e-3


def test_soft_pneumatic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_pneumatic")
    run = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "1"])
    assert capsys.readouterr().out.count("bent by") == 3
    model, radius, length = run.model, example["RADIUS"], example["LENGTH"]
    bodies = run.q[-1].reshape(3, 4)
    assert bodies[0, 2] < -0.5 < 0.5 < bodies[1, 2]  # away from the chamber under pressure
    assert bodies[0, 0] > 0.003 > 0 > bodies[0, 1]  # which bulges, and the other one is squeezed

    # at rest the potential less pressures times volumes is stationary, with volumes by images of their surfaces' points
    moved, cavities = example["kinematics"](), [example["chamber"](side) for side in (1.0, -1.0)]
    assert cavities[0].volumes.sum() == pytest.approx(length * np.pi * (radius - example["WALL"]) ** 2 / 2)
    q = example["tt"].trim(model, q=run.q[-1], u=example["PRESSURES"]).q
    direction = np.random.default_rng(0).normal(size=12) * np.tile([1e-3, 1e-3, 0.1, 1e-3], 3)

    def image(points: Any, own: Any) -> Any:
        return np.array(moved(points.T, own)).T

    def volume(cavity: Any, own: Any) -> Any:
        place, first, second, apex = np.split(cavity.surface[:, :12], 4, axis=1)
        steps = [1e-5 / np.linalg.norm(part, axis=1, keepdims=True).clip(1e-12) * part for part in (first, second)]
        along = [
            (image(place + step, own) - image(place - step, own)) * np.linalg.norm(part, axis=1, keepdims=True) / 2e-5
            for part, step in zip((first, second), steps, strict=True)
        ]
        across = along[1] + cavity.surface[:, 12:] * image(apex, own)
        return np.linalg.det(np.stack([image(place, own), along[0], across], axis=1)).sum()

    def inside(cavity: Any, own: Any) -> Any:
        ahead, behind = (np.array([image(cavity.points + 1e-5 * s * row, own) for row in np.eye(3)]) for s in (1, -1))
        return np.linalg.det((ahead - behind).transpose(1, 0, 2) / 2e-5) @ cavity.volumes

    for cavity in cavities:
        # twelve Gauss points along steep bumps leave a thousandth
        assert volume(cavity, q[:4]) == pytest.approx(inside(cavity, q[:4]), rel=5e-3)

    def work(s: float) -> Any:
        volumes = [volume(cavity, own) for own in (q + s * direction).reshape(3, 4) for cavity in cavities]
        return example["PRESSURES"] @ np.array(volumes)

    def potential(s: float) -> Any:
        return sum(model.energy(q + s * direction, np.zeros(12))[1:])

    given, held = ((f(1e-3) - f(-1e-3)) / 2e-3 for f in (work, potential))
    assert abs(given) > 0.1
    assert given == pytest.approx(held, rel=1e-5)  # differences of second order, at a thousandth of how far they bend


def test_soft_shape_regulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_shape_regulation")
    runs = example["main"](["--output", str(tmp_path / "figure.png"), "--hold", "3"])
    assert capsys.readouterr().out.count("within 2 %") == 3
    for regulator, run in runs:
        assert np.abs(run.q[-1] - regulator.shape).max() < 1e-4  # the slowest oscillation has gone through ten time constants
        energy = [regulator.energy(run.model, q, v) for q, v in zip(run.q, run.v, strict=True)]
        assert energy[0] > 1.0
        assert np.diff(energy).max() < 1e-6 * energy[0]  # steps with a relative error of 1e-6
        assert min(energy) > -1e-6 * energy[0]
    # PD control alone does not hold the shape: its efforts are far from those that the shape takes
    assert np.abs(runs[0][0].held).max() > 10 * example["PROPORTIONAL"] * np.abs(example["SHAPES"][0]).max()


@pytest.fixture(scope="module")
def helicoid(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Any]:
    """Return the example of the helicoids, and what it finds in a second."""
    example, picture = script("soft_helicoid"), tmp_path_factory.mktemp("pictures") / "figure.png"
    run = example["main"](["--output", str(picture), "--duration", "1"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    return example, run


def shorter_by(model: Any, q: Any) -> Any:
    """Return what the helicoids' tendons, as they measure themselves, are shorter by than at rest (9)."""
    tendons = [loop.closure for loop in model.mechanism.interactions]
    return np.array([np.subtract(*tendon.measure(np.array([0 * q, q])[:, : tendon.path.size])) for tendon in tendons])


def test_soft_helicoid(helicoid: tuple[dict[str, Any], Any]) -> None:
    example, run = helicoid
    motion, law, model = run.motion, run.law, run.motion.model
    work, left = example["balance"](run)
    assert work > 0.1
    assert abs(left) < example["TOLERANCE"] * work
    assert example["volume_change"](motion) < 1e-10
    assert model.mechanism.assembly.blocks["upper"].mass == pytest.approx(960 * 3 * 0.003 * 0.012 * 0.1, rel=1e-12)

    # tendons that hang loose would have to push at first, and then never
    assert motion.u.min() >= 0.0
    early = motion.t < 0.05
    assert (motion.u[early] == 0).any()
    assert motion.u[~early].min() > 0.1

    # from then on e'' + 20 e' + 100 e = 0; steps of relative tolerance 1e-4, and differences of A, at lengths of 0.3 m
    t, q, v = (values[~early][::4] for values in (motion.t, motion.q, motion.v))
    found = np.array([law.reference(at) - shorter_by(model, own) for at, own in zip(t, q, strict=True)])
    since, pole = (t - t[0])[:, None], np.sqrt(example["PROPORTIONAL"])
    assert example["DAMPING"] == 2 * pole
    slope = law.reference(t[0], 1) - model.actuation_rows(q[0]) @ v[0] + pole * found[0]
    assert np.abs(found - (found[0] + slope * since) * np.exp(-pole * since)).max() < 3e-5
    assert np.abs(found[0]).max() > 0.03


def test_statics_of_the_helicoids(helicoid: tuple[dict[str, Any], Any]) -> None:
    """They rest where tips are on the circles, with tendons that pull; on key P's circles some would have to push."""
    example, run = helicoid
    model = run.motion.model
    still = np.zeros(model.nv)
    for t, x in zip(np.linspace(0.0, example["PERIOD"], len(run.equilibria)), run.equilibria, strict=True):
        q, u = np.split(x, [model.nv])
        assert np.abs(model.inverse_dynamics(q, still, still, u=u)).max() < 1e-8  # of moments around 0.1 N m
        assert np.abs(example["tips"](model, q) - example["circles"](t)).max() < 1e-8
        assert u.min() > 1.0
    q = run.equilibria[0, : model.nv]
    np.testing.assert_allclose(example["shortening"](model, q), shorter_by(model, q), atol=1e-8)  # three points of an integral

    x, start = np.zeros(model.nv + model.nu), example["tips"](model, still)
    theirs = np.array([[0.02, 0, -0.08], [0.025, 0, -0.15], [0.03, 0, -0.24]]).ravel()
    for part in np.linspace(0.1, 1.0, 10):
        x = example["equilibrium"](model, start + part * (theirs - start), x)
    assert x[model.nv :].min() < -10.0


def test_law_of_the_helicoids(helicoid: tuple[dict[str, Any], Any]) -> None:
    """It is that of key P, simulation 1, in coordinates (y, z): what tendons are shorter by, and the twists."""
    example, run = helicoid
    model, q, v = run.motion.model, run.equilibria[1, :12], 0.1 * np.random.default_rng(0).normal(size=12)
    ahead = example["shortening"](model, q) + 1e-3

    def reference(t: float, order: int = 0) -> Any:
        return (ahead, np.full(9, 0.02), np.full(9, 0.3))[order]

    onto, turn = np.vstack([model.actuation_rows(q), np.eye(12)[1::4]]), np.zeros((12, 12))
    wanted = 0.3 + example["DAMPING"] * (0.02 - onto[:9] @ v) + example["PROPORTIONAL"] * 1e-3
    for row, loop in enumerate(model.mechanism.interactions):
        n = loop.closure.path.size
        turn[row, :n] = -loop.closure.path.hessian(q[:n]) @ v[:n]
    back = np.linalg.inv(onto)
    mass = back.T @ model.mass_matrix(q) @ back
    rest = back.T @ model.inverse_dynamics(q, v, np.zeros(12)) - mass @ turn @ v
    carried = mass[:9, 9:] @ np.linalg.inv(mass[9:, 9:])
    tensions = (mass[:9, :9] - carried @ mass[9:, :9]) @ wanted + rest[:9] - carried @ rest[9:]
    assert tensions.min() > 0.1
    found = example["Tracking"](model, reference)(0.0, q, v)
    np.testing.assert_allclose(found, tensions, rtol=1e-5)  # differences of A over a millionth of a second
    still = example["Tracking"](model, reference)(0.0, q, 0 * v)
    assert np.abs(still / tensions - 1.0).max() > 1e-3


def test_soft_gripper_on_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_gripper_on_arm")
    control, run, weights = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "fingers: bent by" in capsys.readouterr().out
    model, joints, rod = run.model, example["JOINTS"], example["ROD"]
    path = np.array([example["cubic"](t, 0.0, 3.0)[0] for t in run.t])[:, None] * example["REACHED"]
    assert np.abs(run.q[:, joints] - path).max() < 1e-6  # what the integrator is asked for
    assert np.abs(run.q[-1, rod] - example["SWUNG"]).max() < 1e-4  # a second after it is to be there
    assert np.abs(run.q[run.t < 3.0, rod] - control.hanging).max() > 0.5
    assert (run.q[-1, rod.stop + 1 :: 2] > 0.3).all()
    assert run.u.min() >= 0.0
    assert not run.u[run.t < 3.0].any()
    assert not run.tau[:, rod.start :].any()
    work, left = example["balance"](run, weights)
    assert work > 50.0
    assert abs(left) < 1e-6 * work  # steps of relative tolerance 1e-6
    for k, name in enumerate(example["FINGERS"]):
        own = slice(rod.stop + 2 * k, rod.stop + 2 * k + 2)
        assert np.abs(model.mechanism.assembly.blocks[name].volume_ratios(run.q[::40, own]) - 1.0).max() < 1e-10

    # the robot alone would take other torques: it does not carry half a kilogram as far out as it reaches
    robot, start = example["tt"].load(example["ROBOT"]).resolve(), run.q[0]
    alone = robot.inverse_dynamics(start[joints], np.zeros(6), run.a[0, joints])
    assert run.tau[0, 1] - alone[1] < -5.0


def test_ur10e() -> None:
    """Its flange at zero is where the manufacturer's Denavit-Hartenberg lengths have it, to their millimetre."""
    example = script("soft_gripper_on_arm")
    model = example["tt"].load(example["ROBOT"]).resolve()
    rotation, position = model.pose("wrist_3_link", np.zeros(6))
    flange = position + rotation @ [0.0, 0.117, 0.0]
    a2, a3, d1, d4, d5, d6 = -0.613, -0.571, 0.181, 0.174, 0.120, 0.117
    np.testing.assert_allclose(np.abs(flange), [-a2 - a3, d4 + d6, d1 - d5], atol=1e-9)
    assert sum(model.mechanism.assembly.blocks[name].mass for name in model.body_names) == pytest.approx(33.104, rel=1e-12)


def frame_of_the_finger(example: dict[str, Any], count: int, place: float) -> tuple[float, Any]:
    """Return the slider's force (N) and where the tip is (m), of a plane frame with so many beam elements a rod."""
    frame = Frame(example["YOUNG"], example["YOUNG"] / 2 / (1 + example["POISSON"]))
    levels, half = example["LEVELS"], example["BASE"] / 2
    high = np.sqrt((levels * example["LENGTH"]) ** 2 - half**2)
    feet = {side: frame.node(np.array([side * half, 0.0])) for side in (-1, 1)}
    tip, below, density = frame.node(np.array([0.0, high])), dict(feet), example["DENSITY"]
    for k in range(1, levels + 1):
        left = 1 - k / levels
        ends = {side: frame.node(np.array([side * half * left, high * (1 - left)])) if left else tip for side in (-1, 1)}
        for side in (-1, 1):
            frame.beam(below[side], ends[side], (example["HEIGHT"], example["WIDTH"]), density, count)
        if left:
            pins = [frame.hinged(ends[side]) for side in (-1, 1)]
            frame.beam(pins[0], pins[1], (example["RIB_HEIGHT"], example["WIDTH"]), density, count)
        below = ends
    given = dict.fromkeys((*feet[-1], *feet[1]), 0.0)
    given[feet[-1][0]] = place
    x, held = frame.at_rest(given)
    return held[feet[-1][0]], x[tip[:2]]


@pytest.fixture(scope="module")
def finger() -> tuple[dict[str, Any], Any]:
    """Return the example, and the finger's model: resolving it warns of nothing."""
    example = script("fin_ray_finger")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return example, example["build"]().resolve()


@pytest.mark.parametrize("place", [-0.006, 0.006])
def test_fin_ray_finger_rests_as_a_frame_does(finger: tuple[dict[str, Any], Any], place: float) -> None:
    """Errors of four and eight elements a rod are as 4 to 1, and extrapolated away.

    What is left is below 1e-4, some of it of bending that is linear along each rod.
    """
    example, model = finger
    point = example["held"](model, place)
    (coarse, at_coarse), (fine, at_fine) = (frame_of_the_finger(example, count, place) for count in (4, 8))
    assert point.tau[0] == pytest.approx(fine + (fine - coarse) / 3, rel=1e-4)
    tip = model.pose("left6.tip", point.q)[1][[0, 2]]
    assert tip == pytest.approx(at_fine + (at_fine - at_coarse) / 3, abs=1e-6)
    assert abs(tip[0] - place / 2) < 1e-6 < 1e-5 < abs(fine - coarse), "a tip that moves, and elements that are few"


def test_fin_ray_finger(tmp_path: Path, capsys: pytest.CaptureFixture[str], finger: tuple[dict[str, Any], Any]) -> None:
    example, model = finger
    arguments = ["--output", str(tmp_path / "figure.png"), "--duration", "0.5", "--animation", str(tmp_path / "grasp.html")]
    run, points, grasped, held = example["main"](arguments)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "grasp.html").stat().st_size > 1e4
    assert "74 coordinates, 13 of 31 constraints independent" in capsys.readouterr().out
    np.testing.assert_allclose(held.q, grasped.q[-1], rtol=0, atol=1e-4)  # it has come to rest, to its tolerances
    assert [point.q[0] for point in points] == pytest.approx(np.linspace(-0.006, 0.006, 9))
    motion = np.array([example["motion"](t) for t in run.t])
    assert np.abs(np.column_stack([run.q[:, 0], run.v[:, 0], run.a[:, 0]]) - motion).max() < 1e-12  # imposed

    # the other integrator, at a hundredth of the tolerance, and closures without redundant constraints
    tt, times, still = example["tt"], run.t[:16], np.zeros(model.nv)
    given = {"prescribed": {"slider": example["motion"]}, "method": "Radau", "rtol": 1e-5, "atol": 1e-8}
    other = tt.simulate(example["build"](redundant=False).resolve(), times, run.q[0], still, **given)
    tips = [np.array([each.model.pose("left6.tip", q)[1] for q in each.q[:16]]) for each in (run, other)]
    assert np.ptp(tips[0][:, 0]) > 5e-4
    assert np.abs(tips[0] - tips[1]).max() < 1e-6  # atol; one thousandth of the way

    # bending that is quadratic, elongation and shear that are linear along the rods
    finer = example["build"](2).resolve()
    rough = example["simulate"](finer, 0.3)
    assert np.abs(np.array([finer.pose("left6.tip", q)[1] for q in rough.q]) - tips[0]).max() < 5e-6


def test_linear_models_of_the_fin_ray_finger(finger: tuple[dict[str, Any], Any]) -> None:
    """What a force on the wall meets, and the slider's stiffness, as differences of equilibria say."""
    example, model = finger
    tt, point, step = example["tt"], example["held"](model, 0.004), 1e-4
    ahead, behind = (example["held"](model, 0.004 + s * step, point) for s in (1, -1))
    linear = tt.linearize(model, point, inputs=["slider"], outputs=["slider.q"])
    # truncation: 1e-4 of a millimetre-sized nonlinearity, squared
    assert 1 / linear.dcgain() == pytest.approx((ahead.tau[0] - behind.tau[0]) / (2 * step), rel=1e-4)
    assert linear.nstates == 2 * (74 - 13)

    family = example["family"](model, [behind, point, ahead])
    gain = family.at({"slider.q": 0.004}).dcgain()[:, 0]
    unknowns = [*(name for name in model.coordinate_names if name != "slider"), "slider.tau"]
    pushed = [tt.trim(model, unknowns, q=point.q, wrenches={"right3.level": [s * 1e-2, 0, 0, 0, 0, 0]}).q for s in (1, -1)]
    places = [model.pose("right3.level", q)[1] for q in pushed]
    moved = (places[0] - places[1]) / 2e-2
    assert gain == pytest.approx(moved, rel=1e-4, abs=1e-4 * np.abs(moved).max())


@pytest.fixture(scope="module")
def grasp(finger: tuple[dict[str, Any], Any]) -> tuple[dict[str, Any], Any, Any]:
    """Return the example, a grasp until it holds, and its equilibrium."""
    example = finger[0]
    run = example["grasp"](example["build_grasp"]().resolve(), np.linspace(0.0, 5.0, 101))
    return example, run, example["gripped"](run.model, run)


def test_friction_holds_what_the_finger_grasps(grasp: tuple[dict[str, Any], Any, Any]) -> None:
    example, run, point = grasp
    model, (_, up) = run.model, example["frames"]()
    touching = {name: model.contacts(point.q, point.v, name, x=point.x) for name in ("wall", "jaw", "stand")}
    turn = model.pose("can", point.q)[0]
    by_wall, by_jaw = -turn @ touching["wall"].force.sum(axis=0), touching["jaw"].force.sum(axis=0)
    weight = example["MASS"] * 9.81
    np.testing.assert_allclose(by_wall + by_jaw, [0, 0, weight], rtol=0, atol=1e-7)  # the search's tolerance, of 0.3 N
    assert touching["stand"].gap.min() > 0.01, "the table is away"
    assert by_jaw @ up > 0.2 * weight, "the jaw carries by friction alone"
    assert by_wall @ up > 0.2 * weight
    reach = example["FOAM"]["friction"] / example["BRISTLES"]
    assert 0.1 * reach < np.abs(point.x).max() < reach, "bristles are bent, and hold"
    assert point.stability in ("stable", "neutral")


def test_stiffness_of_the_grasp(grasp: tuple[dict[str, Any], Any, Any]) -> None:
    """Of the linear model, and between equilibria under small loads; friction holds both."""
    example, run, point = grasp
    model, tt = run.model, example["tt"]
    unknowns = [*(name for name in model.coordinate_names if name not in ("slider", "lift")), "slider.tau", "lift.tau"]
    loads, where = (1e-4, 1e-4, 1e-6), [model.coordinate_names.index(f"moves.{name}") for name in ("x", "y", "theta")]
    columns = []
    for load, k in zip(loads, where, strict=True):
        ends = []
        for sign in (1, -1):
            tau = point.tau.copy()
            tau[k] += sign * load
            ends.append(tt.trim(model, unknowns, q=point.q, x=point.x, tau=tau).q[where])
        columns.append((ends[0] - ends[1]) / (2 * load))
    found, expected = example["stiffness"](model, point), np.linalg.inv(np.array(columns).T)
    sizes = np.sqrt(np.abs(np.diag(expected)))
    # truncation of central differences, which is of second order: 7e-7, and 7e-5 of loads ten times as large
    np.testing.assert_allclose(found / np.outer(sizes, sizes), expected / np.outer(sizes, sizes), rtol=0, atol=1e-5)


def test_another_integrator_grasps_alike(grasp: tuple[dict[str, Any], Any, Any]) -> None:
    example, run, _ = grasp
    model, count = run.model, 21
    other = example["grasp"](model, run.t[:count], method="Radau")
    places = [[model.pose("can", q)[1] for q in each.q[:count]] for each in (run, other)]
    # of steps with errors of 1e-6 m each, and a cylinder that rolls half a millimetre
    assert np.abs(np.array(places[0]) - places[1]).max() < 5e-6
    assert np.ptp(np.array(places[0])[:, 0]) > 3e-4
