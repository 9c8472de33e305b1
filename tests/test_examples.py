"""The scripts of ``examples/`` run, and what they find is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp

import titop as tt
from tests import (
    test_drive_examples,
    test_on_board_example,
    test_orbit_examples,
    test_robot_examples,
    test_series_examples,
    test_soft_examples,
    test_water_examples,
)
from tests.example_scripts import EXAMPLES, script


def test_every_example_is_tested() -> None:
    names = {*globals(), *vars(test_robot_examples), *vars(test_series_examples), *vars(test_soft_examples)}
    names |= {"test_learned_pendulum"}  # in tests/solvers/tensors, where PyTorch is
    names |= {*vars(test_water_examples), *vars(test_drive_examples), *vars(test_orbit_examples), *vars(test_on_board_example)}
    tested = {name.removeprefix("test_") for name in names if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested


def test_balloon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    balloon = script("balloon")
    figure = tmp_path / "figure.png"
    trajectory = balloon["main"](["--output", str(figure)])
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [figure]
    printed = capsys.readouterr().out
    assert "balloon.C --rail: Prismatic [displacement]--> slider" in printed
    assert "after 20 s: x [m]" in printed

    model = trajectory.model
    states = list(zip(trajectory.q, trajectory.v, strict=True))
    assert trajectory.t[-1] == 20
    assert np.rad2deg(trajectory.q[0, -2:]) == pytest.approx([170, -170])
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() > 1  # the pendulums fell
    # buoyancy carries the whole weight, and both are vertical: no force in all, and no torque about the vertical;
    # 20 s at a tolerance of 1e-10 leave less than 1e-8
    centers = np.array([model.center_of_mass(q) for q, _ in states])
    assert np.abs(centers - centers[0]).max() < 1e-8
    momentum = np.array([model.momentum(q, v) for q, v in states])
    assert np.abs(momentum[:, [0, 1, 2, 4]]).max() < 1e-7  # kg m/s: 16 kg times the above
    # dampers alone change the energy, when the balloon's height counts as potential energy of its buoyancy
    energy = trajectory.energy().sum(axis=1) - balloon["BUOYANCY"] * trajectory.q[:, 1]
    assert (np.diff(energy) < 0).all()
    assert energy[0] - energy[-1] > 10


def test_balloon_agrees_with_pinocchio() -> None:
    pytest.importorskip("pinocchio")
    balloon = script("balloon")
    tt = balloon["tt"]
    model = balloon["resolve"](balloon["build"]())
    t = np.linspace(0, 5, 51)
    trajectory = tt.simulate(model, t, *balloon["initial_state"](model), rtol=1e-10, atol=1e-12)
    # both integrate with a relative error of 1e-10 a step; the fall of the pendulums amplifies it a hundred times
    assert np.abs(trajectory.q - balloon["pinocchio_solution"](t)).max() < 1e-7
    # the sign of the product of inertia alone makes another motion
    other = balloon["resolve"](balloon["build"](inertia_yz=7.0))
    other_trajectory = tt.simulate(other, t, *balloon["initial_state"](other))
    assert np.abs(other_trajectory.q - trajectory.q).max() > 1e-2


def test_compiled_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script("compiled_block")["main"](["--output", str(tmp_path / "figure.png")])
    printed = capsys.readouterr().out
    out, energy, change = (
        float(re.search(pattern, printed).group(1))
        for pattern in (r"out by up to (\S+) mm", r"energy (\S+) J", r"J, largest change (\S+) J")
    )
    momentum_change = float(re.search(r"momentum, largest change (\S+)", printed).group(1))
    # spinning with 0.9 rad/s, 2.5 kg at 1.4 m pull a spring of 50 N/m by some 6 cm, and overshoot to twice that at most
    assert 10.0 < out < 120.0
    assert 1.0 < energy < 10.0
    # about a hundred steps, each with a relative error of 1e-9 or less
    assert change < 2e-8
    assert momentum_change < 2e-8


def test_custom_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script("custom_block")["main"](["--output", str(tmp_path / "figure.png")])
    printed = capsys.readouterr().out
    assert "shoulder: Revolute [angle]--> near" in printed
    energy, change = (float(x) for x in re.search(r"energy (\S+) J, largest change (\S+) J", printed).groups())
    momentum_change = float(re.search(r"momentum, largest change (\S+)", printed).group(1))
    # the springs of 3 and 5 N m/rad at 1, 0.5 and 0.4 rad hold 2.275 J; the hub's 4 kg and the rest move with 0.1 m/s
    assert 2.275 < energy < 2.5
    # about a hundred steps, each with a relative error of 1e-9 or less
    assert change < 2e-8
    assert momentum_change < 2e-8


def test_satellite(tmp_path: Path) -> None:
    satellite = script("satellite")
    trajectory = satellite["main"](["--output", str(tmp_path / "figure.png")])
    error = np.rad2deg(np.linalg.norm(satellite["attitude_error"](trajectory.q[-1])))
    assert error < 0.1  # of 120: the controller's slowest mode has gone through ten time constants
    model, speeds = trajectory.model, np.abs(trajectory.v[:, 6:10]).max(axis=1)
    assert speeds[-1] < 0.02 * speeds[trajectory.t.searchsorted(60)]  # braked for 60 s at a rate of 0.08 / s: exp(-4.8)
    assert trajectory.violations() == []
    before = [model.momentum(q, v)[3:] for q, v in zip(trajectory.q[:200], trajectory.v[:200], strict=True)]
    assert np.ptp(before, axis=0).max() < 1e-4 * np.abs(before).max()  # wheels cannot change it; rtol 1e-7 over 50 s


def test_gravity_gradient(tmp_path: Path) -> None:
    example = script("gravity_gradient")
    results = example["main"](["--output", str(tmp_path / "figure.png")])
    expected = example["is_stable"](*np.meshgrid(example["YAW"], example["ROLL"]))
    # stable ones have rounding alone, or its root where poles are double; others are far from the boundary
    assert ((results.growth < 1e-6) == expected).all()
    largest = {name: np.abs(example["angles"](run)).max() for name, run in results.runs.items()}
    assert largest["towards the earth"] < 5  # of 2.5 deg at the start
    assert largest["gyroscopic"] < 40
    assert largest["across"] > 170
    n = example["ORBIT"].mean_motion
    for run in results.runs.values():  # Jacobi's integral, at rtol 1e-9
        jacobi = [run.model.energy(q, v).total - n * run.model.momentum(q, v)[5] for q, v in zip(run.q, run.v, strict=True)]
        assert np.ptp(jacobi) < 1e-6 * np.abs(jacobi).max()


def test_flexible_satellite(tmp_path: Path) -> None:
    satellite = script("flexible_satellite")
    hard, smooth = satellite["main"](["--output", str(tmp_path / "figure.png")])
    model, slewed = hard.model, hard.t > satellite["DURATION"]
    for run in (hard, smooth):
        assert satellite["hub_angle"](run)[-1] == pytest.approx(60, abs=0.5)  # the rest is the panels' turn about their length
        momentum = np.array([model.momentum(q, v) for q, v in zip(run.q[slewed], run.v[slewed], strict=True)])
        # the torques' impulse vanishes but for the hub's swinging in between; nothing acts afterwards
        assert np.ptp(momentum, axis=0).max() < 1e-5
        assert (np.diff(run.energy().sum(axis=1)[slewed]) < 0).all()  # damped vibrations
    assert satellite["residual"](smooth) < 0.05 * satellite["residual"](hard)
    # with a constant acceleration the tip swings about the static deflection of a cantilever under its inertia
    tip, lever = satellite["coordinate"](hard, "left_panel.C_z"), 0.75
    line, bending, length = 3.0, 7e6 * 7.1e-5, 6.0
    acceleration = 4 * satellite["ANGLE"] / satellite["DURATION"] ** 2
    deflection = acceleration * line * (11 / 120 * length**5 + lever * length**4 / 8) / bending
    assert -tip[hard.t < 10].mean() == pytest.approx(deflection, rel=0.1)  # not a whole number of periods


def test_robot_arm(tmp_path: Path) -> None:
    arm = script("robot_arm")
    trajectory = arm["main"](["--output", str(tmp_path / "figure.png")])
    goal = arm["reference"](2.0)[0]
    assert np.abs(trajectory.q[-1] - goal).max() < 0.05  # what the unknown kilogram leaves
    known = arm["build"]().resolve()
    exact = arm["tt"].simulate(known, [0, 2.5], arm["START"], np.zeros(6), tau=arm["computed_torque"](known))
    assert np.abs(exact.q[-1] - goal).max() < 1e-6  # with the right payload feedback has nothing to do


def test_pointing_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("pointing_control")
    nominal, samples = example["main"](["--output", str(tmp_path / "figure.png"), "--samples", "6"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    # noise of 0.05 mrad and 0.02 mrad/s, averaged by a loop that is ten times slower than its samples
    assert np.sqrt((example["errors"](nominal)[-200:] ** 2).mean()) < 0.05
    wheels, late = nominal.u[:, :4], nominal.t < example["DELAY"] - 1e-9
    assert not wheels[late].any()
    assert np.abs(wheels[~late][0]).max() > 0.1
    assert nominal.violations() == []
    changes = nominal.t[1:][(np.diff(wheels, axis=0) != 0).any(axis=1)]  # the delay after every sample, and nowhere else
    assert (changes - example["DELAY"]) / example["SAMPLE_TIME"] == pytest.approx(np.arange(240), abs=1e-6)
    assert samples.failures == {}
    assert samples.statistics("jitter").greatest < 0.05
    assert samples.statistics("overshoot").greatest < 0.05


def test_arm_on_satellite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    free, held = script("arm_on_satellite")["main"](["--output", str(tmp_path / "figure.png")])
    turns = [2 * np.arccos(np.clip(np.abs(run.q[:, 6]), 0, 1)).max() for run in (free, held)]
    assert np.deg2rad(10) < turns[0] < np.deg2rad(30)
    assert turns[1] < 0.6 * turns[0]
    momentum = [free.model.momentum(q, v) for q, v in zip(free.q, free.v, strict=True)]
    assert np.abs(momentum).max() < 1e-5  # zero at the start; rtol 1e-7 on momenta of a few kg m/s


def test_four_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("four_bar")
    trajectory = example["main"](["--output", str(tmp_path / "figure.png")])
    printed = capsys.readouterr().out
    assert "3 coordinates, 5 constraints of which 2 are independent" in printed
    assert "1 degree of freedom" in printed
    model = trajectory.model
    assert trajectory.coordinate("drive")[-1] > 4 * np.pi  # the crank turns fully, as Grashof's rule says
    energy = trajectory.energy().sum(axis=1)
    assert np.abs(energy - energy[0]).max() < 1e-7  # rtol 1e-10 on energies of 10 J
    # Newton's law of the whole linkage: both fixed hinges carry what its centre of mass is accelerated by
    q, v, a = (x[250] for x in (trajectory.q, trajectory.v, trajectory.a))
    bodies = ("crank", "coupler", "rocker")
    masses = [model.parameters()[f"{body}.mass"][0] for body in bodies]
    levers = [model.parameters()[f"{body}.com.x"][0] for body in bodies]
    inertial = np.zeros(3)
    for body, mass, lever in zip(bodies, masses, levers, strict=True):
        turn, motion = model.pose(body, q)[0], model.motion(body, q, v, a)
        spin, about = motion[9:12], motion[3:6]
        at_com = motion[:3] + np.cross(spin, motion[6:9]) + np.cross(about, [lever, 0, 0])
        inertial += mass * (turn @ (at_com + np.cross(spin, np.cross(spin, [lever, 0, 0]))) - [0, -9.81, 0])
    crank = model.pose("crank", q)[0] @ trajectory.reaction("drive")[250, :3]
    rocker = model.pose("rocker", q)[0] @ trajectory.reaction("pivot")[250, :3]
    assert np.abs(crank + rocker - inertial).max() < 1e-9  # rounding at forces of 1e2


def test_gripper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gripper = script("gripper")
    trajectory = gripper["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "the jaws close by" in capsys.readouterr().out
    # one equation of motion of the pinion's angle: the weights carry each other, both springs and dampers act
    r, k, d = gripper["RADIUS"], gripper["STIFFNESS"], gripper["DAMPING"]
    inertia = 4e-6 + gripper["GEAR"] ** 2 * 1e-7 + 2 * gripper["JAW"] * r**2
    angle, rate, acceleration = trajectory.q[:, 0], trajectory.v[:, 0], trajectory.a[:, 0]
    torque = gripper["TORQUE"] * np.minimum(trajectory.t / 0.05, 1.0)
    left = inertia * acceleration + 2 * r**2 * (d * rate + k * angle) - torque
    assert np.abs(left).max() < 1e-12  # rounding of terms of 0.1 N m
    assert trajectory.q[:, 1] == pytest.approx(-trajectory.q[:, 2], abs=1e-15)
    assert trajectory.q[-1, 2] == pytest.approx(0.01, rel=0.05)  # the torque over twice the stiffness and the radius


def test_leg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    trajectory, other = script("leg")["main"](["--output", str(tmp_path / "figure.png")])
    assert "MuJoCo's knee is within" in capsys.readouterr().out
    assert np.abs(trajectory.q - other).max() < 1e-4  # the loop is soft in MuJoCo: 6e-6 where it moves fastest
    np.testing.assert_allclose(trajectory.q[:, 1], trajectory.q[:, 2], atol=1e-6)  # a parallelogram


def test_slider_crank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("slider_crank")
    trajectory = example["main"](["--output", str(tmp_path / "figure.png")])
    assert "work over two turns" in capsys.readouterr().out
    radius, rod, speed = (example[name] for name in ("RADIUS", "ROD", "SPEED"))
    piston = trajectory.motion("piston")
    # from the geometry alone: position, and acceleration at the outer dead centre
    angles = speed * trajectory.t
    expected = radius * np.cos(angles) + np.sqrt(rod**2 - (radius * np.sin(angles)) ** 2)
    assert np.abs(piston[:, 12] - expected).max() < 1e-12
    assert piston[0, 0] == pytest.approx(-radius * speed**2 * (1 + radius / rod), rel=1e-9)
    power = trajectory.tau[:, 0] * speed
    kinetic = trajectory.energy()[:, 0]
    rate = np.gradient(kinetic, trajectory.t, edge_order=2)
    assert np.abs(power - rate).max() < 0.01 * np.abs(power).max()  # differences of second order over 200 steps


def test_cart_double_pendulum(tmp_path: Path) -> None:
    cart = script("cart_double_pendulum")
    runs = cart["main"](["--output", str(tmp_path / "figure.png")])
    for tilt, run in runs.items():
        # five seconds are six time constants of the slowest closed-loop pole, -1.25 / s
        assert np.abs(run.q[-1]).max() < 0.02 * max(1.0, tilt / 0.2)
        assert run.violations() == []
    model = next(iter(runs.values())).model
    free = cart["tt"].simulate(model, [0, 1.0], model.configuration({"elbow1": 0.01}), np.zeros(3))
    assert np.abs(free.q[-1]).max() > 1  # without the controller it falls
    # second order in the tilt: small motions are the linear model's
    point, gain, _ = cart["design"](model)
    t = np.linspace(0, 2, 11)
    small = cart["balance"](model, point, gain, 1e-3, t)
    assert np.abs(small.q - cart["predicted"](model, point, gain, 1e-3, t)[:, :3]).max() < 1e-6


def test_spinning_arms(tmp_path: Path) -> None:
    arms = script("spinning_arms")
    opened, closed = arms["main"](["--output", str(tmp_path / "figure.png")])
    expected = [arms["opening"](spin) for spin in opened.parameters["shaft.v"]]
    assert opened.q[:, 2] == pytest.approx(expected, abs=1e-10)  # near the fork the equation's slope is small
    fast = closed.parameters["shaft.v"] > arms["CRITICAL"]
    growth = closed.eigenvalues.real.max(axis=1)
    assert (growth[fast] > 1e-3).all()
    assert (growth[~fast] < 1e-9).all()
    assert (opened.eigenvalues.real.max(axis=1) < 1e-9).all()


def test_balloon_lpv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    balloon = script("balloon_lpv")
    family = balloon["main"](["--output", str(tmp_path / "figure.png")])
    assert {path.name for path in tmp_path.iterdir()} == {"figure.png", "figure_poles.png"}
    assert family.valid.all()
    assert len(family.states) == 2 * 9 - 4
    # horizontal velocities and the turn about the vertical drift; nothing grows
    assert family.eigenvalues.real.max() < 1e-6
    # at rest a constant torque holds the payload against its weight: gain 1 / (m g l) without the rest of the chain
    masses = family.parameters["pendulum2.mass"]
    still = [family.at({"pendulum2.mass": m})(0.05j)[0, 0].real for m in masses]
    assert np.array(still) * masses * 9.81 * 1.6 == pytest.approx(np.ones(len(masses)), abs=0.02)


def test_draining_tank(tmp_path: Path) -> None:
    example = script("draining_tank")
    family, loops, flights = example["main"](["--output", str(tmp_path / "figure.png")])
    assert {path.name for path in tmp_path.iterdir()} == {"figure.png"}
    fills, radius = example["FILLS"], 0.5
    depth = 1.2 * radius  # of the fuel in its sphere
    whole = 600.0 + 1141.0 * np.pi * 0.36 * 2.0 * fills + 810.0 * np.pi * depth**2 * (3 * radius - depth) / 3
    assert family.y[:, 2] == pytest.approx(example["THRUST"] / whole, rel=1e-10)
    unstable = fills[loops["bare"].damping < 0]
    assert unstable.tolist() == fills[-1:].tolist()
    assert (loops["baffles"].damping > 0.01).all()
    assert np.nanmin(loops["baffles"].phase) > 40
    # the flights grow and decay as the poles of the linear models at the last fill
    for name, flight in flights.items():
        swings = np.abs(flight.coordinate("lox/mode1.first"))
        late, early = swings[flight.t > 30].max(), swings[(flight.t > 15) & (flight.t < 25)].max()
        rate = loops[name].poles[-1].real
        slowest = rate[np.abs(loops[name].poles[-1].imag) > 2].max()
        assert np.log(late / early) / 15.0 == pytest.approx(slowest, abs=0.01)


def test_flexible_pointing(tmp_path: Path) -> None:
    example = script("flexible_pointing")
    family, runs, rates = example["main"](["--output", str(tmp_path / "figure.png")])
    assert {path.name for path in tmp_path.iterdir()} == {"figure.png", "figure_poles.png"}
    assert family.valid.all()
    mass, length, lever = example["MASS"], example["LENGTH"], example["OFFSET"]
    panel = mass * (length**2 / 12 + (length / 2 + lever) ** 2)
    # about roll at 0 deg both panels bend against each other: hub, and two cantilevers' modes with each panel
    modes = np.sqrt(mass) * np.array([0.78299 * lever + 0.56883 * length, 0.43394 * lever + 0.09077 * length])
    clamped = 2 * np.pi * 0.3 * np.array([1.0, 6.26689])
    inertia = np.diag([300 + 2 * panel, 1.0, 1.0])
    inertia[0, 1:] = inertia[1:, 0] = np.sqrt(2) * modes
    expected = np.sqrt(np.linalg.eigvals(np.linalg.solve(inertia, np.diag([0.0, *clamped**2]))).real)
    found = np.abs(family.eigenvalues[0])
    for frequency in expected[expected > 1]:
        assert np.abs(found / frequency - 1).min() < 0.01  # the wheels' masses and momentum are left out above
    # the stored momentum makes roll and pitch nutate, slowly enough for the panels to follow
    momentum = 4 * example["WHEEL_INERTIA"] * example["WHEEL_SPEED"] * np.sin(example["TILT"])
    about_pitch = 250 + 2 * mass * example["WIDTH"] ** 2 / 12
    nutation = momentum / np.sqrt(about_pitch * (300 + 2 * panel))
    slow = family.eigenvalues[0][(found > 1e-3) & (found < 0.5)]
    assert np.abs(slow.imag) == pytest.approx([nutation, nutation], rel=0.01)

    assert max(rates[example["FIXED"]]) > 1
    for label in (example["SLOWER"], example["SCHEDULED"]):
        assert max(rates[label]) < -0.005  # 0.5 % of the slowest mode, that the wheels cannot reach
    ends = {label: np.abs(example["errors"](run)[-100:]).max() for label, run in runs.items()}
    assert ends[example["SCHEDULED"]] < 1 < 10 < ends[example["FIXED"]]  # mdeg
    good = runs[example["SCHEDULED"]]
    assert good.violations() == []
    turning = (good.t > example["SLEW"][0]) & (good.t < example["STEPS"][1])
    worst = [np.abs(example["errors"](runs[example[label]])[turning]).max() for label in ("SCHEDULED", "SLOWER")]
    assert worst[0] < 0.2 * worst[1]  # stiffness goes with the square of the bandwidth, which is four times as high
    momenta = np.array([good.model.momentum(q, v)[3:] for q, v in zip(good.q[::50], good.v[::50], strict=True)])
    assert np.abs(momenta - [0, 0, momentum]).max() < 1e-3  # wheels and drives cannot change it; rtol 1e-6 over 150 s

    # the nonlinear system departs from 40 deg as fast as the linear model says
    tt, model, angle = example["tt"], good.model, example["ANGLES"][4]
    stiffness = np.diag(model.mass_matrix(model.neutral()))[3:6]
    controller = example["design"](example["at_angle"](family, 0.0), stiffness, example["FAST"])
    held = {"left_drive": lambda t: (angle, 0.0, 0.0), "right_drive": lambda t: (angle, 0.0, 0.0)}
    v = model.velocity({**dict.fromkeys(example["WHEELS"], example["WHEEL_SPEED"]), "base.rz": 1e-7})
    t = np.arange(0, 18.05, 0.1)
    run = tt.simulate(model, t, model.neutral(), v, prescribed=held, controller=controller, delay=0.1, atol=1e-13)
    bending = np.abs(run.coordinate("left_panel.mode1"))
    growth = np.log(bending[t > 14].max() / bending[(t > 6) & (t < 10)].max()) / 8
    assert growth == pytest.approx(rates[example["FIXED"]][4], rel=0.1)  # the largest of some ten swings


def test_four_bar_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("four_bar_linear")
    found = example["main"](["--output", str(tmp_path / "figure.png")])
    model, point, family = found["model"], found["point"], found["family"]
    assert found["system"].state_labels == ["drive_q", "drive_v"]
    # one degree of freedom, s the crank's angle: potential U(s) and inertia m(s) along the closed linkage
    step = 1e-3
    places = [example["at_crank"](model, point.q[0] + k * step, point.q) for k in (-1, 0, 1)]
    height = [model.energy(q, np.zeros(3))[1] for q in places]
    along = (places[2] - places[0]) / (2 * step)  # how the joints follow the crank
    inertia = along @ model.mass_matrix(point.q) @ along
    assert abs(height[2] - height[0]) / (2 * step) < 1e-4  # at rest; differences of second order, of energies of 100 J
    frequency = np.sqrt((height[2] - 2 * height[1] + height[0]) / step**2 / inertia)
    assert found["system"].poles() == pytest.approx([1j * frequency, -1j * frequency], rel=1e-5)
    assert found["system"].B[1, 0] * inertia == pytest.approx(1, rel=1e-5)
    errors = {push: np.abs(simulated - linear).max() / push for push, (simulated, linear) in found["motions"].items()}
    assert errors[0.01] < 0.01 < 0.1 < errors[0.3]  # of first order in the push
    # the torque that holds the crank is the slope of the energy; all the way round it does no work
    assert family.valid.all()
    assert np.cos(family.q[-1]) == pytest.approx(np.cos(family.q[0]), abs=1e-6)  # assembled in the same way after a turn
    assert family.tau[:-1, 0].mean() == pytest.approx(0, abs=1e-6)  # a smooth periodic function's mean, N m of 50
    assert np.abs(family.eigenvalues[30] - found["system"].poles()).min() < 1e-6


def test_diver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    diver = script("diver")
    trajectory, sinking = diver["main"](["--output", str(tmp_path / "figure.png")])
    assert "steadily at 0.9042 m/s" in capsys.readouterr().out
    weight = (diver["MASS"] - diver["WATER"] * diver["VOLUME"]) * diver["GRAVITY"]
    speed = np.sqrt(weight / diver["ALONG"][1])
    assert sinking.v == pytest.approx([0, 0, -speed, 0, 0, 0], abs=1e-9)  # the trim's tolerance
    assert trajectory.v[-1] == pytest.approx(sinking.v, abs=1e-6)  # what is left after 40 s of exp(-0.48 s t)
    poles = diver["tt"].linearize(trajectory.model, sinking).poles()
    heave = -2 * weight / (speed * (diver["MASS"] + diver["ALONG"][0]))
    yaw = -diver["TURNING"] / 0.5
    for pole in (heave, yaw):
        assert np.abs(poles - pole).min() < 1e-6  # the drag's smoothing leaves 1e-12 of it


def test_lander(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lander = script("lander")
    trajectory = lander["main"](["--output", str(tmp_path / "lander.png")])
    assert (tmp_path / "lander.png").read_bytes().startswith(b"\x89PNG")
    assert "at rest the hub stands" in capsys.readouterr().out
    model = trajectory.model
    energy = trajectory.energy().sum(axis=1)
    assert np.diff(energy).max() < 1e-5 * np.ptp(energy)  # struts and feet only take; 1e-7 a step, some hundred steps
    assert np.abs(trajectory.v[-1]).max() < 0.02  # the slip velocity is 0.01 m/s
    feet = [model.pose(f"{name}_leg.foot", trajectory.q[-1])[1][2] for name in lander["LEGS"]]
    pushes = [4e5 * max(lander["FOOT"] - z, 0.0) ** 1.5 for z in feet]
    weight = (lander["HUB"] + 4 * lander["LEG"]) * lander["GRAVITY"]
    assert sum(pushes) == pytest.approx(weight, rel=0.02)  # what still rocks after 3 s
    assert min(pushes) > 0.1 * weight


def test_docking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Forces are internal but for the chaser's torques: linear momentum is kept, angular momentum where velocities jump."""
    trajectory = script("docking")["main"](["--output", str(tmp_path / "docking.png")])
    assert (tmp_path / "docking.png").read_bytes().startswith(b"\x89PNG")
    assert "latch dock at" in capsys.readouterr().out
    model, (hinge, dock, parted) = trajectory.model, trajectory.changes
    states = list(zip(trajectory.q, trajectory.v, strict=True))
    momentum = np.array([model.momentum(q, v)[:3] for q, v in states])
    assert np.abs(momentum - momentum[0])[trajectory.t <= parted.t].max() < 1e-4  # 15 kg m/s, at a tolerance of 1e-6
    for change in (hinge, dock, parted):
        jump = model.momentum(change.q, change.v) - model.momentum(change.q, change.before)
        assert np.abs(jump).max() < 1e-12
    energies = [model.energy(dock.q, v).kinetic for v in (dock.before, dock.v)]
    assert dock.lost == pytest.approx(energies[0] - energies[1], rel=1e-10)
    assert dock.lost > 0.9 * 0.5 * 150 * 420 / 570 * 0.1**2  # of two point masses, without the panel's bending
    assert hinge.q[7] == pytest.approx(np.pi / 2)
    docked = (trajectory.t > dock.t) & (trajectory.t < parted.t)
    ports = [[model.pose(f"{name}.port", q)[1] for name in ("chaser", "target")] for q in trajectory.q]
    apart = np.linalg.norm(np.diff(ports, axis=1)[:, 0], axis=1)
    assert np.ptp(apart[docked]) < 1e-9  # caught as they were, rounding of the projection
    assert apart[-1] > 0.1
    assert not trajectory.reaction("dock")[~docked & (trajectory.t != parted.t)].any()


