"""The hybrid robots of ``examples/``: what they find is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.example_scripts import script
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
        jacobian = model.engine.dynamics.constraints(q, v).jacobian
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
        assert_balanced(trajectory, weights, np.array(power), loss(trajectory, {"rod": model.assembly.blocks["rod"]}))
