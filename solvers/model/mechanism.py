"""`Mechanism`: a resolved system with its coordinates, constraints, inputs, parameters and engine; `Resolved`: what has one.

Solvers and engines use mechanisms. `Model` is built on them; they do not know `Model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import PortRef
from titop.blocks.joints.joint import CHILD_PORT
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import coordinate_mask, of_one_state, read_wrenches
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.engine_interface import Engine
from titop.solvers.mechanism.conditioning import conditioning, conditioning_findings
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.mechanism.movable_ports import MovablePlace, with_movable
from titop.solvers.mechanism.shared import structural
from titop.solvers.sensitivities.inertial_parameters import InertialParameters
from titop.solvers.signals.lines_and_sections import cut_rod_at, is_rod, line_places, section_of
from titop.solvers.signals.quantities import OF_LINES, Quantity
from titop.solvers.signals.sensor_quantities import sensor_entries, sensor_quantities

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod_sections import Fibres

#: Number of cut systems that are cached, for the latest sections: about 40 kB each, and 30 kB more for each rod in it.
_KEPT = 512


class Mechanism(ClosedLoops):
    """The coordinates and constraints of a system, with an engine: the base of all functions of a model.

    Parameters
    ----------
    engine : callable
        ``engine(mechanism, assembly)`` returns the engine of a mechanism.
    threads : int or None
        Number of threads for stacked states; None for one a processor.
    """

    def __init__(self, assembly: Assembly, engine: Callable[[Any, Assembly], Engine], threads: int | None = 1) -> None:
        super().__init__(assembly)
        self.threads = threads
        self.engine = engine(self, assembly)
        self._shapes.sizes["nu"] = self.nu

    @cached_property
    def _calls(self) -> Any:
        """The engine's kernels."""
        return self.engine.calls

    @cached_property
    def assembly(self) -> Assembly:
        """The connected blocks, with the parameters' current values."""
        return self.engine.assembly

    @property
    def gravity(self) -> Array:
        """Gravity (3, m/s^2) in inertial components; a copy."""
        return self.engine.gravity.copy()

    def with_assembly(self, assembly: Assembly) -> Self:
        """Return the mechanism of another assembly, with an engine of the same class."""
        kind: Any = type(self.engine)
        return type(self)(assembly, kind, self.threads)

    def twin(self, engine: Callable[[Any], Engine], moved: bool) -> Self:
        """Return a mechanism of the same structure with its own engine; `moved` tells whether ports may have other places."""
        twin, shared, geometric = object.__new__(type(self)), self._structural, {} if moved else self._geometric
        twin.__dict__ = shared | geometric
        twin._structural, twin._geometric, twin._make_engine, twin.threads = shared, geometric, engine, self.threads
        twin.regular_before = self.regular_configuration if moved else self.regular_before
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels, which cannot be sent to another process, and caches, which are filled again there."""
        left = ("_calls", "_make_engine", "sensitivities", "_cuts", "_openings", "ends")
        parts, shared = (
            {name: part for name, part in room.items() if name not in left} for room in (self.__dict__, self._structural)
        )
        return parts | {"engine": self.engine, "_structural": shared}

    # -- loads ---------------------------------------------------------------------------------------------------------

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs ``u``."""
        return self.inputs.names

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs.names)

    @structural
    def nx(self) -> int:
        """Number of first-order states."""
        return len(self.inputs.state_names)

    def motor_efforts(self, u: Any) -> Any:
        """Return the efforts (nv) of the motors among the inputs `u`."""
        return 0.0 if u is None else self.inputs.motors @ self.inputs.without_states(of_one_state(self.inputs.whole(u)))

    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]:
        """Return the external `wrenches`, and the loads of the inputs `u` on ports, own coordinates and interactions."""
        on_ports = {} if wrenches is None else read_wrenches(wrenches, self.ports)
        pushes: list[Push] = [PortPush(port, False, wrench) for port, wrench in on_ports.items()]
        return pushes if u is None else pushes + self.inputs.pushes(of_one_state(self.inputs.whole(u)))

    def prescribed(self, names: Sequence[str]) -> Array:
        """Return a mask (nv) of the coordinates whose motion is prescribed."""
        return coordinate_mask(names, self._assembly)

    def actuated(self, names: Sequence[str] | None) -> Array | None:
        """Return a mask (nv) of the actuated coordinates; None for a tree in which all are actuated."""
        if names is None:
            return np.ones(self.nv, dtype=bool) if self.is_constrained else None
        return self.chosen("actuated", names)

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return every parameter of every block by dotted name: its value and unit."""
        return self.engine.parameters()

    @structural
    def parameter_names(self) -> frozenset[str]:
        """Names of the parameters; they do not depend on the values."""
        return frozenset(self.parameters())

    @structural
    def disturbances(self) -> tuple[str, ...]:
        """Names of the parameters that are factors of loads which only disturb."""
        blocks = self._assembly.blocks.items()
        return tuple(f"{name}.{entry}" for name, block in blocks for entry in block.disturbances)

    @structural
    def in_field(self) -> tuple[str, ...]:
        """Names of the bodies that hang on the world in a planet's field of gravity."""
        assembly = self._assembly
        hanging = (name for name in self.body_names if assembly.hanging[name].parent.block is assembly.world)
        return () if assembly.field is None else tuple(hanging)

    @structural
    def limited_in_spin(self) -> tuple[str, ...]:
        """Names of the flexible bodies without geometric stiffness."""
        return tuple(block.name for block in self._assembly.blocks_with_coordinates if block.spin_limit is not None)

    @structural
    def can_overlap(self) -> bool:
        """Whether there are bodies that may run into themselves."""
        return any(is_rod(block) or block.can_fold for block in self._assembly.blocks.values())

    @structural
    def inertial_bodies(self) -> tuple[str, ...]:
        """Names of the bodies with inertial parameters, rigid ones that are in no fluid; parents first."""
        blocks = self._assembly.blocks
        return tuple(name for name in self.body_names if blocks[name].is_rigid)

    @structural
    def inertial(self) -> InertialParameters:
        """The names of the inertial parameters."""
        return InertialParameters(self._assembly, self.inertial_bodies)

    @cached_property
    def sensitivities(self) -> dict[Any, Any]:
        """Cached `Sensitivities`, by names and by the ports on which wrenches act."""
        return {}

    def check_inertia(self) -> list[Finding]:
        """Refuse a system in which a joint moves no inertia, neither at the neutral nor at another configuration.

        Raises `ModelError`, naming the joint.

        Returns
        -------
        list of Finding
            Warnings: no inertia at the neutral configuration only, or much accuracy lost to rounding.
        """
        findings, doubtful = [], self.engine.doubtful_pivots(self.probes)
        if not doubtful or self._assembly.moves_no_inertia:  # the check of the system has reported it
            return []
        if self.held_by_closures:
            q, still, none = self.regular_configuration, self._stills[2][0], np.zeros(self.nv, dtype=bool)
            if q is not None:
                closed_dynamics.hybrid(self, q, still, still, still, none, [])
            return []
        try:
            self._accelerations_at_rest(self.probes[0])
        except ModelError as error:
            self._accelerations_at_rest(self.probes[1])
            advice = "start elsewhere; forward dynamics fails there"
            value = "no inertia at the neutral configuration"
            findings.append(Finding("singular-neutral", error.where, value, "inertia to move", advice))
        conditions = [conditioning(pivots, self.coordinate_names) for pivots in doubtful]
        return findings + conditioning_findings(conditions, self.own_coordinates)

    def moves_at_rest(self) -> bool:
        """Tell whether the tree, gears in mesh, has accelerations at rest, at the neutral and at a generic configuration."""
        try:
            for q in self.probes:
                self._accelerations_at_rest(q)
        except ModelError:
            return False
        return True

    def _accelerations_at_rest(self, q: Array) -> Array:
        """Return the accelerations (nv) of the tree at rest."""
        return self.engine.dynamics.tree_forward(q, *self._stills[2])

    # -- sensors, ports and reactions ------------------------------------------------------------------------------------

    @structural
    def line_places(self) -> dict[str, tuple[Array, Array]]:
        """Indices in q and in v (n, no unit) of the coordinates of the bodies that each line runs through, by its name."""
        return line_places(self._assembly)

    @cached_property
    def sensor_signals(self) -> list[Quantity]:
        """The quantities that the sensors measure."""
        signals, states = list(self._first_signals), dict(self.inputs.states)
        for k, sensor in enumerate(self._assembly.sensors):
            if sensor.reads_parameters or sensor.is_filtered:
                signals[k] = sensor_quantities(self.assembly, self.assembly.sensors[k], states)
        return signals

    @structural
    def _first_signals(self) -> tuple[Quantity, ...]:
        """The quantities that the sensors measure with the first parameters."""
        states = dict(self.inputs.states)
        return tuple(sensor_quantities(self._assembly, sensor, states) for sensor in self._assembly.sensors)

    @structural
    def ends(self) -> dict[Any, Any]:
        """Cached meanings of the names in the latest linearisations, by these names, for models of any parameters."""
        return {}

    @cached_property
    def line_sensor_signals(self) -> list[Quantity]:
        """The quantities of lines that sensors measure; kernels do not compute these."""
        return [of for of in self.sensor_signals if of.kind in OF_LINES]

    @cached_property
    def order_of_sensed(self) -> Array:
        """Index of each output in the sequence of all outputs of lines, followed by all others."""
        of_lines = np.array([of.kind in OF_LINES for of in self.sensor_signals for _ in of.entries], dtype=bool)
        return np.argsort(np.argsort(~of_lines, kind="stable"))

    @structural
    def output_names(self) -> tuple[str, ...]:
        """Names of the sensors' outputs."""
        return tuple(name for sensor in self._assembly.sensors for name in sensor.output_names)

    @structural
    def sensor_entries(self) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Index of a sensor and of its outputs (None: all), by names of sensors, of outputs and of their vectors."""
        return sensor_entries(self._assembly.sensors)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of a port at a checked configuration."""
        motion = self.engine.observations.port_motion(port, q, *self._stills[2])
        return motion.rotation, motion.position

    def jacobian(self, port: str, q: Array) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame, at a checked configuration."""
        return self.engine.observations.jacobian(port, q)

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], u: Any, tau: Any) -> Array:
        """Return the multipliers (k, N and N m) of all constraints where `pushes` act."""
        applied = None if tau is None else self._read_v("tau", tau) + self.motor_efforts(u)
        return self.engine.observations.multipliers(q, v, a, pushes, applied)

    def loop_of(self, name: str) -> Joined | None:
        """Return the loop of the closure or interaction called `name`; None if it is the name of a joint.

        Raises `ModelError` if the name belongs to none of these.
        """
        loops = {loop.closure.name: loop for loop in (*self.rigid_loops, *self.interactions) if len(loop.ports) > 1}
        if not isinstance(name, str) or name not in (*self.joint_names, *loops):
            known, what = (*self.joint_names, *loops), "a joint" + (" or closure" if loops else "") + " of the model"
            raise ModelError(Finding("unknown-joint", "joint", name, what, did_you_mean(name, known)))
        return loops.get(name)

    def transmitting_port(self, name: str) -> PortRef:
        """Return the port of the reported wrench: the child's port of a joint, the second port of a closure or interaction."""
        loop = self.loop_of(name)
        return self._assembly.connections[self.joint_names.index(name)].child if loop is None else loop.second

    # -- cut mechanisms ------------------------------------------------------------------------------------------------

    def cut_at(self, rod: str, fraction: float) -> Self:
        """Return the mechanism cut at a section of a rod, from a cache."""
        cache, key = self._cuts, (rod, fraction)
        mechanism = cache.get(key)
        if mechanism is None:
            if len(cache) >= _KEPT:
                cache.pop(next(iter(cache)), None)
            block = self.assembly.blocks[rod]
            assert is_rod(block)
            mechanism = cache[key] = self.with_assembly(cut_rod_at(self.assembly, block, fraction))
        return mechanism

    def open_at(self, name: str) -> Self:
        """Return the mechanism opened at a joint, or at a port of a rod: it has six more coordinates there.

        For each joint the last opened mechanism is cached, in common with all mechanisms of the same structure.
        """
        if name not in self.joint_names:
            rod, fraction = section_of(self.assembly, name)
            return self.cut_at(rod.name, fraction)
        opening = self._openings.get(name)
        if opening is None or opening[0] is not self.assembly:
            opening = self._openings[name] = (
                self.assembly,
                self.with_assembly(with_movable(self.assembly, [MovablePlace(name, CHILD_PORT)])),
            )
        return opening[1]

    @structural
    def _openings(self) -> dict[str, tuple[Assembly, Self]]:
        """Opened mechanisms by the joint's name, each with the assembly that it was made from."""
        return {}

    @cached_property
    def _cuts(self) -> dict[tuple[str, float], Self]:
        """The cut mechanisms, by the rod's name and the fraction of its length."""
        return {}

    @cached_property
    def fibres(self) -> dict[str, tuple[Array, Fibres]]:
        """The fibres of all rods by name, at the abscissas (m) of the rods' points."""
        rods = [block for block in self.assembly.blocks.values() if is_rod(block)]
        places = [rod.numbers.fractions * rod.length for rod in rods]
        return {rod.name: (abscissas, rod.fibres(abscissas)) for rod, abscissas in zip(rods, places, strict=True)}


