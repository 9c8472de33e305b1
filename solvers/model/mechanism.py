"""What is known of a resolved system: coordinates, constraints, inputs, parameters, and the engine that computes.

Solvers and engines work with it; what users call of a `Model` rests on it, and it knows nothing of that.
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
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import coordinate_mask, of_one_state, read_wrenches
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.mechanism import Engine
from titop.solvers.mechanism.conditioning import conditioning, conditioning_findings
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.mechanism.movable_ports import MovablePlace, with_movable
from titop.solvers.mechanism.shared import structural
from titop.solvers.sensitivities.inertial_parameters import InertialParameters
from titop.solvers.signals.line_readings import line_places
from titop.solvers.signals.quantities import OF_LINES, Quantity
from titop.solvers.signals.section_opening import cut_rod_at, is_rod, section_of
from titop.solvers.signals.sensors import sensor_entries, sensor_quantities

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod_sections import Fibres

#: So many cut systems, some 40 kB each and 30 kB more for each rod in it, are kept, for the sections asked for last.
_KEPT = 512


class Mechanism(ClosedLoops):
    """The coordinates and constraints of a system with an engine: what all functions of a model rest on.

    Parameters
    ----------
    assembly : Assembly
    engine : callable
        ``engine(mechanism, assembly)`` returns the engine of a mechanism.
    """

    def __init__(self, assembly: Assembly, engine: Callable[[Any, Assembly], Engine]) -> None:
        super().__init__(assembly)
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
        """Return the mechanism of another assembly on an engine of this kind."""
        kind: Any = type(self.engine)
        return type(self)(assembly, kind)

    def twin(self, engine: Callable[[Any], Engine], moved: bool) -> Self:
        """Return a mechanism of the same structure on an engine of its own; `moved` says if ports may stand elsewhere."""
        twin, shared, geometric = object.__new__(type(self)), self._structural, {} if moved else self._geometric
        twin.__dict__ = shared | geometric
        twin._structural, twin._geometric, twin._make_engine = shared, geometric, engine
        twin.regular_before = self.regular_configuration if moved else self.regular_before
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels, which cannot be sent to another process, and what is found again: it loads its own."""
        left = ("_calls", "_make_engine", "sensitivities", "_cuts", "_openings")
        parts, shared = (
            {name: part for name, part in room.items() if name not in left} for room in (self.__dict__, self._structural)
        )
        return parts | {"engine": self.engine, "_structural": shared}

    # -- what acts from outside ----------------------------------------------------------------------------------------

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
        """Number of states of the first order."""
        return len(self.inputs.state_names)

    def motor_efforts(self, u: Any) -> Any:
        """Return what the motors' inputs among `u` do to the coordinates (nv)."""
        return 0.0 if u is None else self.inputs.motors @ self.inputs.without_states(of_one_state(self.inputs.whole(u)))

    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]:
        """Return the external `wrenches` and what the inputs `u` do to ports and own coordinates."""
        given = {} if wrenches is None else read_wrenches(wrenches, self.ports)
        pushes: list[Push] = [PortPush(port, False, wrench) for port, wrench in given.items()]
        return pushes if u is None else pushes + self.inputs.pushes(of_one_state(self.inputs.whole(u)))

    def prescribed(self, names: Sequence[str]) -> Array:
        """Return a mask (nv) of the coordinates whose motion is prescribed."""
        return coordinate_mask(names, self._assembly)

    def actuated(self, names: Sequence[str] | None) -> Array | None:
        """Return a mask (nv) of the actuated coordinates; None where every motion is possible without looking."""
        if names is None:
            return np.ones(self.nv, dtype=bool) if self.is_constrained else None
        return self.chosen("actuated", names)

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return every number of every block by dotted name, with its unit."""
        return self.engine.parameters()

    @structural
    def parameter_names(self) -> frozenset[str]:
        """Names of the parameters, which no change of them changes."""
        return frozenset(self.parameters())

    @structural
    def inertial_bodies(self) -> tuple[str, ...]:
        """Names of the rigid bodies that are in no fluid, which have inertial parameters; parents first."""
        blocks = self._assembly.blocks
        return tuple(name for name in self.body_names if blocks[name].is_rigid)

    @structural
    def inertial(self) -> InertialParameters:
        """The names of the inertial parameters."""
        return InertialParameters(self._assembly, self.inertial_bodies)

    @cached_property
    def inertial_derivatives(self) -> dict[str, Array]:
        """Derivatives (10 x 10) of bodies' inertial parameters by their own, as far as these were asked for."""
        return {}

    @cached_property
    def sensitivities(self) -> dict[Any, Any]:
        """The `Sensitivities` that were asked for, by names and ports on which wrenches act."""
        return {}

    def check_inertia(self) -> list[Finding]:
        """Refuse a system in which a joint moves no inertia at the neutral and at another configuration.

        Returns
        -------
        list of Finding
            What is suspicious: no inertia at the neutral configuration only, or much lost to rounding.

        Raises
        ------
        ModelError
            Naming the joint.
        """
        findings, doubtful = [], self.engine.doubtful_pivots(self.probes)
        if not doubtful or self._assembly.moves_no_inertia:  # which checking the system has told
            return []
        try:
            self._accelerations_at_rest(self.probes[0])
        except ModelError as error:
            self._accelerations_at_rest(self.probes[1])
            advice = "start elsewhere; forward dynamics fails there"
            value = "no inertia at the neutral configuration"
            findings.append(Finding("singular-neutral", error.where, value, "inertia to move", advice))
        found = [conditioning(pivots, self.coordinate_names) for pivots in doubtful]
        return findings + conditioning_findings(found, self.own_coordinates)

    def moves_at_rest(self) -> bool:
        """Tell whether the tree, gears in mesh, has accelerations at rest at the neutral and at another configuration."""
        try:
            for q in self.probes:
                self._accelerations_at_rest(q)
        except ModelError:
            return False
        return True

    def _accelerations_at_rest(self, q: Array) -> Array:
        """Return the accelerations (nv) of the tree at rest."""
        return self.engine.dynamics.tree_forward(q, *self._stills[2])

    @structural
    def probes(self) -> tuple[Array, Array]:
        """The neutral configuration (nq, rad and m), and one in no special position, displaced by the system's size."""
        neutral = self.neutral()
        step = self.difference_unchecked(neutral, self.random_configuration(np.random.default_rng(0)))
        of_joints = np.zeros(self.nv, dtype=bool)
        for connection in self._assembly.connections:
            of_joints[self._assembly.v_slices.get(connection.joint.name, slice(0, 0))] = True
        step[of_joints & self.length_coordinates] *= self.scale.length  # no body is asked for its mass matrix
        return neutral, self.integrate_unchecked(neutral, step)

    # -- what is read of it ----------------------------------------------------------------------------------------------

    @structural
    def line_places(self) -> dict[str, tuple[Array, Array]]:
        """Where the coordinates of what each line runs through stand in q and in v (n, no unit), by the line's name."""
        return line_places(self._assembly)

    @cached_property
    def sensor_signals(self) -> list[Quantity]:
        """What the sensors read."""
        weighed = any(sensor.reads_parameters for sensor in self._assembly.sensors)
        assembly = self.assembly if weighed else self._assembly
        return [sensor_quantities(assembly, sensor) for sensor in assembly.sensors]

    @cached_property
    def line_sensor_signals(self) -> list[Quantity]:
        """What the sensors read of lines, which kernels do not read."""
        return [of for of in self.sensor_signals if of.kind in OF_LINES]

    @cached_property
    def order_of_sensed(self) -> Array:
        """Where each output stands in all that is read of lines, followed by all else."""
        of_lines = np.array([of.kind in OF_LINES for of in self.sensor_signals for _ in of.entries], dtype=bool)
        return np.argsort(np.argsort(~of_lines, kind="stable"))

    @structural
    def output_names(self) -> tuple[str, ...]:
        """Names of the sensors' outputs."""
        return tuple(name for sensor in self._assembly.sensors for name in sensor.output_names)

    @structural
    def sensor_entries(self) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """MovablePlace of a sensor, and which of its outputs (None: all), by names of sensors, outputs and their vectors."""
        return sensor_entries(self._assembly.sensors)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of a port at a configuration that was read."""
        motion = self.engine.observations.port_motion(port, q, *self._stills[2])
        return motion.rotation, motion.position

    def jacobian(self, port: str, q: Array) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame, at a configuration that was read."""
        return self.engine.observations.jacobian(port, q)

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], u: Any, tau: Any) -> Array:
        """Return the multipliers (k, N and N m) of all constraints where `pushes` act."""
        applied = None if tau is None else self._read_v("tau", tau) + self.motor_efforts(u)
        return self.engine.observations.multipliers(q, v, a, pushes, applied)

    def loop_of(self, name: str) -> Loop | None:
        """Return the loop of a closure's or interaction's `name`, None for a joint's.

        Raises
        ------
        ModelError
            If the name is none of these.
        """
        loops = {loop.closure.name: loop for loop in (*self.rigid_loops, *self.interactions) if len(loop.ports) > 1}
        if not isinstance(name, str) or name not in (*self.joint_names, *loops):
            known, what = (*self.joint_names, *loops), "a joint" + (" or closure" if loops else "") + " of the model"
            raise ModelError(Finding("unknown-joint", "joint", name, what, did_you_mean(name, known)))
        return loops.get(name)

    def transmitting_port(self, name: str) -> PortRef:
        """Return the port at which the wrench of a joint, closure or interaction is given: a child's, or the second one."""
        loop = self.loop_of(name)
        return self._assembly.connections[self.joint_names.index(name)].child if loop is None else loop.second

    # -- where it is opened --------------------------------------------------------------------------------------------

    def cut_at(self, rod: str, fraction: float) -> Self:
        """Return the mechanism cut at a section of a rod; kept, for sections asked for again."""
        kept, key = self._cuts, (rod, fraction)
        mechanism = kept.get(key)
        if mechanism is None:
            if len(kept) >= _KEPT:
                kept.pop(next(iter(kept)), None)
            block = self.assembly.blocks[rod]
            assert is_rod(block)
            mechanism = kept[key] = self.with_assembly(cut_rod_at(self.assembly, block, fraction))
        return mechanism

    def open_at(self, name: str) -> Self:
        """Return the mechanism with six coordinates more where a joint, or a rod at a port, is opened.

        Of mechanisms of one structure, the last one's is kept for each joint.
        """
        if name not in self.joint_names:
            rod, fraction = section_of(self.assembly, name)
            return self.cut_at(rod.name, fraction)
        kept = self._openings.get(name)
        if kept is None or kept[0] is not self.assembly:
            kept = self._openings[name] = (
                self.assembly,
                self.with_assembly(with_movable(self.assembly, [MovablePlace(name, CHILD_PORT)])),
            )
        return kept[1]

    @structural
    def _openings(self) -> dict[str, tuple[Assembly, Self]]:
        """The mechanisms with a joint opened by its name, and the assemblies of which they are."""
        return {}

    @cached_property
    def _cuts(self) -> dict[tuple[str, float], Self]:
        """The cut mechanisms by rod and place."""
        return {}

    @cached_property
    def fibres(self) -> dict[str, tuple[Array, Fibres]]:
        """The fibres of all rods by name, at the abscissas (m) of the rods' points."""
        rods = [block for block in self.assembly.blocks.values() if is_rod(block)]
        places = [rod.numbers.fractions * rod.length for rod in rods]
        return {rod.name: (abscissas, rod.fibres(abscissas)) for rod, abscissas in zip(rods, places, strict=True)}