def test_swing_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("swing_up")
    plan, trajectory = example["main"](["--output", str(tmp_path / "figure.png")])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "SLSQP" in capsys.readouterr().out
    assert plan.result.success
    problem = example["Problem"](trajectory.model)
    assert np.abs(problem.defects(plan.result.x)).max() < 1e-5  # SLSQP keeps constraints to its tolerance
    tip = example["height"](trajectory.model, trajectory.q)
    assert tip[0] == pytest.approx(-1.0)
    assert tip[-1] > 0.97  # 21 nodes of the trapezoidal rule
    x = plan.result.x + 0.1 * np.random.default_rng(0).normal(size=plan.result.x.size)
    along = np.random.default_rng(1).normal(size=x.size)
    differences = (problem.defects(x + 1e-5 * along) - problem.defects(x - 1e-5 * along)) / 2e-5
    scale = np.abs(differences).max()
    assert np.abs(problem.slopes(x) @ along - differences).max() < 1e-7 * scale  # truncation and rounding of the differences


def test_manipulator_in_cylinder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("manipulator_in_cylinder")
    trajectory = example["main"](["--output", str(tmp_path / "figure.png")])
    assert "largest force" in capsys.readouterr().out
    touching, model = trajectory.contacts("wall"), trajectory.model
    assert (touching.depth[:, -1] > 0).mean() > 0.9  # it sweeps along the wall
    # radii and places of the section at the tip, which nothing of contacts tells
    tips = np.array([model.pose("rod.tip", q)[1] for q in trajectory.q])
    beyond = np.hypot(tips[:, 0], tips[:, 1]) + 0.015 - example["RADIUS"]
    np.testing.assert_allclose(-touching.gap[:, -1], beyond, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(touching.force[:, -1], axis=1), 1e5 * np.maximum(beyond, 0.0) ** 1.5, rtol=0, atol=1e-6
    )


