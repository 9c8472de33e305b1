"""Linear blocks and their connections by ports, as equations between their signals.

Each port has six motions ``hub.A.dV`` and six wrenches ``hub.A.W``, one of each pair an input of its block and the other an
output. A connection of port 1 to port 2 along directions D, with the forces ``f`` that it transmits and ``X = Ad(g)^-1`` of its
pose, is::

    D^T (X dV_1 - dV_2) = 0           W_1 = -X^T D f + e_1          W_2 = D f + e_2         (applied to the blocks)

``e`` are external wrenches. At a block's parent port, ``W`` is the wrench that the block applies: its sign is the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.basics.tolerances import COARSE
from titop.blocks.basics.user_input import is_finite, read_array
from titop.blocks.contract.block import PARENT_PORT
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import positions
from titop.solvers.mechanism.scale import StateScale, powers_of
from titop.solvers.signals.exported import Signal, exported_name, refuse_twice
from titop.solvers.signals.grammar import read_names
from titop.solvers.signals.quantities import ACCELERATION_UNITS, DISPLACEMENT_UNITS, TWIST_UNITS, WRENCH_UNITS

_CHANNEL = re.compile(r"(.+)_(dV|W|a|tau)(\[[0-5]\])?")
_AT_PORT = re.compile(r".+_(xi|V|dV|W)\[([0-5])\]")
_UNITS_AT_PORTS = {"xi": DISPLACEMENT_UNITS, "V": TWIST_UNITS, "dV": ACCELERATION_UNITS, "W": WRENCH_UNITS}
_DUAL = {"dV": "W", "W": "dV", "a": "tau", "tau": "a"}
#: What joins to nothing that moves.
WORLD = "world"


class BlockEnds(NamedTuple):
    """Inputs and outputs of a block, by signals."""

    name: str
    inputs: list[Signal]
    outputs: list[Signal]


class PortConnection(NamedTuple):
    """A connection: its two ports (None for the world), the transport X between them, and its directions D (6, k)."""

    first: str | None
    second: str | None
    transport: Array
    directions: Array

    def __str__(self) -> str:
        return f"{self.first or WORLD} - {self.second or WORLD}"

    def in_lengths(self, length: float) -> PortConnection:
        """Return the connection between signals whose lengths are in parts of one."""
        sizes = np.repeat([length, 1.0], 3)
        transport = self.transport * sizes / sizes[:, None]
        return self._replace(transport=transport, directions=sizes[:, None] * self.directions)


class BlockNetwork:
    """Blocks, connections, and the equations between all inputs and outputs of the blocks; arguments of `connect_blocks`.

    Raises `ModelError` for signals of several blocks with one name, unknown ports and signals, and signals connected twice.
    """

    def __init__(self, blocks: Sequence[BlockEnds], connections: Any, inputs: Any) -> None:
        self.inputs = [signal for block in blocks for signal in block.inputs]
        self.outputs = [signal for block in blocks for signal in block.outputs]
        self.signals = [*self.inputs, *self.outputs]
        refuse_twice("signal", self.signals)
        self.place = {signal.name: k for k, signal in enumerate(self.signals)}
        self.connections = [self._read(k, entry) for k, entry in enumerate(_listed(connections))]
        self.entering = positions("inputs", read_names("inputs", inputs), self.signals)
        for k in self.entering:
            self._refuse_no_input(k)

    @cached_property
    def ports(self) -> dict[str, tuple[list[int], list[int]]]:
        """Places of the six motions and wrenches of each port that has all of them."""
        stems = {match[1] for name in self.place if (match := _CHANNEL.fullmatch(name)) and match[2] == "dV"}
        groups = {
            stem: tuple([self.place.get(f"{stem}_{kind}[{k}]") for k in range(6)] for kind in ("dV", "W")) for stem in stems
        }
        return {stem: group for stem, group in groups.items() if None not in group[0] + group[1]}  # type: ignore[misc]

    @cached_property
    def connected(self) -> list[str]:
        """Ports in connections, each once."""
        return list(dict.fromkeys(port for one in self.connections for port in (one.first, one.second) if port))

    @cached_property
    def driven(self) -> list[int]:
        """Places of the signals that are set from outside: one for each input that is not at a connected port.

        Ports keep their inputs, coordinates are free: their efforts are set. Where the other signal of a pair is named among
        the inputs, it is set instead.
        """
        joined = {place for port in self.connected for group in self.ports[port] for place in group}
        places = []
        for place in range(len(self.inputs)):
            if place not in joined:
                other = self._dual(place)
                names = [k for k in (place, other) if k in self.entering]
                efforts = [k for k in (place, other) if k is not None and self.signals[k].name.endswith("_tau")]
                places.append((names or efforts or [place])[0])  # type: ignore[arg-type]
        return places

    @cached_property
    def fixed(self) -> list[str]:
        """Ports that rest: those whose motions are zero inputs, and those connected to the world in all directions."""
        zero = set(self.driven) - set(self.entering)
        resting = [port for port, (motions, _) in self.ports.items() if set(motions) <= zero]
        ends = [one for one in self.connections if one.directions.shape[1] == 6 and None in (one.first, one.second)]
        return [*resting, *(str(one.first or one.second) for one in ends)]

    def scale(self, blocks: Sequence[Matrices], states: Sequence[Signal]) -> StateScale:
        """Return length, rate and energy in whose parts the matrices of the blocks have entries near one: powers of two.

        Length and energy fit the largest entry of each unit in all D, and the poses. The rate is that of the largest loads by
        displacements of ports in all C, at least one rad/s: loads may be rounding of none.
        """
        whole = side_by_side(blocks)
        motions = [Signal("", unit) for unit in ACCELERATION_UNITS]
        tables = [(self.outputs, self.inputs, whole.D), *((motions, motions, one.transport) for one in self.connections)]
        largest = _largest_by_unit(tables)
        powers, logs = np.array([*largest], dtype=float).reshape(-1, 3)[:, :2], np.log2([*largest.values()])
        energy, length = (2.0 ** round(x) for x in np.linalg.lstsq(powers, logs)[0].tolist())
        places = [k for k, signal in enumerate(states) if (at := _AT_PORT.fullmatch(signal.name)) and at[1] == "xi"]
        loads = _largest_by_unit([(self.outputs, [states[k] for k in places], whole.C[:, places])])
        squares = [size / (energy * length ** of[1]) for of, size in loads.items() if of[0]]
        rate = 2.0 ** round(np.log2(max([1.0, *squares])) / 2)
        return StateScale(np.ones(0), rate, energy * rate**2, np.ones(0), length, rate)

    def equations(self) -> tuple[Any, Any]:
        """Return sparse G and F of ``G [inputs; outputs; forces] = F e``, e the inputs from outside.

        As many equations as there are inputs and forces; blocks have the others.
        """
        from scipy.sparse import csc_array

        rows: list[tuple[Array, Array, Array]] = []  # of each block of equations: places, factors, entering signals
        size = len(self.signals)
        at_ports: dict[str, list[tuple[int, Array]]] = {port: [] for port in self.connected}
        for one in self.connections:
            count, D = one.directions.shape[1], one.directions
            ends = [(one.first, one.transport), (one.second, -np.eye(6))]
            motion = [(self.ports[port][0], D.T @ factor) for port, factor in ends if port]
            rows.append((np.concatenate([p for p, _ in motion]), np.hstack([m for _, m in motion]), np.full(count, -1)))
            for port, factor in ends:
                if port:
                    at_ports[port].append((size, -factor.T @ D))
            size += count
        for port, forces in at_ports.items():
            wrenches = np.array(self.ports[port][1])
            sign = -1.0 if self._is_parent(port) else 1.0
            places = np.concatenate([wrenches, *(at + np.arange(force.shape[1]) for at, force in forces)])
            rows.append((places, np.hstack([np.eye(6), *(-sign * force for _, force in forces)]), wrenches))
        driven = np.array(self.driven, dtype=int)
        rows.append((driven, np.eye(len(driven)), driven))
        starts = np.cumsum([0, *(len(factors) for _, factors, _ in rows)])
        i = [
            start + np.repeat(np.arange(len(factors)), len(places))
            for start, (places, factors, _) in zip(starts, rows, strict=False)
        ]
        j = [np.tile(places, len(factors)) for places, factors, _ in rows]
        x = [factors.ravel() for _, factors, _ in rows]
        G = csc_array((np.concatenate(x), (np.concatenate(i), np.concatenate(j))), (starts[-1], size))
        column = {place: k for k, place in enumerate(self.entering)}
        sources = enumerate(np.concatenate([places for *_, places in rows]).tolist())
        F = np.array([(row, column[place]) for row, place in sources if place in column], dtype=int).reshape(-1, 2).T
        return G, csc_array((np.ones(F.shape[1]), (F[0], F[1])), (starts[-1], len(column)))

    def undetermined(self, weights: Array) -> ModelError:
        """Return the refusal of a singular loop: weights (inputs, then forces) tell which signals it does not determine."""
        sizes = np.abs(weights) / np.abs(weights).max()
        forces = [str(one) for one in self.connections for _ in range(one.directions.shape[1])]
        of_forces = zip(forces, sizes[len(self.inputs) :], strict=True)
        taking_part = dict.fromkeys(name for name, part in of_forces if part > COARSE)
        got = ", ".join(taking_part) or self.inputs[int(sizes[: len(self.inputs)].argmax())].path
        advice = "give it mass, connect along fewer directions, or leave out a connection that others imply"
        return ModelError(Finding("singular-loop", "connections", got, "motions and wrenches that follow at once", advice))

    def _read(self, k: int, entry: Any) -> PortConnection:
        where, expected = f"connections[{k}]", "(port, port), (port, port, pose) or (port, port, pose, directions)"
        if not isinstance(entry, Sequence) or isinstance(entry, str) or not 2 <= len(entry) <= 4:
            raise ModelError(Finding("wrong-type", where, entry, expected, 'such as ("hub.A", "hinge.P")'))
        first, second, pose, directions = (*entry, None, None)[:4]
        ends = [self._port(where, name) for name in (first, second)]
        if ends[0] == ends[1]:
            raise ModelError(Finding("given-twice", where, first, "two ports", "name the other block's port"))
        if not isinstance(pose, Pose | None):
            raise ModelError(Finding("wrong-type", where, pose, "a tt.Pose of the second port in the first", "or None"))
        X = np.eye(6) if pose is None else twist_transport(pose.rotation, pose.position)
        expected = "a 6 x k matrix of independent directions, in the second port's axes"
        wrong = Finding("wrong-type", where, np.eye(6) if directions is None else directions, expected, "linear ones first")
        return PortConnection(ends[0], ends[1], X, read_array(wrong, _spans))

    def _port(self, where: str, name: Any) -> str | None:
        port = exported_name(str(name))
        if port == WORLD:
            return None
        if port not in self.ports:
            advice = did_you_mean(port, self.ports)
            raise ModelError(Finding("unknown-port", where, name, "a port with six motions dV and wrenches W", advice))
        return port

    def _is_parent(self, port: str) -> bool:
        """Tell whether a port is its block's parent port: that named P, or parent where a child port has this name."""
        path = self.signals[self.ports[port][1][0]].path
        dot = "." if "." in path else "_"  # labels made by hand have no dots
        end = path.removesuffix(f"{dot}W[0]").rpartition(dot)[2]
        return end == "parent" or (end == PARENT_PORT and f"{port.removesuffix(PARENT_PORT)}parent" not in self.ports)

    def _dual(self, place: int) -> int | None:
        """Return the place of the other signal of a pair, on the other side of its block."""
        match = _CHANNEL.fullmatch(self.signals[place].name)
        other = self.place.get(f"{match[1]}_{_DUAL[match[2]]}{match[3] or ''}") if match else None
        return other if other is not None and (other < len(self.inputs)) != (place < len(self.inputs)) else None

    def _refuse_no_input(self, place: int) -> None:
        """Refuse a signal to come from outside that connections or its block determine."""
        wrenches = {k for port in self.connected for k in self.ports[port][1]}
        if place not in wrenches and place not in self.driven:
            advice = "name an input of a block, the other signal of its pair, or the wrench at a port"
            raise ModelError(Finding("no-input", "inputs", self.signals[place].path, "a signal that nothing else sets", advice))


