"""A model's functions as programs: the reference engine's passes, run with numbers that are not known yet.

What depends on the state is recorded; what does not, is computed. Branches of titop's blocks are choices (`select`). Which
constraints and coordinates closures make dependent is chosen at a nominal configuration, and kept. Derivatives are those of
what was recorded: of inverse dynamics in reverse, then by one solution with the mass matrix.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array, factored, solve
from titop.blocks.basics.tolerances import EPS
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.contract.block import Block
from titop.blocks.programs.branches import explored
from titop.blocks.programs.differentiation import jacobian, replaced, slopes
from titop.blocks.programs.graph import Graph, TooLongError, Unknown, array_of
from titop.blocks.programs.program import INPUT, Program
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.closed_mechanism import GearConstraint
from titop.solvers.constraints.interaction_loads import read_rates, target_motion
from titop.solvers.constraints.multipliers import Partition, Shares, real_parts
from titop.solvers.engines.reference.reference_engine import ReferenceEngine
from titop.solvers.mechanism.inputs import ActingPush, Inputs, OwnPush, PortPush, Push
from titop.solvers.mechanism.system_parameters import perturbed_assembly
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.programs.program_outputs import port_motion, reading, spatial_acceleration, specific_force
from titop.solvers.sensitivities.inertial_parameters import refuse_field
from titop.solvers.signals.lines_and_sections import is_rod
from titop.solvers.signals.quantities import DEPENDENT, Quantity

#: Operations of a function, of loops once, beyond which a warning comes, and none is made: LLVM takes 0.1 s, gcc 0.16 s for a
#: thousand.
LONG, LONGEST = 20_000, 200_000
#: So many times as many are recorded at most, in some seconds: a third to two thirds of what is recorded is left out again.
_MOST = 5


class Recorded:
    """A mechanism whose passes record what they do to the numbers of a state.

    Parameters
    ----------
    mechanism : Mechanism
    at : mapping of str to array
        The nominal inputs, by name; those named are inputs: ``q``, ``v``, ``tau``, ``a``, ``u``, ``x``, ``parameters``.
    parameters : sequence of str
        Names of the parameters that are inputs.
    inputs : sequence of int
        Which inputs of the model ``u`` holds.
    efforts : sequence of int
        Of which coordinates the efforts are inputs of linear models, after ``u``.
    outputs : sequence of Quantity
    ports : str or sequence of str
        Of which functions of ports are recorded; several are stacked. `in_world`: in inertial axes, not in those of the ports.
    imposed : (nv,) array of bool, optional
        Where motions are imposed in hybrid dynamics.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        at: Mapping[str, Array],
        parameters: Sequence[str] = (),
        inputs: Sequence[int] = (),
        efforts: Sequence[int] = (),
        outputs: Sequence[Quantity] = (),
        ports: str | Sequence[str] = (),
        in_world: bool = False,
        imposed: Array | None = None,
    ) -> None:
        self.ports, self._in_world = ports, in_world
        self.imposed = np.zeros(mechanism.nv, dtype=bool) if imposed is None else imposed
        self.graph, self.sizes = Graph(at), {name: len(numbers) for name, numbers in at.items()}
        given = {name: self.graph.input(name, size) for name, size in self.sizes.items()}
        self.given = given
        self.q, self.v, self.tau, self.a = (given[name] for name in ("q", "v", "tau", "a"))
        self.original, self.nominal, self.quantities = mechanism, at, outputs
        self._channels, self._by_effort = [*given.get("u", ()), *self.tau[list(efforts)]], list(efforts)
        assembly = mechanism.assembly
        if parameters:
            values = dict(zip(parameters, given["parameters"], strict=True))
            assembly = perturbed_assembly(assembly, _following(assembly.devices, values))
        self.mechanism = mechanism.twin(partial(ReferenceEngine, assembly=assembly, dtype=object), moved=False)
        if parameters:  # what mechanisms of one structure share, but for these
            loops = tuple(loop for loop in assembly.loops if isinstance(loop.closure, MultiplierClosure))
            gears = tuple(GearConstraint.of(gear, assembly) for gear in assembly.gears)
            vars(self.mechanism).update(inputs=Inputs(assembly), rigid_loops=loops, gear_constraints=gears)
        engine: Any = self.mechanism.engine
        self.engine = engine
        self.passes = self.engine.passes
        self.passes.nodes = [
            dataclasses.replace(node, mount=(_snapped(node.mount[0]), node.mount[1])) for node in self.passes.nodes
        ]
        driving = self.mechanism.inputs
        self.whole = whole = np.zeros(driving.count, dtype=object)
        whole[list(inputs)] = given.get("u", whole[:0])
        whole[len(driving.names) :] = given.get("x", whole[:0])
        self.u, self.x = whole[: len(driving.names)], whole[len(driving.names) :]
        self.driven = driving.motors @ self.u
        self.efforts = self.tau + self.driven
        self.pushes: list[Push] = [
            *(
                PortPush(place.port, place.inertial, wrench)
                for place, wrench in zip(driving.places, driving.wrenches(whole), strict=True)
            ),
            *(OwnPush(block, q, v, whole[columns]) for block, q, v, columns in driving.own),
            *(ActingPush(name, whole[columns]) for name, columns in driving.driving),
        ]

    @cached_property
    def rank(self) -> int:
        """How many constraints act at the nominal configuration."""
        q = self.nominal["q"]
        return closed_dynamics.acting(self.original, q, np.zeros(self.mechanism.nv))[1]

    def program(self, **outputs: Any) -> Program:
        """Return the program of arrays of recorded numbers; of the inputs those that they depend on, and the parameters."""
        whole = self.graph.program(self.sizes, outputs)
        used = {"q", "parameters", *(value.arguments[0] for value in whole.values if value.operation == INPUT)}
        sizes = {name: size for name, size in self.sizes.items() if name in used}
        return dataclasses.replace(whole, inputs=sizes)

    @cached_property
    def forward(self) -> tuple[Array, Array]:
        """Accelerations, and the health of each coordinate: its pivot over its inertia at the nominal configuration."""
        a, _, health = self.hybrid(np.zeros(self.mechanism.nv, dtype=bool))
        return a, health

    def hybrid(self, imposed: Array) -> tuple[Array, Array, Array]:
        """Return accelerations, efforts and health (none with closures); motions are `imposed` on some coordinates."""
        m, health = self.mechanism, np.ones(self.mechanism.nv, dtype=object)
        a, state = np.where(imposed, self.a, 0.0), (self.q, self.v)
        if m.is_constrained:
            rank = closed_dynamics.rank_of_free(self.original, self.nominal["q"], imposed) if imposed.any() else self.rank
            a, efforts = closed_dynamics.hybrid(m, *state, self.efforts, a, imposed, self.pushes, held_rank=rank)
            health = self.closed_health[: 0 if imposed.any() else None]
            if not imposed.any():
                motions = self.partition.motions
                health[self.partition.independent] = self._relative(motions.T @ self.mass @ motions)
        else:
            a, efforts, states = self.passes.resolve(*state, a, self.efforts, imposed, self.pushes)
            for node, of in zip(self.passes.nodes, states, strict=True):
                if node.block.nv and (free := ~imposed[node.v]).any():
                    health[np.arange(m.nv)[node.v][free]] = self._relative(of.M_hat[6:, 6:][np.ix_(free, free)])
        return a, np.where(imposed, efforts - self.driven, self.tau), health

    @cached_property
    def partition(self) -> Partition:
        """Independent and dependent coordinates, of the nominal configuration."""
        jacobian = self.mechanism.constraints_at(self.q, self.v).jacobian
        return closed_dynamics.partition_at(self.mechanism, jacobian, self.rank)

    @property
    def closed_health(self) -> Array:
        """The health (nv) of the coordinates that closures make dependent; others have ones."""
        health = np.ones(self.mechanism.nv, dtype=object)
        if self.mechanism.is_constrained:
            health[self.partition.dependent] = self.partition.health()
        return health

    def _relative(self, inertia: Array) -> Array:
        """Return the pivots of an inertia over its diagonal at the nominal state; zeros where that is zero."""
        pivots, sizes = factored(inertia)[1], real_parts(np.diag(inertia))
        return np.where(sizes == 0.0, 0.0, pivots * (1.0 / np.where(sizes == 0.0, 1.0, sizes)))

    @cached_property
    def inverse(self) -> Array:
        """The efforts that accelerations need, without those of inputs."""
        return self.needed(self.a)

    def needed(self, a: Array) -> Array:
        """Return the efforts that accelerations need."""
        m = self.mechanism
        needed = self._tree(a) - self.driven
        if not m.is_constrained:
            return needed
        return Shares(self.partition, np.ones(m.nv, dtype=bool), m.scale.coordinates).split(needed)[0]

    def _tree(self, a: Array) -> Array:
        """Return the efforts that accelerations need in the tree."""
        found: Array = self.engine.dynamics.tree_inverse(self.q, self.v, a, self.pushes)
        return found

    @cached_property
    def mass(self) -> Array:
        """The mass matrix of the tree."""
        return self.engine.dynamics.mass_matrix(self.q)

    @cached_property
    def tangent(self) -> Array:
        """The derivatives (nq, nv) of the configuration along the tangent directions."""
        tangent, plain = np.zeros((len(self.q), self.mechanism.nv), dtype=object), self.mechanism.plain_coordinates
        tangent[plain.in_q, plain.in_v] = 1.0
        for block, in_q, in_v in plain.others:
            at = partial(block.integrate, self.q[in_q])
            tangent[in_q, in_v] = slopes(lambda q: q, at, block.nv, self.graph)[1].T
        return tangent

    def derivatives(self, results: Array, reverse: bool = True) -> tuple[Array, Array]:
        """Return the derivatives of results by the tangent of q and by v (..., nv each)."""
        both = jacobian(results, [*self.q, *self.v], reverse)
        return both[..., : len(self.q)] @ self.tangent, both[..., len(self.q) :]

    def read(self, a: Array) -> Array:
        """Return the outputs, with these accelerations."""
        return np.concatenate([np.zeros(0, dtype=object), *(self.reading(of, a) for of in self.quantities)])

    def reading(self, of: Quantity, a: Array) -> Array:
        """Return the value of a quantity, with the numbers that follow from parameters that are inputs."""
        if of.kind in DEPENDENT and "parameters" in self.sizes:
            found = next(now for now in self.mechanism.sensor_signals if {*of.paths} <= {*now.paths})
            of = found.only(*map(found.paths.index, of.paths))
        return reading(self, of, a)

    @cached_property
    def changes(self) -> Array:
        """The rates (nx) of first-order states."""
        driving, rates = dict(self.mechanism.inputs.driving), [np.zeros(0, dtype=object)]
        for loop in (loop for loop in self.mechanism.interactions if loop.closure.state_names):
            motion = target_motion(self.mechanism, loop, self.q, self.v, self.whole[driving[loop.closure.name]])
            rates.append(read_rates(loop.closure, motion))
        return np.concatenate(rates)

    # -- what users ask for ------------------------------------------------------------------------------------------------

    @property
    def health_of_inverse(self) -> dict[str, Array]:
        """The health of inverse dynamics, where there are closures."""
        return {"health": self.closed_health} if self.mechanism.is_constrained else {}

    def bare(self, a: Any) -> Array:
        """Return the efforts that accelerations need, of inertia and gravity alone."""
        found: Array = self.engine.dynamics.bare_inverse(self.q, self.v, a + np.zeros(self.mechanism.nv))
        return found

    def inverse_mass_matrix(self) -> dict[str, Array]:
        return {"inverse": solve(self.mass, np.eye(len(self.mass)).astype(object)), "health": self._relative(self.mass)}

    def coriolis_matrix(self) -> dict[str, Array]:
        by_v = jacobian(self.bare(0.0), self.v)  # of terms of second order, and in a world that turns of first order
        at_rest = replaced(by_v, dict.fromkeys(self.v, 0.0))
        return {"C": 0.5 * (by_v + at_rest + self.mass @ self.mechanism.bracket(self.v))}

    def actuation_matrix(self) -> dict[str, Array]:
        u = self.given.get("u", self.tau[:0])
        rest = dict.fromkeys([*self.v, *self.a, *self.given.get("x", ()), *u], 0.0)
        return {"B": replaced(jacobian(self.driven - self._tree(self.a), u), rest)}

    def regressor(self) -> dict[str, Array]:
        if self.mechanism.assembly.field is not None:
            refuse_field(self.mechanism.assembly.field)
        bodies, state = self.original.inertial_bodies, (x[None] for x in (self.q, self.v, self.a))
        return {"Y": self.engine.observations.regressors(False, bodies, *state)[0].T}

    def energy(self) -> dict[str, Array]:
        kinetic, gravity, elastic = self.engine.observations.energy(self.q, self.v)
        return {"kinetic": kinetic, "gravity": gravity, "elastic": elastic}

    def closing_step(self) -> dict[str, Array]:
        m = self.mechanism
        rows = m.constraints_at(self.q, self.v)
        chosen, error = self.partition.rows, m.scale.weights * rows.error
        J = rows.jacobian[chosen]
        back = (J * m.scale.coordinates**2).T  # the shortest way in sizes of coordinates
        off = back @ solve(J @ back, np.column_stack([rows.error[chosen], J @ self.v]))
        q, v = self.q - self.tangent @ off[:, 0], self.v - off[:, 1]
        return {"q": q, "v": v, "open": (error @ error) ** 0.5, "health": self.closed_health}

    # -- of ports

    def of_ports(self, read: Callable[[str], Array], turned: bool = True) -> Array:
        """Return what is read at a port, or stacked at several; vectors (3 k, ...) are `turned` to the axes asked for."""

        def one(port: str) -> Array:
            found = np.asarray(read(port), dtype=object)
            if turned and self._in_world:
                rotation = port_motion(self, port, self.a).rotation
                found = np.concatenate([rotation @ part for part in np.split(found, len(found) // 3)])
            return found

        return one(self.ports) if isinstance(self.ports, str) else np.stack([one(port) for port in self.ports])

    def pose(self) -> dict[str, Array]:
        return {
            "rotation": self.of_ports(lambda port: port_motion(self, port, self.a).rotation, turned=False),
            "position": self.of_ports(lambda port: port_motion(self, port, self.a).position, turned=False),
        }

    def jacobian_bias(self) -> dict[str, Array]:
        return {"bias": self.of_ports(lambda port: spatial_acceleration(self, port, 0.0 * self.a, classical=self._in_world))}

    def motion_derivatives(self) -> dict[str, Array]:
        twist, acceleration, jacobian = (_OF_PORTS[name][1](self) for name in ("twist", "acceleration", "jacobian"))
        of_twist, of_acceleration = (self.derivatives(found, reverse=False) for found in (twist["V"], acceleration["dV"]))
        return jacobian | {"dV_dq": of_twist[0], "dA_dq": of_acceleration[0], "dA_dv": of_acceleration[1]}

    def rates(self) -> dict[str, Array]:
        a, health = self.forward
        return {"dq": self.tangent @ self.v, "dv": a, "dx": self.changes, "y": self.read(a), "health": health}

    def linear_matrices(self) -> dict[str, Array]:
        m, nv = self.mechanism, self.mechanism.nv
        if not m.places.all():
            got, advice = "what rolls, or slides along an edge", "linearize it, or a family of it by lpv"
            raise ModelError(Finding("no-program", "linear_matrices", got, "as many independent rates as coordinates", advice))
        by_q, by_v, by_tau = (self.forward_dynamics_derivatives()[name] for name in ("da_dq", "da_dv", "da_dtau"))
        a, health = self.forward
        others = [*self.x, *self._channels]
        by_others = np.hstack([jacobian(a, others[: len(others) - len(self._by_effort)]), by_tau[:, self._by_effort]])
        accelerations = np.hstack([by_q, by_v, by_others])
        moving = np.hstack([-m.bracket(self.v), np.eye(nv), np.zeros((nv, len(others)))])
        rows = np.vstack([moving, accelerations, self._by_all(self.changes, others)])
        own = array_of([*self.graph.fresh(nv)])  # accelerations as outputs know them
        y, known = self.read(own), dict(zip(own, a, strict=True))
        through = jacobian(y, list(own)) @ np.hstack([by_q, by_v, by_others])
        read = replaced(self._by_all(y, others) + through, known)
        n = 2 * nv + len(self.x)
        if m.is_constrained:
            basis = self._motions_of_states()
            rows, read = (np.hstack([matrix[:, : 2 * nv] @ basis, matrix[:, 2 * nv :]]) for matrix in (rows, read))
            rows, n = rows[self.states], len(self.states)
        return {"A": rows[:, :n], "B": rows[:, n:], "C": read[:, :n], "D": read[:, n:], "health": health}

    @property
    def states(self) -> Array:
        """Which entries of [dq; dv; dx] are states of linear models: those of independent coordinates, and dx."""
        nv, nx = self.mechanism.nv, len(self.x)
        free = self.partition.independent if self.mechanism.is_constrained else np.arange(nv)
        return np.concatenate([free, nv + free, 2 * nv + np.arange(nx)])

    def _motions_of_states(self) -> Array:
        """Return [dq; dv] (2 nv, ...) from displacements and rates of independent coordinates: J dq = 0, d(J v) = 0."""
        J, T = self.mechanism.constraints_at(self.q, self.v).jacobian, self.partition.motions
        turned = self.partition.follow(-self.derivatives(J @ self.v)[0] @ T)
        return np.block([[T, 0.0 * T], [turned, T]])

    def _by_all(self, results: Array, others: Sequence[Any]) -> Array:
        """Return the derivatives of results by the states and other variables."""
        return np.hstack([*self.derivatives(results, reverse=False), jacobian(results, others)])

    def inverse_dynamics_derivatives(self) -> dict[str, Array]:
        by_q, by_v = self.derivatives(self.inverse)
        by_a = jacobian(self.inverse, list(self.a), reverse=True) if self.mechanism.is_constrained else self.mass
        return {"dtau_dq": by_q, "dtau_dv": by_v, "dtau_da": by_a, **self.health_of_inverse}

    def forward_dynamics_derivatives(self) -> dict[str, Array]:
        a, health = self.forward
        m, nv, known = self.mechanism, self.mechanism.nv, dict(zip(self.a, a, strict=True))
        balance = self._tree(self.a) - self.efforts
        needed = np.hstack(self.derivatives(balance))
        if not m.is_constrained:
            found = self._of_accelerations(needed)
        else:  # J a + bias = 0 and balance = J^T multipliers, differentiated
            right = np.hstack([-replaced(needed, known), np.eye(nv).astype(object)])
            rows, part, T = m.constraints_at(self.q, self.v), self.partition, self.partition.motions
            lambdas = self.graph.fresh(len(part.rows))
            pulled = self.derivatives(rows.jacobian[part.rows].T @ lambdas)[0]
            carried = part.carried(replaced(balance, known))[part.rows]
            right[:, :nv] += replaced(pulled, dict(zip(lambdas, carried, strict=True)))
            moved = np.zeros((len(rows.bias), 3 * nv), dtype=object)
            moved[:, : 2 * nv] = replaced(np.hstack(self.derivatives(rows.jacobian @ self.a + rows.bias)), known)
            follow = part.follow(-moved)
            found = follow + T @ solve(T.T @ self.mass @ T, T.T @ (right - self.mass @ follow))
        return {"da_dq": found[:, :nv], "da_dv": found[:, nv : 2 * nv], "da_dtau": found[:, 2 * nv :], "health": health}

    def _of_accelerations(self, needed: Array) -> Array:
        """Return derivatives of a tree's accelerations: by what these derivatives of `inverse` are by, then by efforts."""
        known = dict(zip(self.a, self.forward[0], strict=True))
        return solve(self.mass, np.hstack([-replaced(needed, known), np.eye(self.mechanism.nv).astype(object)]))

    def slopes(self, name: str) -> dict[str, Array]:
        """Return the derivatives (m, n) of a function's first result by each input on which it depends.

        Entries of quaternions are seen as independent: the result is what the formulas, which ask for unit ones, make of them.
        """
        result, given = next(iter(FUNCTIONS[name].record(self).values())), self.given
        results = np.asarray(result, dtype=object).ravel()
        if name == "forward_dynamics" and not self.mechanism.is_constrained:
            others = [each for each in given if each not in ("tau", "a")]
            needed = jacobian(self.inverse, [x for each in others for x in given[each]], reverse=True)
            found, order = self._of_accelerations(needed), [*others, "tau"]
        else:
            order, variables = [*given], [x for numbers in given.values() for x in numbers]
            found = jacobian(results, variables, reverse=len(results) < len(variables))
        ends = np.cumsum([len(given[each]) for each in order])[:-1]
        return dict(zip(order, np.split(found, ends, axis=1), strict=True))


class Traced(NamedTuple):
    """A function that programs know: its arguments at a state, and its results by name, of a recorded mechanism."""

    arguments: tuple[str, ...]
    record: Callable[[Recorded], dict[str, Array]]


_Row = tuple[str, Callable[[Recorded], dict[str, Array]]]
#: The functions of a state, by name.
_OF_STATES: dict[str, _Row] = {
    "hybrid_dynamics": ("q v tau a", lambda at: dict(zip(("a", "tau", "health"), at.hybrid(at.imposed), strict=True))),
    "forward_dynamics": ("q v tau", lambda at: {"a": at.forward[0], "health": at.forward[1]}),
    "forward_dynamics_derivatives": ("q v tau", Recorded.forward_dynamics_derivatives),
    "rates": ("q v tau", Recorded.rates),
    "linear_matrices": ("q v tau", Recorded.linear_matrices),
    "inverse_dynamics": ("q v a", lambda at: {"tau": at.inverse, **at.health_of_inverse}),
    "inverse_dynamics_derivatives": ("q v a", Recorded.inverse_dynamics_derivatives),
    "inertial_inverse_dynamics": ("q v a", lambda at: {"tau": at.bare(at.a) - at.engine.dynamics.weight(at.q)}),
    "regressor": ("q v a", Recorded.regressor),
    "outputs": ("q v a", lambda at: {"y": at.read(at.a)}),
    "state_rates": ("q v", lambda at: {"dx": at.changes}),
    "nonlinear_effects": ("q v", lambda at: {"h": at.bare(0.0)}),
    "coriolis_matrix": ("q v", Recorded.coriolis_matrix),
    "passive_efforts": ("q v", lambda at: {"passive": at.engine.observations.passive_efforts(at.q, at.v)}),
    "energy": ("q v", Recorded.energy),
    "momentum": ("q v", lambda at: {"momentum": at.engine.observations.momentum(at.q, at.v)}),
    "configuration_rate": ("q v", lambda at: {"rate": at.tangent @ at.v}),
    "closure_bias": ("q v", lambda at: {"bias": at.mechanism.constraints_at(at.q, at.v).bias}),
    "closing_step": ("q v", Recorded.closing_step),
    "mass_matrix": ("q", lambda at: {"M": at.mass}),
    "inverse_mass_matrix": ("q", Recorded.inverse_mass_matrix),
    "gravity_effects": ("q", lambda at: {"g": at.engine.dynamics.weight(at.q)}),
    "center_of_mass": ("q", lambda at: {"center": at.engine.observations.mass_center(at.q)[:3]}),
    "momentum_matrix": ("q", lambda at: {"matrix": jacobian(at.engine.observations.momentum(at.q, at.v), at.v)}),
    "actuation_matrix": ("q", Recorded.actuation_matrix),
    "closure_error": ("q", lambda at: {"error": at.mechanism.constraints_at(at.q, at.v).error}),
    "closure_jacobian": ("q", lambda at: {"J": at.mechanism.constraints_at(at.q, at.v).jacobian}),
}
#: The same of ports.
_OF_PORTS: dict[str, _Row] = {
    "pose": ("q", Recorded.pose),
    "jacobian": ("q", lambda at: {"J": at.of_ports(lambda port: at.engine.observations.jacobian(port, at.q))}),
    "twist": ("q v", lambda at: {"V": at.of_ports(lambda port: port_motion(at, port, at.a).twist)}),
    "jacobian_bias": ("q v", Recorded.jacobian_bias),
    "acceleration": ("q v a", lambda at: {"dV": at.of_ports(lambda port: spatial_acceleration(at, port, at.a))}),
    "accelerometer": ("q v a", lambda at: {"force": at.of_ports(lambda port: specific_force(at, port, at.a))}),
    "motion_derivatives": ("q v a", Recorded.motion_derivatives),
}
OF_PORTS = set(_OF_PORTS)
#: The functions that programs know, by name.
FUNCTIONS = {name: Traced(tuple(state.split()), record) for name, (state, record) in (_OF_STATES | _OF_PORTS).items()}


def _following(devices: Iterable[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return values of parameters, of devices those of their parts in their place; what is given for a part precedes."""
    for device in devices:
        own = {entry: values.pop(name) for entry in device.parameter_fields() if (name := f"{device.name}.{entry}") in values}
        if own:
            found = explored(lambda of, own: array_of([*of.with_parameters(own).numbers.values()]), device, own)
            moved = zip(device.numbers, found, strict=True)
            values = {name: x for name, x in moved if isinstance(x, Unknown)} | values
    return values


def _snapped(rotation: Array) -> Array:
    """Return a rotation with entries that are 0, 1 or -1 but for rounding exactly so: zeros then cost nothing."""
    if rotation.dtype == object:
        return rotation
    whole = np.round(rotation)
    return np.where(np.abs(rotation - whole) <= 4 * EPS, whole, rotation)


def traced(function: str, recorded: Recorded) -> Program:
    """Return the program of a function. Raises `ModelError`, naming the block, for what cannot be recorded."""
    with naming_blocks(function), bounded(function, recorded.graph, recorded.original):
        return recorded.program(**FUNCTIONS[function].record(recorded))


def check_length(where: str, program: Program, mechanism: Mechanism) -> None:
    """Warn of a program whose compilation takes long, before it begins. Raises `ModelError` of one that takes half a minute."""
    if (count := program.length) > LONG:
        finding = _too_long(where, f"{count} operations", mechanism)
        if count > LONGEST:
            raise ModelError(finding)
        warn([finding])


def _too_long(where: str, got: str, mechanism: Mechanism) -> Finding:
    rods = ", ".join(block.name for block in mechanism.assembly.blocks_with_coordinates if is_rod(block))
    advice = f"give {rods} fewer coordinates" if rods else "take the model's own function, which has loops"
    return Finding("long-program", where, got, f"up to {LONG}, compiled in seconds", advice)


@contextmanager
def bounded(where: str, graph: Graph, mechanism: Mechanism) -> Iterator[None]:
    """Refuse a program while it is recorded, once it takes so many operations that not all of them can be left out again."""
    graph.limit = len(graph.values) + _MOST * LONGEST
    try:
        yield
    except TooLongError:
        raise ModelError(_too_long(where, f"more than {_MOST * LONGEST} operations", mechanism)) from None
    finally:
        graph.limit = np.inf


@contextmanager
def naming_blocks(what: str) -> Iterator[None]:
    """Raise `ModelError` where recording fails: it names the block, or `what` is recorded."""
    try:
        yield
    except (TypeError, ZeroDivisionError) as error:
        raise without_program(error, what) from error


def without_program(error: Exception, name: str) -> ModelError:
    """Return the message for what cannot be recorded: it names the block in whose function that is, or else what is given."""
    frame = error.__traceback__
    while frame is not None:
        if isinstance(block := frame.tb_frame.f_locals.get("self"), Block):
            name = block.name
        frame = frame.tb_next
    advice = "use NumPy's functions on arrays, and no float(), math or branches that look at states or parameters"
    return ModelError(Finding("no-program", name, str(error), "functions that become a program", advice))
