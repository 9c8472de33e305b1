"""What programs of one system cost beside titop's own kernels, and beside peers: `m.program` and the C of `tt.export_c`.

Nanoseconds of processor time a state on one core, the least of interleaved repeats in one process, after the results were
compared. Of every system: operations, seconds until a program is there (recorded; compiled, if the cache has it not), a stack
through the program and through the model's own call, and one state. Of the arm beside these: C by gcc over the same rows,
Pinocchio and CasADi's generated C, as in `stacked.py`.

Run it: ``OPENBLAS_NUM_THREADS=1 python examples/benchmarks/programs.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from closed_loops import chain as bars
from closed_loops import linkage
from models import fixed_arm, system
from stacked import ROWS, Calls, beside_peers, finger_on_beam, flexible, humanoid, least, rubbing, stacks, touching

import titop as tt

#: What is asked for, by its label.
KINDS = {
    "ID": "inverse_dynamics",
    "FD": "forward_dynamics",
    "M": "mass_matrix",
    "dID": "inverse_dynamics_derivatives",
    "dFD": "forward_dynamics_derivatives",
}
#: Arguments by function.
GIVEN = {"ID": "q v a", "FD": "q v tau", "M": "q", "dID": "q v a", "dFD": "q v tau"}
#: How far results may be from the model's own, relative to the largest entry: sums in another order, over a hundred bodies.
ALIKE = 1e-11

#: Systems and the functions that are asked of them: derivatives of thirty joints are too long for a program.
SYSTEMS: dict[str, tuple[Callable[[], tt.Model], tuple[str, ...]]] = {
    "7 hinges": (lambda: system(fixed_arm()).resolve(), tuple(KINDS)),
    "6 hinges with springs, dampers, friction, stops": (lambda: rubbing().resolve(), ("ID", "FD", "dFD")),
    "ball on a plane": (lambda: touching().resolve(), ("ID", "FD", "dFD")),
    "four-bar linkage": (lambda: linkage().resolve(), ("FD",)),
    "ten bars": (lambda: bars("open"), ("ID", "FD", "M")),
    "ten bars, geared": (lambda: bars("gear"), ("FD",)),
    "3 hinges, 2 flexible bodies of 4 modes": (lambda: flexible().resolve(), ("ID", "FD", "M")),
    "beam that stiffens, finger of 3 hinges": (lambda: finger_on_beam().resolve(), ("ID", "FD")),
    "free base and 29 joints": (lambda: system(humanoid()).resolve(), ("ID", "FD")),
}

#: How the C is mapped over states.
_LOOP = """
int states_{kind}(long long count, {arrays}) {{
  long long k;
  for (k = 0; k < count; k++)
    if ({name}({entries})) return 1;
  return 0;
}}
"""


def program_of(m: tt.Model, kinds: tuple[str, ...]) -> tuple[tt.Program, float, float]:
    """Return a program, and the seconds that recording and compiling for stacks took."""
    begin = time.process_time()
    program = m.program(*(KINDS[kind] for kind in kinds))
    recorded, given = time.process_time() - begin, stacks(m, 2)
    begin = time.process_time()
    for kind in kinds:
        getattr(program, KINDS[kind])(*(given[name] for name in GIVEN[kind].split()))
    return program, recorded, time.process_time() - begin


def calls_of(label: str, m: tt.Model, program: tt.Program, kinds: tuple[str, ...]) -> Calls:
    """Return calls of the model and of its program, of stacks and of one state, compared."""
    given, calls = stacks(m), Calls()
    for kind in kinds:
        arguments = [given[name] for name in GIVEN[kind].split()]
        own, through = (getattr(which, KINDS[kind]) for which in (m, program))
        expected, found = (np.asarray(function(*arguments)) for function in (own, through))
        if (error := np.abs(found - expected).max() / np.abs(expected).max()) > ALIKE:
            raise RuntimeError(f"{label}: the program disagrees: {kind} by {error:.1e}")
        single = [array[0] for array in arguments]
        calls[label, kind, "program"] = partial(through, *arguments), ROWS
        calls[label, kind, "kernels"] = partial(own, *arguments), ROWS
        calls[label, kind, "program, one state"] = partial(through, *single), 1
        calls[label, kind, "kernels, one state"] = partial(own, *single), 1
    return calls


def c_calls(program: tt.Program, given: dict[str, Any]) -> Calls:
    """Return calls of the exported C, compiled by gcc; none where it is not installed."""
    calls = Calls()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "arm")
        tt.export_c(program, source, "arm")
        kinds = {}
        for kind, function in KINDS.items():
            names, outputs = GIVEN[kind].split(), program.functions[function].outputs
            sizes = [len(each.values) for name, each in outputs.items() if name != "health"]
            begins = np.cumsum([0, *sizes])
            given_here = [f"{name} + 7 * k" for name in names] + [f"out + {begins[-1]} * k + {begin}" for begin in begins[:-1]]
            arrays = ", ".join([*(f"const double *{name}" for name in names), "double *out"])
            kinds[kind] = (
                _LOOP.format(kind=kind, arrays=arrays, name=f"arm_{function}", entries=", ".join(given_here)),
                begins[-1],
            )
        Path(source, "loop.c").write_text('#include "arm.h"\n' + "".join(text for text, _ in kinds.values()), "utf-8")
        options = ["-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
        try:
            subprocess.run(["gcc", *options, "arm.c", "loop.c", "-lm", "-o", "arm.so"], check=True, cwd=source)
        except FileNotFoundError:
            return calls
        library = ctypes.CDLL(str(source / "arm.so"))
    for kind, (_, size) in kinds.items():
        states, out, kept = getattr(library, f"states_{kind}"), np.empty((ROWS, size)), [given[x] for x in GIVEN[kind].split()]
        states.argtypes = [ctypes.c_longlong, *[ctypes.c_void_p] * (len(kept) + 1)]
        run = partial(_run, states, [*kept, out])
        run()
        expected = np.asarray(getattr(program, KINDS[kind])(*kept))
        expected = np.moveaxis(expected, 0, 1) if kind in ("dID", "dFD") else expected
        if np.abs(out - expected.reshape(ROWS, -1)).max() > ALIKE * np.abs(expected).max():
            raise RuntimeError(f"the C disagrees: {kind}")
        calls["7 hinges", kind, "C"] = run, ROWS
    return calls


def _run(states: Any, arrays: list[np.ndarray]) -> None:
    if states(ROWS, *(array.ctypes.data for array in arrays)):
        raise RuntimeError("the C has found no inertia")


def linear_matrices(repeats: int) -> str:
    """Return what A, B, C and D of the balloon take at a thousand points, and how far `tt.linearize` is from them."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from balloon import build

    m = build().resolve()
    inputs, outputs = [m.coordinate_names[-1]], [f"{name}.q" for name in m.coordinate_names[-2:]]
    program, given = m.linear_program(inputs, outputs), stacks(m, 1000)
    points = [given[name] for name in ("q", "v", "tau")]
    found, error = program.linear_matrices(*points), 0.0
    for k, point in enumerate(zip(*points, strict=True)):
        model = tt.linearize(m, point, inputs=inputs, outputs=outputs)
        for mine, matrix in zip(found, (model.A, model.B, model.C, model.D), strict=True):
            error = max(error, np.abs(mine[k] - matrix).max() / max(1.0, np.abs(matrix).max()))
    calls: Calls = {"balloon": (partial(program.linear_matrices, *points), 1000)}
    took = least(calls, repeats, time.process_time)["balloon"]
    return f"| balloon, A, B, C, D at 1,000 points: {took:,.0f} each, {error:.0e} from tt.linearize |"