def test_cable_driven_manipulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("cable_driven_manipulator")
    poses, trajectory = example["main"](["--output", str(tmp_path / "figure.png")])
    assert capsys.readouterr().out.count("the tip is at") == len(poses) == 5
    model, length = trajectory.model, example["LENGTH"]
    assert model.nv == 24
    rod, X = example["build"](points=40)["rod"], np.linspace(0, length, 801)

    def line(q: Any, y: Any, z: Any) -> Any:
        """Return the length of a polyline through the sections."""
        turns, places = rod.section_poses(q, X)
        points = places + y[:, None] * turns[:, :, 1] + z[:, None] * turns[:, :, 2]
        return np.linalg.norm(np.diff(points, axis=0), axis=1).sum()

    # Table 2 of key M: on the surface, and at the tip's radius around the axis
    radius, tip, turn = 0.03 - 0.015 * X / length, 0.015, 4 * np.pi * X / length
    table = {
        "tendon1": (0 * X, radius),
        "tendon2": (-np.sqrt(3) / 2 * radius, -radius / 2),
        "tendon3": (np.sqrt(3) / 2 * radius, -radius / 2),
        "tendon4": (tip * np.sin(turn), tip * np.cos(turn)),
        "tendon5": (tip * np.sin(turn), -tip * np.cos(turn)),
    }
    for name, q in poses.items():
        # the potential, with tension times length, has its least value there: along any direction its slope vanishes
        direction = np.random.default_rng(0).normal(size=24) * rod.coordinate_scales

        def potential(s: float, q: Any = q, direction: Any = direction) -> Any:
            return sum(model.energy(q + s * direction, np.zeros(24))[1:])

        def pulled(s: float, name: str = name, q: Any = q, direction: Any = direction) -> Any:
            return example["PULLS"][name] * line(q + s * direction, *table[name])

        held, given = ((f(1e-4) - f(-1e-4)) / 2e-4 for f in (potential, pulled))
        # polylines of pieces h err by (curvature h)^2 / 24, some 1e-5 for helices
        assert abs(held + given) < 1e-4 * abs(given)
        assert abs(given) > 0.01
    tips = {name: model.pose("rod.tip", q)[1] for name, q in poses.items()}
    assert tips["tendon1"][0] > 0.05  # it bends towards the tendon, and the other two are its mirror images
    np.testing.assert_allclose(tips["tendon2"], tips["tendon3"] * [1, -1, 1], atol=1e-9)
    np.testing.assert_allclose(tips["tendon4"][0], -tips["tendon5"][0], atol=1e-9)
    assert trajectory.u.min() >= 0.0
    assert np.abs(trajectory.q - trajectory.q[0]).max() > 0.3


