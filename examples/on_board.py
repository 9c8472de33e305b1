"""The controller of `pointing_control` goes on board: it and its satellite become C, two processes that exchange lines.

`tt.export_c` writes both, each with a test of its own. The two short programs in `on_board/` are what a project adds: one calls
the controller, one integrates the plant. What comes out is compared with `tt.simulate`, where there is a C compiler.

Run it: ``python examples/on_board.py`` draws ``on_board.png``; ``--folder on_board_c`` keeps the C.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pointing_control
import satellite
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array

DURATION, LONGEST_STEP = 40.0, 0.02  # s
REFERENCE = dict(zip(pointing_control.ANGLES, pointing_control.STEP, strict=True))
HERE = Path(__file__).parent / "on_board"


def loop(model: tt.Model) -> tt.Loop:
    """Return the controller with its delay, about the satellite at rest: it takes outputs and references, and gives torques."""
    point = tt.trim(model, q=model.neutral())
    return tt.Loop(pointing_control.design(model), delay=pointing_control.DELAY, reference=REFERENCE, operating_point=point)


def write(model: tt.Model, folder: Path) -> None:
    """Write the controller and the plant as C, one folder each."""
    folder.mkdir(exist_ok=True)
    names = tt.export_c(loop(model), folder / "control", prefix="control")
    measured = [name for name in names if name.startswith(("star_tracker", "gyro"))]
    wheels = [name for name in model.input_names if name.endswith("/motor")]
    tt.export_c(model.program("rates", inputs=wheels, outputs=measured), folder / "plant", prefix="plant")


def compiler() -> str | None:
    """Return a C compiler, if there is one."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build(folder: Path) -> dict[str, str]:
    """Compile both, run their tests, and return what these say."""
    said = {}
    for prefix, main in (("control", "controller"), ("plant", "plant")):
        sources, code = folder / prefix, folder / prefix / f"{prefix}.c"
        for target, source in (("test", sources / f"test_{prefix}.c"), ("run", HERE / f"{main}.c")):
            command = [
                str(compiler()),
                "-std=c99",
                "-O2",
                f"-I{sources}",
                str(code),
                str(source),
                "-o",
                str(sources / target),
                "-lm",
            ]
            subprocess.run(command, check=True)
        said[prefix] = subprocess.run([sources / "test"], check=True, capture_output=True, text=True).stdout.strip()
    return said


def run(folder: Path, samples: int) -> Array:
    """Run both processes, joined by pipes, and return the outputs at the samples (samples, 6)."""
    control = [
        str(folder / "control" / "run"),
        *(repr(float(REFERENCE.get(name, 0.0))) for name in [*pointing_control.ANGLES, *pointing_control.RATES]),
    ]
    numbers = (samples, pointing_control.SAMPLE_TIME, pointing_control.DELAY, LONGEST_STEP)
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(control, **pipe) as controller:
        plant = subprocess.run(
            [str(folder / "plant" / "run"), *map(repr, numbers)],
            stdin=controller.stdout,
            stdout=controller.stdin,
            stderr=subprocess.PIPE,
            check=True,
        )
        controller.stdin.close()
    return np.loadtxt(plant.stderr.decode().splitlines())


def draw(t: Array, simulated: Array, found: Array | None) -> Figure:
    """Draw the attitude errors of both, and the differences."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    angles, differences = figure.subplots(1, 2)
    angles.plot(
        t, 1e3 * (simulated[:, :3] - pointing_control.STEP), linewidth=1, label=[f"theta[{k}], tt.simulate" for k in range(3)]
    )
    angles.set(title="attitude errors", ylabel="mrad", xlabel="t [s]")
    if found is not None:
        angles.plot(t, 1e3 * (found[:, :3] - pointing_control.STEP), "k.", markersize=2, label=["two processes in C", "_", "_"])
        differences.semilogy(t, np.abs(found - simulated)[:, :3].max(axis=1) + 1e-18, linewidth=1, label="angles [rad]")
        differences.semilogy(t, np.abs(found - simulated)[:, 3:].max(axis=1) + 1e-18, linewidth=1, label="rates [rad/s]")
        differences.legend(fontsize=8, loc="lower right")
    differences.set(title="largest difference of both", xlabel="t [s]")
    angles.legend(fontsize=8)
    for axis in (angles, differences):
        axis.grid(alpha=0.3)
    return figure


def main(argv: list[str] | None = None) -> tuple[Array, Array | None]:
    """Write, compile, run, compare and draw."""
    parser = argparse.ArgumentParser(description="A satellite and its controller as C, in two processes.")
    parser.add_argument("--output", default="on_board.png")
    parser.add_argument("--folder", help="a new folder that keeps the C")
    arguments = parser.parse_args(argv)
    model = satellite.build().resolve()
    t = np.arange(0, DURATION, pointing_control.SAMPLE_TIME)
    given = {"controller": loop(model), "rtol": 1e-11, "atol": 1e-12}
    simulated = tt.simulate(model, t, model.neutral(), np.zeros(model.nv), **given).control.y[: len(t)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments.folder or f"{scratch}/on_board_c")
        write(model, folder)
        found = None
        if compiler() is None:
            print("there is no C compiler here: nothing was run")
        else:
            print(*build(folder).values(), sep="\n")
            found = run(folder, len(t))
            print(
                f"two processes and tt.simulate differ by at most {np.abs(found - simulated).max():.1e} rad in {DURATION:.0f} s"
            )
    draw(t, simulated, found).savefig(arguments.output)
    return simulated, found


if __name__ == "__main__":
    main()
