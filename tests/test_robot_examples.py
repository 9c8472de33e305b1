"""The robots and soft rods of ``examples/``: what they find is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import brentq

import titop as tt
from tests.example_scripts import EXAMPLES, script
from tests.systems import Array

#: Of the energy that turns over, what is left unexplained: implicit steps at 1e-9, and six Gauss points on every 10 ms.
BALANCED = 1e-8


def gauss_times(panels: int) -> tuple[Array, Array]:
    """Return times (s) and weights of Gauss quadrature over panels of 10 ms; both ends with weight zero."""
    points, weights = np.polynomial.legendre.leggauss(6)
    inner = [0.01 * (k + (1 + points) / 2) for k in range(panels)]
    return np.concatenate([[0], *inner, [0.01 * panels]]), np.concatenate([[0], *[0.005 * weights] * panels, [0]])


def loss(trajectory: Any, rods: dict[str, Any]) -> Array:
    """Return the power (n; W, not positive) of the rods' damping."""
    model, power = trajectory.model, np.zeros(len(trajectory.t))
    for name, rod in rods.items():
        q = [model.configuration_names.index(f"{name}.{coordinate}") for coordinate in rod.coordinates]
        v = [model.coordinate_names.index(f"{name}.{coordinate}") for coordinate in rod.coordinates]
        states = zip(trajectory.q[:, q], trajectory.v[:, v], strict=True)
        power += [rod.damping_efforts(own_q, own_v) @ own_v for own_q, own_v in states]
    return power


def assert_balanced(trajectory: Any, weights: Array, power: Array, lost: Array) -> None:
    """Check that what the energy gains is the work of `power` less what is `lost`, and that the loss counts."""
    energy = trajectory.energy().sum(axis=1)
    gained, work, dissipated = energy[-1] - energy[0], weights @ power, weights @ lost
    size = max(abs(gained), abs(work))
    assert abs(gained - work - dissipated) < BALANCED * size
    assert abs(gained - work) > 1e4 * BALANCED * size


def test_hybrid_serial_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("hybrid_serial_robot")
    trajectory = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "0.5"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "the shoulder, joint2, holds" in capsys.readouterr().out
    model, joints = trajectory.model, example["JOINTS"]
    assert model.nv == 27

    # at rest the shoulder holds the moment of all weights beyond it, of links at their middles and of the rod's sections
    point = example["rest"](model)
    links, _ = example["shape"](model, point.q)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    along = example["LENGTH"] * (1 + nodes) / 2
    base, tip = example["RADII"]
    radii = base + (tip - base) * along / example["LENGTH"]
    masses = example["DENSITY"] * np.pi * radii**2 * weights * example["LENGTH"] / 2
    rotation, flange = model.pose("rod", point.q)
    places = flange + example["hand"]().section_poses(point.q[7:], along)[1] @ rotation.T
    moment = masses @ places[:, 0]
    middles = (links[1:-1, 0] + links[2:, 0]) / 2
    moment += example["LINEAR_DENSITY"] * np.array(example["LINKS"][1:]) @ middles
    # five Gauss points have the weight of a rod that bends so far, and its poses, to some 1e-4 of it
    assert point.tau[1] == pytest.approx(-9.81 * moment, rel=1e-3)

    # every prescribed motion is kept, and the efforts that it takes move the arm as it is prescribed
    for k, name in enumerate(joints):
        motion = example["swing"](example["HOME"][k], example["SWING"][k], example["PERIODS"][k])
        expected = np.array([motion(t) for t in trajectory.t]).T
        found = (trajectory.coordinate(name), trajectory.v[:, k], trajectory.a[:, k])
        assert np.abs(np.array(found) - expected).max() < 1e-12  # imposed, not integrated
    for q, v, a, tau in zip(trajectory.q, trajectory.v, trajectory.a, trajectory.tau, strict=True):
        accelerations, efforts = model.hybrid_dynamics(q, v, np.zeros(27), a, prescribed=joints)
        assert efforts == pytest.approx(tau, abs=1e-9)
        # rounding, times what the mass matrix' condition makes of it
        assert model.forward_dynamics(q, v, efforts) == pytest.approx(accelerations, rel=1e-7, abs=1e-7)