def test_fishing_rod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = script("fishing_rod")
    shapes = example["main"](["--output", str(tmp_path / "figure.png")])
    assert capsys.readouterr().out.count("the tip is at") == len(shapes)
    length, (base, tip), young, density = (example[name] for name in ("LENGTH", "RADII", "YOUNG", "DENSITY"))
    s = np.linspace(0, length, 101)
    solved = np.array([0 * s + np.pi / 4, s - length, 0.7 * s, 1 + 0.7 * s])
    for mass, line in shapes.items():

        def bending(s: Any, y: Any, mass: float = mass) -> Any:
            """Return the changes of slope, moment and place of a rod that is bent by all that hangs beyond."""
            radius = base + (tip - base) * s / length
            beyond = mass + density * np.pi * length / (base - tip) * (radius**3 - tip**3) / 3
            return [y[1] / (young * np.pi * radius**4 / 4), beyond * 9.81 * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        def ends(clamped: Any, free: Any) -> Any:
            return np.array([clamped[0] - np.pi / 4, free[1], clamped[2], clamped[3] - 1])

        found = solve_bvp(bending, ends, s, solved, tol=1e-8, max_nodes=5000)
        assert found.success
        solved = found.sol(s)
        # eight points and six polynomials: 3e-4 of the length where it bends most
        assert np.abs(line[:, [0, 2]].T - solved[2:, ::5]).max() < 5e-4


def test_satellite_dossier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Deflection under thrust and margins against closed forms; files that say the same."""
    example = script("satellite_dossier")
    proved, nominal, samples = example["main"](["--output", str(tmp_path / "dossier.png"), "--samples", "2", "--workers", "1"])
    said = capsys.readouterr().out
    assert proved.robust
    model, mass = nominal.model, 800.0 + 2 * 30.0 + 50.0 + 4 * 5.0
    point = example["burn"](model)
    thrust = 25.0 / mass
    assert -point.parameters["gravity.z"] == pytest.approx(thrust, rel=1e-9)  # Newton's second law
    force = np.sqrt(30.0) * 2 * 0.7340955 / 1.8751041  # participation of the first mode across the panel
    bent = point.q[model.configuration_names.index("left_panel.mode1")]
    assert bent == pytest.approx(-force * thrust / (0.25 * 2 * np.pi) ** 2, rel=1e-9)
    assert "margin in all directions: 0.6" in said
    error = example["errors"](nominal)
    assert np.abs(error[0] + 1e3 * example["STEP"]).max() < 1e-9  # a whole step away at first
    assert np.abs(error[-100:]).max() < 0.2  # mrad: noise of 1e-5 rad/sqrt(Hz), held at 4 Hz, is 0.02 mrad a sample
    assert samples.n == 2
    assert samples.outcomes["error"].max() < 0.5
    members = tt.load_linear(tmp_path / "members.mat")
    assert isinstance(members, tt.LPVModel)
    angle = dict.fromkeys(example["DRIVES"], np.deg2rad(30))
    held = tt.trim(model, ["left_drive.tau", "right_drive.tau"], q=angle)
    outputs = [*example["TRACKER"], *example["GYRO"]]
    there = tt.linearize(model, held, example["MOTORS"], outputs, omit=example["PLACE"])
    member = members.at(left_drive_q=angle["left_drive"], right_drive_q=angle["right_drive"])
    np.testing.assert_allclose(member(1j), there(1j), rtol=1e-9, atol=1e-9 * np.abs(there(1j)).max())
    assert np.array_equal(tt.load_linear(tmp_path / "rate_loop.mat").D, example["design"](model)[0].D)
    assert tt.load(tmp_path / "observatory.toml").resolve().state_names == model.state_names
    assert np.array_equal(tt.load_trajectory(tmp_path / "slew.npz", model).q, nominal.q)


def test_the_loop_that_the_dossier_proves_is_the_one_that_it_simulates() -> None:
    """A small step without noise: what the tracker reads, in the lifted linear loop and by the nonlinear model.

    Negative control: a tracker without delay.
    """
    example = script("satellite_dossier")
    example["build"].__globals__.update(TRACKER_NOISE=0.0, GYRO_NOISE=0.0, GYRO_WALK=0.0)
    model, names = example["build"]().resolve(), example["TRACKER"]
    loops = example["design"](model)
    step, t = 1e-4 * np.array([1.0, -0.5, 0.8]), 0.25 * np.arange(81)
    attitude = control.ss([], [], [], np.hstack([loops[1].D, -loops[1].D]), loops[1].dt)
    attitude.input_labels = [*map("r_{}".format, loops[1].input_labels), *loops[1].input_labels]
    attitude.output_labels = loops[1].output_labels
    asked = [loops[0], tt.Loop(loops[1], reference=dict(zip(names, step, strict=True)))]
    run = tt.simulate(model, t, model.neutral(), np.zeros(model.nv), controller=asked)
    read = np.column_stack([run.controls[1].signal(name) for name in names])

    def response(model: tt.Model) -> np.ndarray:
        outputs = [*names, *example["GYRO"]]
        members = tt.lft(model, model.neutral(), example["RANGES"], example["MOTORS"], outputs, omit=example["PLACE"])
        closed = members.close([loops[0], attitude], sign=-1).nominal
        r = np.zeros(closed.ninputs)
        r[[closed.input_labels.index(f"r_{name.replace('.', '_')}") for name in names]] = step
        rows = [closed.output_labels.index(name.replace(".", "_")) for name in names]
        x, found = np.zeros(closed.nstates), []
        for _ in t:
            found.append((closed.C @ x + closed.D @ r)[rows])
            x = closed.A @ x + closed.B @ r
        return np.array(found)

    # the integrator's tolerance of 1e-8 of an angle and 1e-10, and turns of 1e-4 rad squared
    assert np.abs(response(model) - read).max() < 2e-8
    example["build"].__globals__.update(TRACKER_DELAY=0.0)
    assert np.abs(response(example["build"]().resolve()) - read).max() > 2e-7


@pytest.mark.long
def test_robust_satellite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Takes 35 s: all bounds of 18 repetitions, and four simulations of 500 s."""
    example = script("robust_satellite")
    found = example["main"](["--output", str(tmp_path / "figure.png"), "--samples", "30"])
    assert "fast: not robustly stable" in capsys.readouterr().out
    family, fast, slow, tt = found["family"], found["fast"], found["slow"], example["tt"]
    assert family.check(3) < 1e-9  # as in the tests of the models
    assert max(fast["rates"] + fast["corners"]) < 0

    # the member that was found lies within the ranges; sampled exactly, it leaves as fast as the nonlinear system does
    values = fast["worst"].values
    assert all(b.lower * (1 - 1e-9) <= values[b.name] <= b.upper for b in family.blocks if b.lower > 0)
    point = family.operating_point(values)
    signals = (example["MOTORS"], example["TRACKER"], example["PLACE"], example["STIFF"])
    plant = tt.linearize(point.model, point, *signals)
    period = example["SAMPLE_TIME"]
    K = example["design"](found["model"], example["FAST"])
    rate = np.log(np.abs(np.linalg.eigvals(sampled_loop(plant, K, period))).max()) / period
    assert rate > 0.001
    assert example["simulated_growth"](found["runs"]["fast, the member found"]) == pytest.approx(
        rate, rel=0.05
    )  # two modes swing
    assert example["simulated_growth"](found["runs"]["fast, worst random member"]) < 0

    assert slow["stability"].robust
    gain = found["gain"]
    assert slow["sampled"].gain <= gain.lower * (1 + 1e-6)
    assert gain.lower <= gain.upper < 1.25 * gain.lower  # ROOM and its rounding up
    assert found["simulated gain"] == pytest.approx(gain.lower, rel=0.02)  # what is left of the start, and sampling
    assert found["bounds"].peak < 1


@pytest.mark.long
def test_tuned_pointing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Margins of random members by their definition on a grid; runs against responses of the linear members."""
    monkeypatch.syspath_prepend(EXAMPLES)
    example = script("tuned_pointing")
    found = example["main"](["--output", str(tmp_path / "figure.png")])
    family, results, runs = found["family"], found["results"], found["runs"]
    nominal, tuned = results[example["NOMINAL"]], results[example["FAMILY"]]
    K, required = tuned.controller, tuned.goals[-1].goal.numbers["disk"]
    assert tuned.goals[-1].value < 1.01
    assert len(tuned.proof) == 3
    assert tuned.proof[-1].upper < 1.03  # of the margins that are required: worst_case_gain is within a hundredth

    omega = np.geomspace(1e-2, 1e2, 2000)
    for values in family.samples(10):
        plant = family.at(values)
        at_sensors = np.einsum("ijn,jkn->ikn", plant[:, :4](1j * omega), K(1j * omega)).transpose(2, 0, 1)
        S = np.linalg.inv(np.eye(3) + at_sensors)
        disks = 2 / np.abs(2 * np.diagonal(S, axis1=1, axis2=2) - 1).max(axis=0)
        assert disks.min() >= required / tuned.proof[-1].upper
    both = found["margins"]
    assert both[example["NOMINAL"]].disk[:, -1].min() < 0.5 * required
    assert both[example["FAMILY"]].disk[:, -1].min() >= required / tuned.proof[-1].upper

    for run, law in zip(runs.values(), (nominal, tuned), strict=True):
        frequency, fuel = (run.model.parameters()[name][0] for name in (example["FREQUENCY"][0], "fuel.mass"))
        plant = family.at({example["FREQUENCY"][0]: frequency, "fuel.mass": fuel})[:, :4]
        loop = control.feedback(plant * law.controller, np.eye(3))
        expected = control.forced_response(loop, run.t, np.outer(example["STEP"], np.ones(len(run.t)))).outputs
        measured = run.outputs()[:, [run.model.output_names.index(name) for name in example["TRACKER"]]]
        assert run.violations() == []
        # turns about three axes at once do not add: their products are a thousandth of the step
        assert np.abs(measured.T - np.asarray(expected)).max() < 2e-3 * np.abs(example["STEP"]).max()
    assert example["errors"](runs[example["FAMILY"]])[-1] < 1.0  # urad, of 760
    saved = tt.load_linear(tmp_path / "figure.mat")
    assert np.array_equal(saved.A, K.A)
    assert saved.output_labels == K.output_labels


@pytest.mark.long
def test_pointing_budget(tmp_path: Path) -> None:
    """A hundred simulated exposures of the worst member: what is left of their number."""
    found = script("pointing_budget")["main"](["--output", str(tmp_path / "figure.png")])
    np.testing.assert_allclose(found["simulated"], found["expected"], rtol=0.1)
    budget = found["budget"]
    assert (budget.worst > budget.value).all()
    every = [found["loop"].at(values) for values in found["loop"].corners()]
    sources = script("pointing_budget")["sources"]()
    for member in every:
        one = tt.pointing_budget(member, sources, "roll.q", window=10.0, drift=60.0, unit="arcsec")
        assert (one.value <= budget.worst * (1 + 1e-9)).all()


@pytest.mark.long
def test_spacecraft(tmp_path: Path) -> None:
    """A third of the orbit: it falls as a point does, and errors are those of the budget; momentum is shed."""
    example = script("spacecraft")
    found = example["main"](["--output", str(tmp_path / "figure.png"), "--orbits", "0.3"])
    assert found["tuned"].proof[-1].upper < 1.03  # of the margins that are required
    budget, earth, start = found["budget"], example["EARTH"], example["START"]
    assert (budget.margin[[0, 2]] > 0).all()
    for run, flown in zip(found["runs"].values(), found["flown"].values(), strict=True):
        assert run.violations() == []
        assert (flown[0] < 1.15 * budget.worst[0]).all()  # of 1600 samples that know each other for a minute
        assert flown[1] == pytest.approx(budget.value[2], rel=0.2)  # the deviation of 80 exposures

        def fall(t: float, y: Any) -> Any:
            r = np.linalg.norm(y[:3])
            oblate = 1.5 * earth.j2 * (earth.radius / r) ** 2 * (np.array([1, 1, 3]) - 5 * (y[2] / r) ** 2)
            return np.concatenate([y[3:], -earth.mu / r**3 * y[:3] * (1 + oblate)])

        q, v = run.q[0], run.v[0]
        ends = solve_ivp(fall, (0, run.t[-1]), [*q[:3], *start @ v[:3]], method="DOP853", rtol=1e-12, atol=1e-6).y[:3, -1]
        centre = run.model.center_of_mass(run.q[-1]) - run.model.center_of_mass(q) + q[:3]
        # air and light of up to 3e-7 m/s^2 for 1700 s; without J2 the point would be 14 km away
        assert np.linalg.norm(centre - ends) < 2.0
        stored = np.linalg.norm(example["momentum"](run)[[0, -1]], axis=1)
        assert stored[1] < 0.8 * stored[0]


@pytest.mark.long
def test_torques_on_the_spacecraft() -> None:
    """Where gravity's gradient is most of it: ``3 mu / r^3 e x J e``."""
    example = script("spacecraft")
    orbit, start = example["ORBIT"], example["START"]
    model = example["build"](orbiting=False).resolve()
    J, gradient = model.mass_matrix(model.neutral())[3:6, 3:6], []
    for anomaly in np.linspace(0, 2 * np.pi, 72):
        e = start.T @ orbit.with_parameters({"anomaly": anomaly}).place[0][:, 0]
        gradient.append(3 * orbit.mean_motion**2 * np.cross(e, J @ e))
    # 1 A m^2 in 4e-5 T, and air and light of 1e-5 N with arms of 0.1 m
    np.testing.assert_allclose(example["surrounding_torques"](), np.abs(gradient).max(axis=0), atol=6e-5)


def sampled_loop(plant: control.StateSpace, K: control.StateSpace, period: float) -> Any:
    """Return the matrix of a loop ``u = -K y``, K by Tustin's rule, u held: from one sample to the next."""
    P, Q = control.sample_system(plant, period, "zoh"), control.sample_system(K, period, "bilinear")
    return np.block([[P.A - P.B @ Q.D @ P.C, -P.B @ Q.C], [Q.B @ P.C, Q.A]])


def test_loop_shaping_of_an_integrator() -> None:
    """Of 1/s the lowest level is sqrt(2); the closed loop reaches the one that was asked for, and no lower."""
    G = control.ss(0, 1, 1, 0)
    for room in (1.05, 1.5):
        K = script("robust_satellite")["loop_shaping"](G, room)
        norms = []
        for w in np.geomspace(1e-3, 1e3, 400):
            g, k = G(1j * w), -K(1j * w)  # by positive feedback
            norms.append(np.linalg.norm(np.array([[k], [1]]) / (1 - g * k) @ np.array([[1, g]])))
        assert np.sqrt(2) * (1 - 1e-6) < max(norms) <= room * np.sqrt(2) * (1 + 1e-6)


def test_bicycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weave and capsize speed of Meijaard et al. (2007); pushed, it comes back."""
    weave, capsize = script("bicycle")["main"](["--output", str(tmp_path / "figure.png")])
    assert weave == pytest.approx(4.29238253634111, abs=1e-10)
    assert capsize == pytest.approx(6.02426201538837, abs=1e-10)
    printed = capsys.readouterr().out
    assert abs(float(re.search(r"lean rate (\S+) rad/s", printed).group(1))) < 0.02
    assert float(re.search(r"constant within (\S+) J", printed).group(1)) < 1e-5  # of 2016 J, at a tolerance of 1e-9 a step


def test_snap_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("snap_through")["main"](["--output", str(tmp_path / "figure.png")])
    assert "limit at a push of 8.97" in capsys.readouterr().out  # that of DaDeppo and Schmidt
    assert {point.stability for point in (path.points[0], path.points[-1])} == {"stable"}
    assert path.unstable.max() == 1
