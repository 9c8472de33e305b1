"""Parts of finite elements joined to a hub by ports: time to connect them, and of each frequency (one sparse factorisation).

Grillages of beams, which are to a sparse factorisation what plates are: a long boom, twenty beams wide, and a square panel;
each with 100,000 coordinates by default. Beside them, the part reduced to twenty modes, and how far its response is from the
whole part's.

Run it: ``OPENBLAS_NUM_THREADS=1 python examples/benchmarks/finite_elements.py``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy.sparse import csc_array

import titop as tt

#: Of an element (SI units): mass per length, polar moment per length, stiffness of stretch, torsion and bending.
LINE, POLAR, EA, GJ, EI = 0.5, 1e-3, 1e5, 20.0, 50.0
#: Length of the longer sides (m).
SIDE = 2.0
OMEGA = np.array([0.3, 3.0, 30.0])


def element(length: float) -> tuple[Any, Any]:
    """Return mass (lumped) and stiffness (12, 12) of a beam element along x, six motions a node."""
    K, a, b = np.zeros((12, 12)), 6 * length, length**2
    for k, stiffness in ((0, EA), (3, GJ)):
        K[np.ix_([k, k + 6], [k, k + 6])] = stiffness / length * np.array([[1, -1], [-1, 1]])
    bending = np.array([[12, a, -12, a], [a, 4 * b, -a, 2 * b], [-12, -a, 12, -a], [a, 2 * b, -a, 4 * b]]) * EI / length**3
    for entries, turn in (([1, 5, 7, 11], 1.0), ([2, 4, 8, 10], -1.0)):
        K[np.ix_(entries, entries)] = np.outer([1.0, turn, 1.0, turn], [1.0, turn, 1.0, turn]) * bending
    return np.diag([*[LINE] * 3, *[POLAR] * 3] * 2) * length / 2, K


def part(name: str, columns: int, rows: int) -> tt.FiniteElementPart:
    """Return a grillage of beams along x and y as a part, with ports at the middle of one side and of the opposite one."""
    length, nodes = SIDE / max(columns - 1, rows - 1), np.arange(columns * rows).reshape(rows, columns)
    M, K = element(length)
    turn = np.kron(np.eye(4), [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # from the mesh's axes to those along y
    along_x = nodes[:, :-1].ravel(), nodes[:, 1:].ravel(), M, K
    along_y = nodes[:-1].ravel(), nodes[1:].ravel(), turn.T @ M @ turn, turn.T @ K @ turn
    matrices = []
    for k in (2, 3):
        pieces = []
        for first, last, *both in (along_x, along_y):
            places = np.hstack([6 * node[:, None] + np.arange(6) for node in (first, last)])
            values = np.tile(both[k - 2].ravel(), len(places))
            pieces.append((values, np.repeat(places, 12, axis=1).ravel(), np.tile(places, 12).ravel()))
        x, i, j = (np.concatenate(each) for each in zip(*pieces, strict=True))
        matrices.append(csc_array((x, (i, j)), (6 * nodes.size,) * 2))
    ends = {port: 6 * int(nodes[rows // 2, k]) + np.arange(6) for port, k in (("R", 0), ("C", -1))}
    return tt.FiniteElementPart(name, *matrices, ends)


def hub() -> list[Any]:
    """Return the blocks of a hub on a spring."""
    s = tt.System("craft", gravity=[0, 0, 0])
    body = tt.RigidBody("hub", 4.0, inertia=[1, 2, 3], ports={"A": [0.2, 0, 0]})
    s.connect("world", body, tt.Revolute("hinge", [0, 1, 0], stiffness=40.0, damping=0.1))
    m = s.resolve()
    return [tt.block_system(m, m.neutral(), name) for name in ("hinge", "hub")]


def timed(function: Any, *arguments: Any) -> tuple[float, Any]:
    """Return the processor time (s) of a call, and its result."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--coordinates", type=int, default=100_000, help="of each part (default: %(default)s)")
    count = parser.parse_args().coordinates // 6
    blocks, joints = hub(), [("hinge.C", "hub.P"), ("hub.A", "panel.R")]
    ends = ["hinge.tau"], ["hinge.q", "panel.C.xi[2]"]
    print(
        f"{'part':12}{'coordinates':>12}{'matrices':>10}{'connect':>10}{'frequency':>11}{'reduce':>9}{'difference':>12}   (s)"
    )
    for name, columns, rows in (("boom", count // 20, 20), ("panel", int(count**0.5), int(count**0.5))):
        made, panel = timed(part, "panel", columns, rows)
        joined, system = timed(tt.connect_blocks, [*blocks, panel], joints, *ends)
        each, response = timed(system.frequency_response, OMEGA)
        reduced, few = timed(panel.reduce, 20)
        small = tt.connect_blocks([*blocks, few], joints, *ends)(1j * OMEGA)
        difference = np.abs(small - response.frdata).max() / np.abs(small).max()
        times = f"{made:10.2f}{joined:10.2f}{each / len(OMEGA):11.2f}{reduced:9.1f}"
        print(f"{name:12}{panel.mass.shape[0]:12}{times}{difference:12.1e}")


if __name__ == "__main__":
    main()
