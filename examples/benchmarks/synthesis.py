"""Fixed-structure tuning and full-order synthesis on plants of COMPleib, beside the best norms known and beside slycot.

COMPleib (F. Leibfritz, *COMPleib: constraint matrix-optimization problem library*, 2004) is not part of titop. Give an ``.npz``
file with ``NAME__A``, ``B1``, ``B``, ``C1``, ``C``, ``D11``, ``D12`` and ``D21`` of each plant (``D22`` is zero, ``u = K y``),
and a JSON list of cases: ``{"name": ..., "order": 0, "kind": "hinf" or "h2", "best": ...}``; order zero is a static gain.

For each case: norm over the best known, and seconds of the processor. For each plant of an H-infinity case: the gain of
`tt.hinfsyn` over its certified optimum, its seconds, and gain and seconds of slycot over these; slycot, where it is installed,
has a process of its own and a minute at most, as it does not always come back.

Run it: ``OMP_NUM_THREADS=1 python examples/benchmarks/synthesis.py plants.npz best.json``
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import control
import numpy as np

import titop as tt

PATIENCE = 60.0  # s


def plant(matrices: Any, name: str) -> tuple[control.StateSpace, list[list[str]]]:
    """Return a plant and the names of its disturbances, controls, errors and measurements."""
    A, B1, B, C1, C, D11, D12, D21 = (matrices[f"{name}__{key}"] for key in ("A", "B1", "B", "C1", "C", "D11", "D12", "D21"))
    sizes = {"w": B1.shape[1], "u": B.shape[1], "z": len(C1), "y": len(C)}
    w, u, z, y = names = [[f"{kind}{k}" for k in range(size)] for kind, size in sizes.items()]
    D = np.block([[D11, D12], [D21, np.zeros((len(y), len(u)))]])
    return control.ss(A, np.hstack([B1, B]), np.vstack([C1, C]), D, inputs=w + u, outputs=z + y, name="P"), names


def tuned(P: control.StateSpace, names: list[list[str]], case: dict[str, Any]) -> str:
    """Return a row: what is tuned, over the best known, and seconds."""
    w, u, z, y = names
    order = case["order"]
    block = tt.Tunable.state_space("K", y, u, order) if order else tt.Tunable.matrix("K", y, u)
    goal = tt.Goal.h2(w, z) if case["kind"] == "h2" else tt.Goal.gain(w, z)
    begin = time.process_time()
    result = tt.tune(P, block, goal, sign=1, progress=False)
    spent = time.process_time() - begin
    return f"{result.goals[0].value / case['best']:.4f} | {spent:.1f}"


def by_slycot(P: control.StateSpace, ny: int, nu: int, answer: Any) -> None:
    """Send gain and seconds of python-control's `hinfsyn`, which calls slycot."""
    begin = time.process_time()
    gain = control.hinfsyn(control.ss(P.A, P.B, P.C, P.D), ny, nu)[2]
    answer.send((float(gain), time.process_time() - begin))


def synthesized(P: control.StateSpace, names: list[list[str]]) -> str:
    """Return a row: gain of `hinfsyn` over its optimum, seconds, slycot's gain and seconds over these."""
    _, u, _, y = names
    begin = time.process_time()
    result = tt.hinfsyn(P, y, u)
    spent = time.process_time() - begin
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=by_slycot, args=(P, len(y), len(u), sender))
    process.start()
    sender.close()
    try:
        gain, seconds = receiver.recv() if receiver.poll(PATIENCE) else (np.nan, np.inf)
    except EOFError:  # it failed, or is not installed
        gain, seconds = np.nan, np.nan
    process.terminate()
    return f"{result.gain / result.optimum:.4f} | {spent:.2f} | {gain / result.gain:.4f} | {seconds / spent:.1f}"


def main() -> None:
    """Print both tables as markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plants", type=Path, help="matrices of COMPleib, as .npz")
    parser.add_argument("best", type=Path, help="cases with the best norms known, as JSON")
    arguments = parser.parse_args()
    matrices, cases = np.load(arguments.plants), json.loads(arguments.best.read_text())
    print("| plant, order, norm | over the best known | s |\n|---|---|---|")
    for case in cases:
        P, names = plant(matrices, case["name"])
        print(f"| {case['name']}, {case['order']}, {case['kind']} | {tuned(P, names, case)} |", flush=True)
    print("\n| plant, states | gain over optimum | s | slycot's gain over this | its time over this |\n|---|---|---|---|---|")
    for name in dict.fromkeys(case["name"] for case in cases if case["kind"] == "hinf"):
        P, names = plant(matrices, name)
        print(f"| {name}, {P.nstates} | {synthesized(P, names)} |", flush=True)


if __name__ == "__main__":
    main()
