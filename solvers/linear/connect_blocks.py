"""Linear TITOP blocks connected by their ports: one state space, without the states that several blocks have of one motion.

The equations of `BlockNetwork` are solved for the blocks' inputs. A motion that two blocks integrate is found from the blocks
themselves: the velocity of a port is the row H with ``H dx/dt = dV`` for all states and inputs, its displacement the row K with
``K dx/dt = H x - ad(V0) K x``. Connected ports have the same ones; this determines the superfluous states by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import RANK, ROUNDING, SAME, SINGULAR, STEADY
from titop.solvers.linear.block_network import BlockEnds, BlockNetwork, sizes_of
from titop.solvers.linear.finite_elements import FiniteElementPart, SparseSystem, sparse_system
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import is_state_space, named_signals, named_system, positions, refuse_not_finite
from titop.solvers.signals.exported import refuse_twice
from titop.solvers.signals.grammar import read_names

if TYPE_CHECKING:
    from control import StateSpace

#: So often rows and columns are scaled until their largest entries are near one: halfway each time.
_ROUNDS = 20


def connect_blocks(
    blocks: Sequence[Any], connections: Sequence[Any], inputs: Sequence[str] | str, outputs: Sequence[str] | str
) -> StateSpace | SparseSystem:
    """Return linear TITOP blocks connected by their ports.

    At a connection motions are equal, and the wrenches of both sides in balance. What blocks exchange instantaneously is
    solved for, also around loops. Several blocks that integrate the same motion have its states once. So the blocks of a
    system about one operating point become its linear model.

    Parameters
    ----------
    blocks : sequence of control.StateSpace or FiniteElementPart
        Of `block_system`, from files, or made by hand, in continuous time. A port ``hub.A`` has six motions ``hub_A_dV[0..5]``
        and six wrenches ``hub_A_W[0..5]``, linear parts first; of each pair one is an input, the other an output. Wrenches are
        those applied to the block, but at the port named ``P`` (``parent``, where another has that name) those that the block
        applies. Pairs ``hinge_a``, ``hinge_tau`` are coordinates. States ``arm_P_xi[0..5]``, ``arm_P_V[0..5]`` are those of a
        port's motion.
    connections : sequence of tuples
        ``("hub.A", "hinge.P")``, in any order. Ports that share a frame need no more; else a `Pose` of the second port in the
        first follows, and (or None for it) a matrix (6, k) of the connected directions in the second port's axes: the motions
        along the others are independent, and no wrench acts along them. ``"world"`` is a port that rests.
    inputs : sequence of str
        ``"hinge.tau"`` or ``"hinge.a"``: effort or acceleration; ``"hub.A.W"``: a wrench at a port, connected or not; any
        other input of a block. Efforts, wrenches and motions that are neither connected nor named are zero: a coordinate is
        free, a free child port unloaded, a parent port fixed.
    outputs : sequence of str
        Inputs, outputs and states of blocks.

    Returns
    -------
    control.StateSpace or SparseSystem
        A `SparseSystem` if there is a part of finite elements.

    Raises
    ------
    ModelError
        For unknown signals and ports, sampled blocks, loops that leave motions or wrenches undetermined, and parts that spin
        on others that may move, whose blocks are those of one moment.

    Notes
    -----
    Ports in steady motion are measured in frames that move with them; ``V0`` is read from the states ``xi``.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1])
    >>> s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> parts = [tt.block_system(m, m.neutral(), name) for name in ("hinge", "bob")]
    >>> swing = tt.connect_blocks(parts, [("hinge.C", "bob.P")], inputs=["hinge.tau"], outputs=["hinge.q"])
    >>> swing.state_labels, (-swing.poles().imag**2).round(6).tolist()
    (['hinge_q', 'hinge_v'], [-9.81, -9.81])
    """
    given = list(blocks) if isinstance(blocks, Sequence) else [blocks]
    if not given:
        raise ModelError(Finding("no-block", "blocks", blocks, "one block at least", "pass what tt.block_system returns"))
    for k, block in enumerate(given):
        _check(f"blocks[{k}]", block)
    ends = [_ends(block) for block in given]
    network = BlockNetwork(ends, connections, inputs)
    if any(isinstance(block, FiniteElementPart) for block in given):
        return sparse_system(given, network, outputs)
    states = [signal for block in given for signal in named_signals(block)[0]]
    refuse_twice("state", states)
    parts = [Matrices.of(block) for block in given]
    entering = [network.signals[k] for k in network.entering]
    scale = network.scale(parts, states)
    x, z, e = (sizes_of(scale, signals) for signals in (states, network.signals, entering))
    network.connections = [one.in_lengths(scale.length) for one in network.connections]
    parts = _scaled(parts, scale.rate, x, z[: len(network.inputs)], z[len(network.inputs) :])
    closed, z_by_x, z_by_e = _solve(side_by_side(parts), network)
    kept, basis = _without_duplicates(parts, network, [signal.name for signal in states])
    known = [*network.signals, *states]
    wanted = positions("outputs", read_names("outputs", outputs), known)
    C, D = np.vstack([z_by_x, np.eye(len(states))]), np.vstack([z_by_e, np.zeros((len(states), z_by_e.shape[1]))])
    connected = Matrices(closed.A[kept] @ basis, closed.B[kept], C[wanted] @ basis, D[wanted])
    (matrices,) = _scaled([connected], 1.0 / scale.rate, 1.0 / x[kept], 1.0 / e, 1.0 / np.concatenate([z, x])[wanted])
    return named_system([*matrices], [states[k] for k in kept], entering, [known[k] for k in wanted], "connected")


def _scaled(parts: Sequence[Matrices], rate: float, x: Array, u: Array, y: Array) -> list[Matrices]:
    """Return models by states, inputs and outputs in parts of these sizes, one model's after the other's, and of a rate."""
    ends = np.cumsum([(len(part.A), part.B.shape[1], len(part.C)) for part in parts], axis=0)[:-1].T
    return [
        Matrices(A * a / (rate * a[:, None]), B * b / (rate * a[:, None]), C * a / c[:, None], D * b / c[:, None])
        for (A, B, C, D), a, b, c in zip(parts, *map(np.split, (x, u, y), ends), strict=True)
    ]


def _check(where: str, block: Any) -> None:
    if isinstance(block, FiniteElementPart):
        return
    if not is_state_space(block):
        expected = "a linear block: control.StateSpace or tt.FiniteElementPart"
        raise ModelError(Finding("wrong-type", where, block, expected, "pass what tt.block_system returns"))
    refuse_not_finite(where, block)
    if block.dt:
        advice = "connect first, then sample the result with control.c2d"
        got = f"a sample time of {block.dt} s"
        raise ModelError(Finding("sampled-block", where, got, "a block in continuous time", advice))


def _ends(block: Any) -> BlockEnds:
    return block.ends if isinstance(block, FiniteElementPart) else BlockEnds(str(block.name), *named_signals(block)[1:])


def _solve(blocks: Matrices, network: BlockNetwork) -> tuple[Matrices, Array, Array]:
    """Return the connected blocks (C and D unused), and all signals by states and by inputs."""
    (A, B, C, D), m, p = blocks, len(network.inputs), len(network.outputs)
    G, F = (matrix.toarray() for matrix in network.equations())
    loop = np.hstack([G[:, :m] + G[:, m : m + p] @ D, G[:, m + p :]])
    rows, columns = np.ones((len(loop), 1)), np.ones(len(loop))
    for _ in range(_ROUNDS):
        rows /= np.sqrt(_sizes(rows * loop * columns, 1)[:, None])
        columns /= np.sqrt(_sizes(rows * loop * columns, 0))
    scaled = rows * loop * columns
    _, sizes, right = np.linalg.svd(scaled)
    if decided_rank(sizes, SINGULAR * sizes[0]) < len(sizes):
        raise network.undetermined(right[-1])
    solved = columns[:, None] * np.linalg.solve(scaled, rows * np.hstack([-G[:, m : m + p] @ C, F]))
    u_by_x, u_by_e = solved[:m, : len(A)], solved[:m, len(A) :]
    z_by_x, z_by_e = np.vstack([u_by_x, C + D @ u_by_x]), np.vstack([u_by_e, D @ u_by_e])
    return Matrices(A + B @ u_by_x, B @ u_by_e, C, D), z_by_x, z_by_e


class _Motions:
    """Motions of the ports of unconnected blocks."""

    def __init__(self, parts: Sequence[Matrices], network: BlockNetwork, states: Sequence[str]) -> None:
        self.network, self.parts, self.states, self.A = network, parts, list(states), side_by_side(parts).A
        self.sizes = [(len(part.A), part.B.shape[1], len(part.C)) for part in parts]
        self.of_motion = np.array([signal.name.rpartition("[")[0].endswith("_dV") for signal in network.inputs], dtype=bool)
        places = [k for port in network.fixed for k in network.ports[port][0]]
        self.without_motion = np.isin(np.arange(len(network.inputs)), places)
        of_fixed = {f"{port}_{kind}[{k}]" for port in network.fixed for kind in ("xi", "V") for k in range(6)}
        self.at_rest = np.array([name in of_fixed for name in states], dtype=bool)

    def at(self, port: str, turning: Array) -> list[Array | None]:
        """Return velocity and displacement of a port, 6 rows each, by all states and then by the integrals of all inputs.

        None where they are not known. The port's frame turns by ad(V0) = `turning` (6, 6).
        """
        m, places = len(self.network.inputs), np.array(self.network.ports[port][0])
        starts = np.cumsum([[0, 0, 0], *self.sizes], axis=0)
        offset = places - m * (places >= m)
        k = int(np.searchsorted(starts[:, 1 if places[0] < m else 2], offset[0], side="right")) - 1
        (A, B, C, D), (x, u, y) = self.parts[k], starts[k]
        rows = np.zeros((6, len(A) + B.shape[1]))
        for row, place in zip(rows, places, strict=True):
            if place < m:
                row[len(A) + place - u] = 1.0
            else:
                row[:] = np.concatenate([C[place - m - y], D[place - m - y]])
        moving, dynamics = ~self.at_rest[x : x + len(A)], np.hstack([A, B])
        acting = np.concatenate([moving, ~self.without_motion[u : u + B.shape[1]]])
        dynamics, rows, (A, B) = dynamics[np.ix_(moving, acting)], rows[:, acting], (A[np.ix_(moving, moving)], B[moving])
        driven = np.flatnonzero(self.of_motion[u : u + B.shape[1]] & acting[len(moving) :])
        integrals = np.zeros((len(driven), len(acting)))
        integrals[range(len(driven)), len(moving) + driven] = 1.0
        integrals, B = integrals[:, acting], B[:, acting[len(moving) :]]
        H, E = _rows_of(dynamics, rows), np.zeros((6, len(driven)))
        if H is None and (both := _rows_of(np.vstack([dynamics, integrals]), rows)) is not None:
            H, E = both[:, : len(A)], both[:, len(A) :]
        K, at = None if H is None else _displacement(A, B, H, turning), x + np.flatnonzero(moving)
        integrated = {name.rpartition("[")[0].rpartition("_")[2] for name in self.states[x : x + len(moving)]}
        if (H is None and "V" in integrated) or (K is None and "xi" in integrated):
            got = "a frame that turns relative to its block's, which may move"
            advice = "take all blocks about one steady operating point; linearise a spinning part as a whole"
            raise ModelError(Finding("turning-port", f"port {port}", got, "motions that follow from the states", advice))

        def by_all(by_states: Array) -> Array:
            whole = np.zeros((6, len(self.states) + m))
            whole[:, at], whole[:, len(self.states) + u + driven] = by_states, E
            return whole

        return [None if by_states is None else by_all(by_states) for by_states in (H, K)]

    def turning(self, port: str) -> Array | None:
        """Return ad(V0) of a port from its block's states of its displacement; None without them."""
        names = [f"{port}_xi[{k}]" for k in range(6)]
        if not set(names) <= set(self.states):
            return None
        at = [self.states.index(name) for name in names]
        return -self.A[np.ix_(at, at)]


