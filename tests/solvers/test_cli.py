"""The command line, as people call it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from titop.solvers.cli import main

MODELS = Path(__file__).parent.parent.parent / "examples" / "models"


@pytest.fixture
def run(capsys):
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_check(run):
    code, out, _ = run("check", MODELS / "arm.urdf")
    assert code == 0
    assert "6 degrees of freedom" in out
    assert "12 degrees of freedom" in run("check", MODELS / "arm.urdf", "--base", "free")[1]


def test_warnings_go_to_the_error_stream(run):
    code, out, err = run("check", MODELS / "balloon.toml")
    assert code == 0
    assert "no errors, 1 warning" in out
    assert "triangle-inequality" in err


def test_info(run):
    _, out, _ = run("info", MODELS / "balloon.toml")
    for word in ("balloon", "rail", "nq = 10, nv = 9", "joint1"):
        assert word in out


@pytest.mark.parametrize("suffix", [".png", ".svg", ".mmd", ".dot"])
def test_draw(run, tmp_path, suffix):
    output = tmp_path / f"diagram{suffix}"
    assert run("draw", MODELS / "balloon.toml", "--output", output)[0] == 0
    assert output.stat().st_size > 100


@pytest.mark.parametrize("suffix", [".png", ".npz", ".html"])
def test_sim(run, tmp_path, suffix):
    output = tmp_path / f"motion{suffix}"
    code, out, _ = run("sim", MODELS / "balloon.toml", "--duration", 0.5, "--set", "joint1=1", "--output", output)
    assert code == 0
    assert "joint1 = " in out
    assert output.stat().st_size > 1000


def test_refusals_say_what_and_exit_with_one(run, tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("this is = not a model")
    for path in (tmp_path / "absent.toml", broken):
        code, _, err = run("check", path)
        assert code == 1
        assert path.name in err
    code, _, err = run("sim", MODELS / "balloon.toml", "--set", "joint9=1")
    assert code == 1
    assert "did you mean" in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["paint", "x"],
        ["check"],
        ["sim", "x", "--method", "Euler"],
        ["sim", "x", "--step", "0"],
        ["sim", "x", "--duration", "inf"],
    ],
)
def test_unusable_arguments_exit_with_two(arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_it_is_installed():
    done = subprocess.run([Path(sys.executable).parent / "titop", "--help"], capture_output=True, text=True, check=True)
    for verb in ("check", "info", "draw", "sim"):
        assert verb in done.stdout