def _listed(connections: Any) -> Iterable[Any]:
    if isinstance(connections, str) or not isinstance(connections, Sequence):
        raise ModelError(Finding("wrong-type", "connections", connections, "a list of pairs of ports", "see tt.connect_blocks"))
    return connections


def sizes_of(scale: StateScale, signals: Sequence[Signal]) -> Array:
    """Return what counts as one of each signal."""
    return np.array([scale.of_unit(_unit_of(signal)) for signal in signals])


def _unit_of(signal: Signal) -> str:
    """Return the unit of a signal: at a port, by its name, since labels made by hand have none."""
    match = _AT_PORT.fullmatch(signal.name)
    return _UNITS_AT_PORTS[match[1]][int(match[2])] if match else signal.unit


def _largest_by_unit(tables: Iterable[tuple[Sequence[Signal], Sequence[Signal], Array]]) -> dict[tuple[int, int, int], float]:
    """Return the largest entry of matrices, from some signals to others, by its powers of energy, length and time."""
    largest: dict[tuple[int, int, int], float] = {}
    for outputs, inputs, matrix in tables:
        above, below = ([powers_of(_unit_of(signal)) for signal in signals] for signals in (outputs, inputs))
        for i, j in np.argwhere(matrix).tolist():
            (a, b, c), (d, e, f) = above[i], below[j]
            largest[a - d, b - e, c - f] = max(largest.get((a - d, b - e, c - f), 0.0), abs(float(matrix[i, j])))
    return largest


def _spans(directions: Array) -> bool:
    """Tell whether directions (6, k) are finite and independent."""
    fitting = directions.ndim == 2 and len(directions) == 6 and is_finite(directions)
    return fitting and bool(np.linalg.matrix_rank(directions) == directions.shape[1])