def _rows_of(basis: Array, rows: Array) -> Array | None:
    """Return the combinations of a basis that are some rows; None if there are none."""
    if not basis.size:
        return None if rows.any() else np.zeros((len(rows), len(basis)))
    columns = _sizes(np.vstack([basis, rows]), 0)
    columns = np.maximum(columns, ROUNDING * columns.max())
    scaled = basis / columns
    sizes = _sizes(scaled, 1)
    found: Array = np.linalg.lstsq((scaled / sizes[:, None]).T, (rows / columns).T)[0].T / sizes
    left = np.abs(found @ scaled - rows / columns) * columns
    noise = STEADY * np.abs(rows).max(axis=1, keepdims=True, initial=0.0)  # of points that accelerate a little
    return found if (left <= np.maximum(SAME * columns, noise)).all() else None


def _sizes(matrix: Array, axis: int) -> Array:
    """Return the largest size of an entry of each column (axis 0) or row (1); one where all are zero."""
    sizes: Array = np.abs(matrix).max(axis=axis, initial=0.0)
    sizes[sizes == 0.0] = 1.0
    return sizes


def _displacement(A: Array, B: Array, H: Array, turning: Array) -> Array | None:
    """Return K with ``K A + ad(V0) K = H``, ``K B = 0``; None if there is none."""
    if not turning.any():
        return _rows_of(np.hstack([A, B]), np.hstack([H, np.zeros((6, B.shape[1]))]))
    n = len(A)
    equations = np.vstack([np.kron(np.eye(6), A.T) + np.kron(turning, np.eye(n)), np.kron(np.eye(6), B.T)])
    right = np.concatenate([H.ravel(), np.zeros(6 * B.shape[1])])
    found = _rows_of(equations.T, right[None])
    return None if found is None else found.reshape(6, n)