def main() -> None:
    """Time all calls and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="turns of every call, of which the fastest counts")
    parser.add_argument("--only", choices=SYSTEMS, help="one system alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", tt.ModelWarning)
    print("| ns a state | operations | recorded, compiled (s) | program | kernels | program, one state | kernels, one state |")
    print("|---" * 7 + "|")
    for label, (make, kinds) in SYSTEMS.items():
        if arguments.only not in (None, label):
            continue
        m = make()
        program, recorded, compiled = program_of(m, kinds)
        times = least(calls_of(label, m, program, kinds), arguments.repeats, time.process_time)
        for kind in kinds:
            cells = [times[label, kind, f"{which}{state}"] for state in ("", ", one state") for which in ("program", "kernels")]
            size = program.functions[KINDS[kind]].operations
            seconds = f"{recorded:.1f}, {compiled:.1f} (all)"
            print(
                f"| {label}: {kind} | {size:,} | {seconds} | " + " | ".join(f"{each:,.0f}" for each in cells) + " |", flush=True
            )
        if label == "7 hinges":
            peers = beside_peers(label, m, fixed_arm(), True)
            others = {key: value for key, value in peers.items() if key[2] not in ("titop", "MuJoCo")}
            found = least(c_calls(program, stacks(m)) | others, arguments.repeats, time.process_time)
            print(linear_matrices(arguments.repeats), flush=True)
            for engine in ("C", "Pinocchio", "CasADi"):
                shown = ", ".join(
                    f"{kind} {found[label, kind, engine]:,.0f}" for kind in KINDS if (label, kind, engine) in found
                )
                print(f"| {label}, {engine}: {shown} |", flush=True)


if __name__ == "__main__":
    main()
