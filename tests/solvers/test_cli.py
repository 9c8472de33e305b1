"""The command line, as people call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import titop as tt
import titop.solvers.cli
from titop.solvers.cli import main

MODELS = Path(__file__).parent.parent.parent / "examples" / "models"


@pytest.fixture
def run(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_check(run) -> None:
    code, out, _ = run("check", MODELS / "arm.urdf")
    assert code == 0
    assert "6 degrees of freedom" in out
    assert "12 degrees of freedom" in run("check", MODELS / "arm.urdf", "--base", "free")[1]


def test_robots_of_all_languages_are_read(run, tmp_path: Path) -> None:
    mass = "<inertial><mass>1</mass></inertial>"
    sdf = f'<sdf version="1.9"><model name="ball"><link name="ball">{mass}</link></model></sdf>'
    for name in ("ball.sdf", "ball.xml"):
        (tmp_path / name).write_text(sdf)
        assert "6 degrees of freedom" in run("check", tmp_path / name)[1]
    assert "0 degrees of freedom" in run("check", tmp_path / "ball.xml", "--base", "fixed")[1]
    pytest.importorskip("mujoco")
    assert "4 degrees of freedom" in run("check", MODELS / "leg.xml")[1]


def test_repair(run, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text((MODELS / "arm.urdf").read_text().replace("</joint>", '<mimic joint="nothing"/></joint>', 1))
    code, _, err = run("check", path)
    assert code == 1
    assert "repair=True" in err
    code, out, err = run("check", path, "--repair")
    assert code == 0
    assert "no errors, 1 warning" in out
    assert "[repaired]" in err


def test_warnings_go_to_the_error_stream(run) -> None:
    code, out, err = run("check", MODELS / "balloon.toml")
    assert code == 0
    assert "no errors, 1 warning" in out
    assert "triangle-inequality" in err


def test_info(run) -> None:
    _, out, _ = run("info", MODELS / "balloon.toml")
    for word in ("balloon", "rail", "nq = 10, nv = 9", "joint1"):
        assert word in out


@pytest.mark.parametrize("suffix", [".png", ".svg", ".mmd", ".dot", ".MMD"])
def test_draw(run, tmp_path: Path, suffix) -> None:
    output = tmp_path / f"diagram{suffix}"
    assert run("draw", MODELS / "balloon.toml", "--output", output)[0] == 0
    assert output.stat().st_size > 100


@pytest.mark.parametrize("workers", ["0", "-1", "many"])
def test_no_fewer_than_one_worker(run, workers: str) -> None:
    with pytest.raises(SystemExit) as caught:
        run("compile", "--workers", workers)
    assert caught.value.code == 2


@pytest.mark.parametrize("suffix", [".png", ".npz", ".html", ".NPZ", ".HTML"])
def test_sim(run, tmp_path: Path, suffix) -> None:
    output = tmp_path / f"motion{suffix}"
    code, out, _ = run("sim", MODELS / "balloon.toml", "--duration", 0.5, "--position", "joint1=1", "--output", output)
    assert code == 0
    assert "joint1 = " in out
    assert output.stat().st_size > 1000


def test_refusals_say_what_and_exit_with_one(run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("this is = not a model")
    for path in (tmp_path / "absent.toml", broken):
        code, _, err = run("check", path)
        assert code == 1
        assert path.name in err
    for option, name, known in (
        ("position", "joint9", "joint1"),
        ("velocity", "joint9", "joint1"),
        ("set", "slider.mas", "slider.mass"),
        ("input", "motr", "motor"),
    ):
        code, _, err = run("sim", driven(tmp_path), f"--{option}", f"{name}=1")
        assert code == 1
        assert "did you mean" in err
        assert known in err


def driven(folder: Path) -> Path:
    """Return the path of the balloon with a motor."""
    path = folder / "driven.toml"
    path.write_text((MODELS / "balloon.toml").read_text() + '\n[actuators.motor]\ntype = "motor"\njoint = "joint2"\n')
    return path


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_sim_starts_moving_with_inputs_and_other_parameters(run, tmp_path: Path) -> None:
    """The same as in Python."""
    path, output = driven(tmp_path), tmp_path / "motion.npz"
    given = {
        "position": ["joint1=1", "base.x=2"],
        "velocity": ["joint2=-0.5"],
        "input": ["motor=0.2"],
        "set": ["slider.mass=2"],
    }
    options = [word for option, values in given.items() for value in values for word in (f"--{option}", value)]
    assert run("sim", path, "--duration", 0.5, "--step", 0.1, *options, "--output", output)[0] == 0
    model = tt.load(path).resolve().with_parameters({"slider.mass": 2})
    q0, v0 = model.configuration({"joint1": 1, "base.x": 2}), model.velocity({"joint2": -0.5})
    expected = tt.simulate(model, np.linspace(0, 0.5, 6), q0, v0, u={"motor": 0.2})
    found = tt.load_trajectory(output, model)
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-12)
    np.testing.assert_array_equal(found.u, 0.2)


def test_sim_refuses_an_output_of_unknown_kind_before_it_starts(run, tmp_path: Path) -> None:
    code, out, err = run("sim", MODELS / "balloon.toml", "--duration", 1e9, "--output", tmp_path / "motion.doc")
    assert code == 1
    assert out == ""
    assert ".html" in err
    assert ".npz" in err


GRIPPER = """<robot name="gripper">
  <link name="palm"/>
  <link name="left"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="finger" type="continuous"><axis xyz="1 0 0"/><parent link="palm"/><child link="left"/></joint>
  <joint name="follower" type="continuous">
    <axis xyz="1 0 0"/><parent link="palm"/><child link="right"/><mimic joint="finger" multiplier="-2" offset="0.3"/>
  </joint>