def _without_duplicates(parts: Sequence[Matrices], network: BlockNetwork, states: list[str]) -> tuple[Array, Array]:
    """Return which states stay, and all states by them."""
    rows = np.vstack(_relations(_Motions(parts, network, states)))
    noise = RANK * np.abs(rows).max(initial=0.0)  # of what is left of rows that others imply, too
    of_ports = np.array([name.rpartition("[")[0].endswith(("_xi", "_V")) for name in states], dtype=bool)
    gone, independent = np.zeros(0, dtype=int), np.zeros((0, len(states)))
    for columns in (np.flatnonzero(of_ports)[::-1], np.flatnonzero(~of_ports)[::-1]):
        chosen, taken, rows = _pivots(rows, columns, noise)
        gone, independent = np.concatenate([gone, chosen]), np.vstack([independent, taken])
    kept = np.setdiff1d(np.arange(len(states)), gone)
    basis = np.zeros((len(states), len(kept)))
    basis[kept, range(len(kept))] = 1.0
    basis[gone] = -np.linalg.solve(independent[:, gone], independent[:, kept])
    return kept, basis


def _pivots(rows: Array, columns: Array, noise: float) -> tuple[Array, Array, Array]:
    """Return the columns that rows determine, as many independent rows, and the others, where all `columns` are zero.

    Numbers up to `noise` are zero.
    """
    from scipy.linalg import qr

    if not rows.size or not columns.size:
        return columns[:0], rows[:0], rows
    Q, triangle, order = qr(rows[:, columns], pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = decided_rank(sizes, noise)
    turned = Q.T @ rows
    turned[rank:, columns] = 0.0
    return columns[order[:rank]], turned[:rank], turned[rank:]


def _relations(motions: _Motions) -> list[Array]:
    """Return what vanishes at connections and fixed ports by all states: velocities, then displacements."""
    network = motions.network
    velocities: list[Array] = []
    displacements: list[Array] = []
    for first, second, X, D in network.connections:
        turning = motions.turning(second) if second else None
        if turning is None:
            of_first = motions.turning(first) if first else None
            turning = np.zeros((6, 6)) if of_first is None else X @ of_first @ np.linalg.inv(X)
        ends = ((first, X, np.linalg.solve(X, turning @ X)), (second, -np.eye(6), turning))
        ports = [(D.T @ factor, motions.at(port, turned)) for port, factor, turned in ends if port]
        for kind, relations in enumerate((velocities, displacements)):
            sides = [factor @ rows for factor, motion in ports if (rows := motion[kind]) is not None]
            if len(sides) == len(ports):
                relations.append(np.sum(sides, axis=0))
    joined = [_without_integrals(np.vstack(rows), network) for rows in (velocities, displacements) if rows]
    return [np.eye(len(motions.states))[motions.at_rest], *joined]


def _without_integrals(relations: Array, network: BlockNetwork) -> Array:
    """Return the relations between states alone: integrals of inputs vanish where these do, and are eliminated elsewhere."""
    from scipy.linalg import null_space

    by_states, by_inputs = np.split(relations, [relations.shape[1] - len(network.inputs)], axis=1)
    zero = set(network.driven) - set(network.entering)
    others = by_inputs[:, [k for k in range(len(network.inputs)) if k not in zero]]
    return null_space(others.T, rcond=RANK).T @ by_states if others.any() else by_states
