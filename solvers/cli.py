"""The command line: ``titop check``, ``info``, ``draw`` and ``sim`` on a model file or a robot's, and ``titop compile``.

Exit codes: 0 when all is well, 1 when the model is refused or a simulation fails, 2 for unusable arguments, 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, ModelWarning
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.tolerances import EXACT
from titop.blocks.basics.user_input import check_suffix
from titop.graph.drawing.text import constraint_count
from titop.graph.load import load
from titop.graph.robots.mjcf import from_mjcf
from titop.graph.robots.sdf import from_sdf
from titop.graph.robots.urdf import from_urdf
from titop.graph.robots.xml_gate import read_xml
from titop.graph.system import System
from titop.solvers.engines.compiled.compile_ahead import compile_ahead, write_for_wheels
from titop.solvers.model.model import Model
from titop.solvers.simulation.simulate import METHODS, simulate

#: Options of ``sim`` that give a number by name, any number of times.
_ASSIGNMENTS = {
    "position": "start value of a coordinate, such as hinge=0.3",
    "velocity": "start velocity of a coordinate, such as hinge=1.0; others are zero",
    "input": "constant input of an actuator, such as motor=0.2; others are zero",
    "set": "value of a parameter, such as slider.mass=2",
}


#: More output times would take days, and more memory than there is.
_MOST_OUTPUTS = 1e8


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    `argv`: arguments; those of the process by default.
    """
    arguments = _parser().parse_args(argv)
    if arguments.run is compile_kernels:
        return _compile(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            arguments.warnings = caught
            warnings.simplefilter("always", ModelWarning)
            system = read_system(Path(arguments.model), arguments.base, arguments.repair)
            arguments.run(system, arguments)
    except (ModelError, ConvergenceError, OSError) as error:
        print(f"titop: {arguments.model}: {error}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"titop: {arguments.model}: stopped", file=sys.stderr)
        return 130
    finally:
        sys.stdout.flush()
    for warning in caught:
        print(f"titop: warning: {warning.message}", file=sys.stderr)
    return 0


def read_system(path: Path, base: str | None = None, repair: bool = False) -> System:
    """Return the system of a model file (``.toml``) or of a robot: ``.urdf``, ``.sdf``, ``.mjcf``, or ``.xml`` of any of these.

    Raises `ModelError` with everything that is wrong with it. `base` ("fixed", "free"): how a robot's root stands in the world.
    `repair`: whether a robot is mended; see `from_urdf`.
    """
    ending = path.suffix.lower()
    kind = {"mujoco": ".mjcf", "sdf": ".sdf"}.get(read_xml(path).tag, ".urdf") if ending == ".xml" else ending
    if kind == ".urdf":
        return from_urdf(path, base=base or "fixed", repair=repair)
    if kind in (".sdf", ".world"):
        return from_sdf(path, base=base, repair=repair)
    return from_mjcf(path, base=base, repair=repair) if kind == ".mjcf" else load(path)


def check(system: System, arguments: argparse.Namespace) -> None:
    """Say that the system can be resolved, and how many warnings there are."""
    model = system.resolve()
    suspicious = len(arguments.warnings)
    size = f"{len(model.body_names)} bodies, {model.nv} degrees of freedom"
    constraints = constraint_count(system)
    if constraints:
        size += f" before {constraints}"
    print(f"{arguments.model}: {size}, no errors, {suspicious} warning{'' if suspicious == 1 else 's'}")


def info(system: System, arguments: argparse.Namespace) -> None:
    """Print the diagram, coordinates, closures, inputs and outputs."""
    model = system.resolve()
    print(system)
    print(f"nq = {model.nq}, nv = {model.nv}, nu = {model.nu}")
    for title, names in (
        ("coordinates", model.coordinate_names),
        *(
            (f"{word}s", [loop.closure.name for loop in system.loops if loop.word == word])
            for word in ("closure", "interaction")
        ),
        ("gears", [gear.name for gear in system.gears]),
        ("inputs", model.input_names),
        ("outputs", model.output_names),
    ):
        if names:
            print(f"{title}: {', '.join(names)}")


def draw(system: System, arguments: argparse.Namespace) -> None:
    """Draw the block diagram into a file: a picture, Mermaid (``.mmd``) or DOT (``.dot``)."""
    output = Path(arguments.output)
    texts = {".mmd": system.to_mermaid, ".dot": system.to_dot}
    if (text := texts.get(output.suffix.lower())) is not None:
        with replaced_file(output) as file:
            file.write(text().encode())
    else:
        system.draw(output)
    print(f"drawn to {output}")


def sim(system: System, arguments: argparse.Namespace) -> None:
    """Simulate from a configuration, and save or draw the motion."""
    from matplotlib.backend_bases import FigureCanvasBase

    if arguments.output is not None:
        check_suffix(arguments.output, ("npz", "html", *FigureCanvasBase.get_supported_filetypes()))
    parameters = dict(arguments.set)
    model = system.resolve()
    model = model.with_parameters(parameters) if parameters else model
    q0, v0 = model.configuration(dict(arguments.position)), model.velocity(dict(arguments.velocity))
    if model.is_constrained:
        q0 = model.assemble(q0, _assigned_coordinates(model, arguments.position))
        v0 = model.assemble_velocity(q0, v0, _assigned_coordinates(model, arguments.velocity))
    if arguments.duration > _MOST_OUTPUTS * arguments.step:
        got, expected = f"{arguments.duration / arguments.step:.3g} output times", f"at most {_MOST_OUTPUTS:.0e}"
        raise ModelError(Finding("bad-times", "--step", got, expected, "take a longer step: integrators choose their own"))
    times = np.arange(0.0, arguments.duration, arguments.step)
    times = np.append(times[times < arguments.duration * (1 - EXACT)], arguments.duration)
    trajectory = simulate(model, times, q0, v0, u=dict(arguments.input), method=arguments.method)
    for name, value in zip(model.configuration_names, trajectory.q[-1], strict=True):
        print(f"{name} = {value:.9g}")
    for finding in trajectory.violations():
        print(f"titop: warning: {finding}", file=sys.stderr)
    if arguments.output is None:
        return
    output = Path(arguments.output)
    if output.suffix.lower() == ".npz":
        trajectory.save(output)
    elif output.suffix.lower() == ".html":
        trajectory.animate(output)
    else:
        trajectory.plot().savefig(output)
    print(f"written to {output}")


def compile_kernels(workers: int | None, for_wheels: bool) -> None:
    """Compile everything ahead, so that no later process waits for it."""
    if for_wheels:
        count = write_for_wheels(workers)
        print(f"{count} functions written; wheels that are built from here take all along")
        return
    count = compile_ahead(workers)
    print(f"{count} functions compiled" if count else "everything was compiled already")


def _compile(arguments: argparse.Namespace) -> int:
    try:
        compile_kernels(arguments.workers, arguments.for_wheels)
    except ModelError as error:
        print(f"titop: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _assigned_coordinates(model: Model, assignments: Sequence[tuple[str, float]]) -> list[str]:
    """Return the coordinates that were given values, or their joints where entries of quaternions were."""
    return [name if name in model.coordinate_names else owner_of(name) for name, _ in assignments]


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"one process or more, not {text}")
    return number


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < np.inf:
        raise argparse.ArgumentTypeError(f"a positive number of seconds, not {text}")
    return value


def _assignment(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"NAME=NUMBER, not {text!r}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="titop", description="Check, describe, draw and simulate multibody models.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    ahead = verbs.add_parser("compile", help=(compile_kernels.__doc__ or "").splitlines()[0])
    ahead.add_argument("--workers", type=_count, help="number of processes; as many as there are processors by default")
    ahead.add_argument("--for-wheels", action="store_true", help="into titop's own folder, for all processors and Pythons")
    ahead.set_defaults(run=compile_kernels)
    for run in (check, info, draw, sim):
        verb = verbs.add_parser(run.__name__, help=(run.__doc__ or "").splitlines()[0])
        verb.add_argument("model", help="a model file (.toml) or a robot description (.urdf, .sdf, .mjcf, .xml)")
        verb.add_argument("--base", choices=["fixed", "free"], help="how a robot's root stands in the world")
        verb.add_argument("--repair", action="store_true", help="mend what real robot files have wrong, and say so")
        verb.set_defaults(run=run)
        if run is draw:
            verb.add_argument("--output", default="diagram.png", help=".png, .svg, .pdf, .mmd or .dot")
        if run is sim:
            verb.add_argument("--duration", type=_positive, default=10.0, help="s")
            verb.add_argument("--step", type=_positive, default=0.01, help="between outputs, s")
            verb.add_argument("--method", choices=METHODS, default="DOP853")
            for option, meaning in _ASSIGNMENTS.items():
                verb.add_argument(
                    f"--{option}", action="append", default=[], type=_assignment, metavar="NAME=NUMBER", help=meaning
                )
            verb.add_argument("--output", help=".npz (data), .html (animation) or a picture")
    return parser


if __name__ == "__main__":
    sys.exit(main())