def test_free_joints_follow_the_efforts_of_a_prescribed_motion() -> None:
    example = script("hybrid_serial_robot")
    tt, joints = example["tt"], example["JOINTS"]
    model, t = example["build"]().resolve(), np.linspace(0, 0.2, 5)
    prescribed = example["simulate"](model, t, "Radau", rtol=1e-6, atol=1e-9)
    motions = [example["swing"](*each) for each in zip(example["HOME"], example["SWING"], example["PERIODS"], strict=True)]

    def efforts(time: float, q: Array, v: Array) -> Array:
        a = np.concatenate([[motion(time)[2] for motion in motions], np.zeros(20)])
        return model.hybrid_dynamics(q, v, np.zeros(27), a, prescribed=joints)[1]

    start = prescribed.q[0], np.zeros(27)
    free = tt.simulate(model, t, *start, tau=efforts, method="Radau", rtol=1e-6, atol=1e-9)
    assert np.abs(prescribed.q[-1] - prescribed.q[0]).max() > 0.01
    assert np.abs(free.q - prescribed.q).max() < 1e-6  # tolerances of 1e-6 of 1 rad
    without = tt.simulate(model, t, *start, tau=prescribed.tau[0], method="Radau", rtol=1e-6, atol=1e-9)
    assert np.abs(without.q - prescribed.q).max() > 1e-3


def test_energy_of_the_serial_robot_is_balanced() -> None:
    example = script("hybrid_serial_robot")
    t, weights = gauss_times(5)
    trajectory = example["simulate"](example["build"]().resolve(), t, "Radau", rtol=1e-9, atol=1e-12)
    power = np.einsum("tj,tj->t", trajectory.tau, trajectory.v)
    assert_balanced(trajectory, weights, power, loss(trajectory, {"rod": example["hand"]()}))


def test_hybrid_parallel_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("hybrid_parallel_robot")
    trajectory = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "0.5"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "hanging the robot is stable, upright unstable" in capsys.readouterr().out
    model = trajectory.model
    assert (model.nv, len(model.constraint_names), model.closure_rank(trajectory.q[0])) == (63, 10, 10)
    for q, v in zip(trajectory.q, trajectory.v, strict=True):
        assert np.abs(model.closure_error(q)).max() < 1e-12  # projected to 1e-13, for a system of size one
        jacobian = model.mechanism.engine.dynamics.constraints(q, v).jacobian
        assert np.abs(jacobian @ v).max() < 1e-12 * max(1.0, np.abs(v).max())
    # feet that are hinged stay where they are, and turn about their hinges alone
    for k in (2, 3):
        rotation, place = model.pose(f"pillar{k}.tip", trajectory.q[-1])
        hinge = [np.cos(example["ANGLES"][k - 1]), np.sin(example["ANGLES"][k - 1]), 0]
        assert place == pytest.approx(example["REACH"] * np.array(hinge), abs=1e-12)
        assert rotation[:, 1] == pytest.approx(hinge, abs=1e-12)
    assert np.abs(trajectory.motion("platform")[-1, 12:15] - trajectory.motion("platform")[0, 12:15]).max() > 1e-3


def test_energy_of_the_parallel_robot_is_balanced() -> None:
    example = script("hybrid_parallel_robot")
    t, weights = gauss_times(5)
    trajectory = example["simulate"](example["build"]().resolve(), t, "Radau", rtol=1e-9, atol=1e-12)
    model = trajectory.model
    power = []
    for time, q, twist in zip(t, trajectory.q, trajectory.motion("platform")[:, 6:12], strict=True):
        push, (rotation, _) = example["wrench"](time), model.pose("platform", q)
        power.append(push[:3] @ rotation @ twist[:3] + push[3:] @ rotation @ twist[3:])
    rods = {name: example["pillar"](name) for name in ("pillar1", "pillar2", "pillar3")}
    assert_balanced(trajectory, weights, np.array(power), loss(trajectory, rods))