</robot>"""


def test_gears_are_mentioned_and_meshed(run, tmp_path: Path) -> None:
    path = tmp_path / "gripper.urdf"
    path.write_text(GRIPPER)
    assert "2 degrees of freedom before 1 gear, no errors, 0 warnings" in run("check", path)[1]
    path.write_text(GRIPPER.replace('<link name="palm"/>', '<link name="palm" colour="red"/>'))
    assert "no errors, 1 warning" in run("check", path)[1]  # of the reader, before anything is resolved
    path.write_text(GRIPPER)
    assert "gears: follower_mimic" in run("info", path)[1]
    code, out, _ = run("sim", path, "--duration", 1, "--velocity", "finger=0.5")
    assert code == 0
    assert "finger = 0.5" in out
    assert "follower = -0.7" in out
    assert "finger = 0.1" in run("sim", path, "--duration", 1, "--position", "follower=0.1")[1]


def test_closures_are_mentioned(run) -> None:
    assert "3 degrees of freedom before 1 closure, no errors" in run("check", MODELS / "four_bar.toml")[1]
    out = run("info", MODELS / "four_bar.toml")[1]
    assert "closure pin: coupler.tip === rocker.tip (RigidClosure revolute)" in out
    assert "closures: pin" in out
    assert "closure" not in run("info", MODELS / "balloon.toml")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["paint", "x"],
        ["check"],
        ["sim", "x", "--method", "Euler"],
        ["sim", "x", "--step", "0"],
        ["sim", "x", "--duration", "inf"],
        ["sim", "x", "--set", "slider.mass"],
        ["sim", "x", "--velocity", "hinge=fast"],
    ],
)
def test_unusable_arguments_exit_with_two(arguments) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


@pytest.mark.parametrize(("option", "value"), [("--step", "1e-12"), ("--duration", "1e300")])
def test_more_output_times_than_there_is_memory_are_refused(run, option, value) -> None:
    code, _, err = run("sim", MODELS / "balloon.toml", option, value)
    assert code == 1
    assert "--step: got 1e+" in err
    assert "bad-times" in err


def test_ctrl_c_is_no_traceback(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_, **__):
        raise tt.SimulationInterrupt("stopped")

    monkeypatch.setattr(titop.solvers.cli, "simulate", interrupted)
    code, _, err = run("sim", MODELS / "balloon.toml")
    assert code == 130
    assert err.endswith("balloon.toml: stopped\n")


def test_it_is_installed() -> None:
    done = subprocess.run([Path(sys.executable).parent / "titop", "--help"], capture_output=True, text=True, check=True)
    for verb in ("check", "info", "draw", "sim"):
        assert verb in done.stdout