class Resolved:
    """A mechanism, and copies of the attributes that every call of a model's functions reads.

    Parameters
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.name = mechanism, mechanism.name
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.coordinate_names, self.configuration_names = mechanism.coordinate_names, mechanism.configuration_names
        self._shapes, self._stills = mechanism._shapes, mechanism._stills
        self._shared = self.__dict__.copy()

    @cached_property
    def _calls(self) -> Any:
        """The engine's kernels."""
        return self.mechanism.engine.calls

    @cached_property
    def _ready(self) -> dict[str, tuple[Any, tuple[int, ...], tuple[Array, ...]]]:
        """The kernels of functions of a state, each with the shape of its result, and zeros that it takes behind the state."""
        return {}

    def _on(self, mechanism: Mechanism) -> Self:
        """Return a model of this class on another mechanism."""
        model = object.__new__(type(self))
        Resolved.__init__(model, mechanism)
        return model

    def _alike(self, mechanism: Mechanism) -> Self:
        """Return a model of this class on a mechanism of the same structure."""
        model = object.__new__(type(self))
        model.__dict__ = self._shared | {"mechanism": mechanism, "_shared": self._shared}
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels, which cannot be sent to another process, and what follows from the parameters."""
        return {name: part for name, part in self.__dict__.items() if name not in ("_calls", "_ready", "_shared", "_smooth")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._shared = state