def test_manipulator_lpv(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("manipulator_lpv")
    members, rates, runs = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("mm in the end") == len(runs) == 3
    assert members.valid.all()
    assert np.abs(members.y[:, :2] - example["HOME"]).max() < 1e-8  # m, where Newton's method ends

    # a steady force on the tip moves it as far as the member says, nonlinear statics at plus and minus 10 mN
    tt, tip, mass = example["tt"], example["tip"], float(example["MASSES"][2])
    model = example["build"]().resolve().with_parameters({"gripper.mass": mass})
    point = example["held"](model, example["HOME"])
    inputs = dict.fromkeys(example["TENDONS"], 0.0) | dict(zip(example["TENDONS"], point.u, strict=True))
    moved = []
    for sign in (1, -1):
        wrench = {"gripper.hook": np.array([0, 0.01 * sign, 0, 0, 0, 0])}
        moved.append(tip(model, tt.trim(model, q=point.q, u=inputs, wrenches=wrench).q))
    slopes = members.at(gripper_mass=mass)(0.0).real[:, len(inputs) + 1]
    np.testing.assert_allclose((moved[0] - moved[1]) / 0.02, slopes, atol=1e-4 * np.abs(slopes).max())  # cubic in 10 mN

    # twelve states do for 48: the bound of balanced truncation, with the Gramians' values from another way
    plant = example["control"].sample_system(members.at(gripper_mass=mass), example["SAMPLE_TIME"])
    reached, seen = (solve_discrete_lyapunov(a, b @ b.T) for a, b in ((plant.A, plant.B), (plant.A.T, plant.C.T)))
    values = np.sort(np.sqrt(np.abs(np.linalg.eigvals(reached @ seen))))[::-1]
    reduced = example["balanced"](plant.A, plant.B, plant.C, example["ORDER"])
    for angle in np.geomspace(1e-3, np.pi, 20):
        turn = np.exp(1j * angle)
        whole, part = (c @ np.linalg.solve(turn * np.eye(len(a)) - a, b) for a, b, c in ((plant.A, plant.B, plant.C), reduced))
        assert np.linalg.norm(whole - part, 2) < 2 * values[example["ORDER"] :].sum()

    alone, fixed, looked_up = (runs[example[name]] for name in ("ALONE", "FIXED", "LOOKED_UP"))
    ends = [np.linalg.norm(example["errors"](run)[-25:], axis=1).max() for run in (alone, fixed, looked_up)]
    assert ends[2] < 1.5 < 20 < min(ends[:2])  # mm; of the measurements' noise of 0.3 mm some 0.3 mm come through
    for run in runs.values():
        assert run.u.min() >= 0
        assert run.u.max() <= example["LARGEST"]
        assert run.violations() == []
    assert (fixed.u == 0).mean() > 0.1  # tendons go slack, and commands are cut

    # about what holds 150 g the nonlinear rod departs under the controller of 20 g as the linear model does, step by step
    loaded = model.with_parameters({"gripper.mass": example["CARRIED"]})
    regulator, point = example["design"](members.at(gripper_mass=example["EMPTY"])), example["held"](loaded, example["HOME"])
    controller, v = regulator.controller(point.u), 1e-3 * loaded.velocity({"rod.bending_z0": 1.0})
    t = np.arange(0, 0.61, example["SAMPLE_TIME"])
    loop = {"controller": controller, "operating_point": point, "method": "Radau", "rtol": 1e-4, "atol": 1e-8}
    run = tt.simulate(loaded, t, point.q, v, **loop)
    member = tt.linearize(loaded, point, inputs=example["TENDONS"], outputs=example["TIP"])
    plant = example["control"].sample_system(member, example["SAMPLE_TIME"])
    x, z, away = np.concatenate([0 * v, 1e-12 * v]), np.zeros(len(regulator.a)), []  # so small that no tendon goes slack
    for _ in range(400):
        away.append(plant.C @ x)
        z, u = controller.update(0.0, z, away[-1], np.zeros(3))
        x = plant.A @ x + plant.B @ u
    found = np.array([tip(loaded, q) for q in run.q]) - tip(loaded, point.q)
    # of the 30 um that it moves, some 1e-3 are steps at 1e-4, and 0.5 rad/s squared
    assert np.abs(found - 1e12 * np.array(away[: len(t)])).max() < 5e-3 * np.abs(found).max()
    sizes = np.linalg.norm(away, axis=1)
    growth = np.polyfit(np.arange(200) * example["SAMPLE_TIME"], np.log(sizes[200:]), 1)[0]
    assert growth == pytest.approx(regulator.growth(member), rel=0.03)  # half of its size, swinging, over four seconds
    assert regulator.growth(member) == pytest.approx(max(rates[example["FIXED"]][3:5]), rel=0.2)  # members at 110 and 140 g
    assert max(rates[example["LOOKED_UP"]]) < -0.5


def test_rod_antenna(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("rod_antenna")
    runs, families = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.count("the tip lags") == len(runs) == 2
    rod, beam = (example["frequencies"](families[example[kind]]) for kind in ("ROD", "BEAM"))
    mass, inertia, mount, length = (example[name] for name in ("MASS", "INERTIA", "MOUNT", "LENGTH"))
    area, moment = np.pi * example["RADIUS"] ** 2, np.pi * example["RADIUS"] ** 4 / 4
    linear_density, stiffness = example["DENSITY"] * area, example["YOUNG"] * moment

    # at rest: an Euler-Bernoulli beam, whose root moves with the hub as momentum and its moment tell
    def closed(wavenumber: float, about: float) -> Any:
        def slopes(x: float) -> Array:
            """Return the functions that bend with this wave number (their derivatives in rows, 0 to 3)."""
            y = wavenumber * x
            c, s, ch, sh = np.cos(y), np.sin(y), np.cosh(y), np.sinh(y)
            rows = np.array([[c, s, ch, sh], [-s, c, sh, ch], [-c, -s, ch, sh], [s, -c, sh, ch]])
            return rows * wavenumber ** np.arange(4)[:, None]

        root, square = slopes(0.0), stiffness * wavenumber**4 / linear_density
        momentum = mass * square * (root[0] - mount * root[1]) - stiffness * root[3]
        moments = about * square * root[1] - stiffness * (mount * root[3] - root[2])
        return np.linalg.det([slopes(length)[2], slopes(length)[3], momentum, moments])

    expected = []
    for about in inertia[[2, 1]]:  # in the plane of the spin, and across
        wavenumbers = np.linspace(0.1, 10.0, 400) / length
        signs = np.sign([closed(k, about) for k in wavenumbers])
        roots = [brentq(closed, *wavenumbers[k : k + 2], (about,)) for k in np.flatnonzero(np.diff(signs))]
        expected += [k**2 * np.sqrt(stiffness / linear_density) / (2 * np.pi) for k in roots]
    expected.sort()
    # six polynomials and nine points: 7e-6, 9e-5, 7e-4
    for found, tolerance in zip(rod[0, 1:].reshape(3, 2), (2e-5, 2e-4, 2e-3), strict=True):
        np.testing.assert_allclose(found, [expected.pop(0), expected.pop(0)], rtol=tolerance)

    # spinning, a beam of another law agrees, of which three modes a plane are as good; nutation begins as a rigid body's
    np.testing.assert_allclose(beam, rod, rtol=6e-3)
    assert (rod[-1, 1:] > 1.25 * rod[0, 1:]).all()  # which would show it if nothing stiffened
    reach, carried = mount + length / 2, linear_density * length
    swung = carried * length**2 / 12 + mass * carried / (mass + carried) * reach**2
    along, across, about = inertia + np.array([0.0, swung, swung])
    nutation = example["SPINS"][1] * np.sqrt((about - along) * (about - across) / (along * across)) / (2 * np.pi)
    assert rod[1, 0] == pytest.approx(nutation, rel=0.01)  # (spin / frequency)^2 = 0.03, part of which the antenna follows

    # momentum is what the thrusters gave, energy their work, by Simpson's rule; Radau at 1e-6
    run = runs[example["ROD"]]
    given = np.array([example["torque"](time) for time in run.t])
    momenta = np.array([run.model.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
    total = simpson(given, x=run.t)
    np.testing.assert_allclose(momenta[-1], [0, 0, 0, 0, 0, total], rtol=0, atol=1e-6 * total)
    for k in range(2, len(run.t), 10):
        assert momenta[k, 5] == pytest.approx(simpson(given[: k + 1], x=run.t[: k + 1]), abs=1e-6 * total)
    energy, work = run.energy().sum(axis=1), simpson(given * run.v[:, 5], x=run.t)
    assert energy[-1] == pytest.approx(work, rel=1e-6)
    assert np.ptp(energy[run.t >= example["DURATION"]]) < 1e-7 * work
    lags = [-example["seen_from_hub"](run.model, q, "antenna.tip")[1] for q in run.q]
    assert max(lags) > 0.6 * length  # far beyond what is small: the beam is lost there
    assert example["seen_from_hub"](runs[example["BEAM"]].model, runs[example["BEAM"]].q[-1], "antenna.C")[1] < -length


class TestManipulatorsEnergy:
    """Of the cable-driven manipulator: the first fifth of a second; `examples/benchmarks/energy.py` has ten."""

    def test_kept_without_damping(self) -> None:
        """Let go of bent, it keeps its energy as exactly as steps are: a thousandth of the tolerance, a thousandth."""
        model = script("cable_driven_manipulator")["build"](viscosity=0.0).resolve()
        bent = tt.trim(model, u=[10.0, 0.0, 0.0, 20.0, 0.0]).q
        drifts = []
        for tolerance in (1e-6, 1e-9):
            accuracy = {"method": "DOP853", "rtol": tolerance, "atol": 1e-2 * tolerance}
            trajectory = tt.simulate(model, np.linspace(0.0, 0.2, 11), bent, np.zeros(model.nv), **accuracy)
            kinetic, total = trajectory.energy()[:, 0], trajectory.energy().sum(axis=1)
            drifts.append(np.abs(total - total[0]).max() / kinetic.max())
        assert drifts[0] < 1e-6
        assert drifts[1] < 3e-3 * drifts[0]

    def test_balanced_with_damping(self) -> None:
        """What tendons do is stored or lost."""
        example = script("cable_driven_manipulator")
        model, (times, weights) = example["build"]().resolve(), gauss_times(20)
        at_rest = tt.trim(model).q
        accuracy = {"method": "Radau", "rtol": 1e-9, "atol": 1e-12}
        trajectory = tt.simulate(
            model, times, at_rest, np.zeros(model.nv), u=lambda t, q, v: example["tensions"](t), **accuracy
        )
        power = [model.actuation_matrix(q) @ u @ v for q, v, u in zip(trajectory.q, trajectory.v, trajectory.u, strict=True)]
        assert_balanced(trajectory, weights, np.array(power), loss(trajectory, {"rod": model.mechanism.assembly.blocks["rod"]}))


def test_soft_on_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("soft_on_robot")
    runs = example["main"](["--output", str(tmp_path / "figure.png"), "--duration", "2"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "complete: error in the second half" in capsys.readouterr().out

    # of e'' + 50 e' + 100 e = 0 from e = -1, e' = 0: the reference starts at 1, at rest
    fast, slow = np.roots([1.0, example["DAMPING"], example["STIFFNESS"]])
    t = runs["complete"].t[:, None]
    expected = -(fast * np.exp(slow * t) - slow * np.exp(fast * t)) / (fast - slow)
    errors = {name: example["errors"](motion) - expected for name, motion in runs.items()}
    assert np.abs(errors["complete"]).max() < 1e-5  # steps of relative tolerance 1e-6, at angles of 1 rad
    assert np.abs(errors["incomplete"]).max() > 0.1

    # nothing drives the cylinder, and the law is that of key P, (2) of simulation 9, by its matrices
    model, rng, joints = runs["complete"].model, np.random.default_rng(0), example["JOINTS"]
    assert not runs["complete"].tau[:, joints:].any()
    assert model.mechanism.assembly.blocks["cylinder"].mass == pytest.approx(1070 * np.pi * 0.02**2 * 0.8, rel=1e-12)
    q, v = 0.3 * rng.normal(size=9), rng.normal(size=9)
    mass, rest = model.mass_matrix(q), model.inverse_dynamics(q, v, np.zeros(9))
    carried = np.linalg.solve(mass[joints:, joints:], mass[joints:, :joints]).T  # M_au M_uu^-1
    reduced = mass[:joints, :joints] - carried @ mass[joints:, :joints]
    by_matrices = reduced @ example["wanted"](0.7, q, v) + rest[:joints] - carried @ rest[joints:]
    law = example["complete"](model)(0.7, q, v)[:joints]
    np.testing.assert_allclose(law, by_matrices, rtol=1e-9, atol=1e-9 * np.abs(law).max())


def test_quadruped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It comes to rest where it is trimmed: the ground carries its weight, its feet stay where they stand."""
    example = script("quadruped")
    run, standing = example["main"](["--output", str(tmp_path / "quadruped.png")])
    assert (tmp_path / "quadruped.png").read_bytes().startswith(b"\x89PNG")
    assert "it stands stable" in capsys.readouterr().out
    model, mass = run.model, 7.0 + 4 * (0.5 + 0.7 + 0.2)
    forces = [model.contacts(standing.q, standing.v, f"{name}_foot", x=standing.x).force[0] for name in example["HIPS"]]
    np.testing.assert_allclose(sum(forces), [0, 0, mass * 9.81], rtol=0, atol=1e-6)  # what trim leaves
    assert np.abs(standing.q - run.q[-1]).max() < 2e-3  # it is still swaying a little
    # with its bristles it stays, where friction without them would creep by tan(slope)/friction of the slip velocity
    later = tt.simulate(model, [0.0, 0.5], standing.q, standing.v, x0=standing.x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(later.q[-1], standing.q, rtol=0, atol=1e-7)
