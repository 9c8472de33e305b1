"""The compiled resolver: a model whose functions are numba kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from titop.blocks.block import PARENT_PORT, acceleration_bias
from titop.blocks.errors import Finding, ModelError
from titop.blocks.joint import Joint
from titop.blocks.quaternion_joints import Free, Spherical
from titop.blocks.spatial import Array, twist_transport
from titop.graph.assembly import Assembly
from titop.graph.check import massless_joint
from titop.graph.flatten import GeneralBlock, flatten
from titop.solvers.arguments import check_stacks, overflow, read_mapping, store
from titop.solvers.derivatives import HybridDerivatives, hybrid_derivatives
from titop.solvers.inputs import Push
from titop.solvers.kernels import entries, layout, pack
from titop.solvers.laws import write_law, write_ports, write_slopes
from titop.solvers.model import Energy, Model, PortMotion
from titop.solvers.parameters import assembly_parameters, changed_assembly


class CompiledModel(Model):
    """A model resolved by compiled kernels; see `Model` for its functions."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        described = assembly_parameters(assembly)
        self._tables = flatten(assembly, tuple(described), layout, pack)
        self._units = tuple(unit for _, unit in described.values())
        self._params = np.array([value for value, _ in described.values()])
        self._changes: dict[str, float] = {}
        self._ints = self._tables.ints
        self._rigid = not self._tables.general
        self._pack()

    def _pack(self) -> bool:
        """Fill the table of floats from the parameters; return whether they are usable."""
        tables = self._tables
        self._floats = np.zeros((len(self._ints), layout.FLOAT_COLUMNS))
        self._frames = np.empty((len(tables.constants), 12))
        self._ports = np.empty((len(tables.port_table), 12))
        status = entries.pack(
            self._ints,
            tables.sources,
            tables.constants,
            tables.port_table,
            self._params,
            self._floats,
            self._frames,
            self._ports,
        )
        return status == layout.OK

    # -- forward and inverse dynamics: straight into the kernel, and only on a fault back to find its cause ------------

    @cached_property
    def _forward(self) -> Any:
        return entries.forward_dynamics.compiled

    @cached_property
    def _inverse(self) -> Any:
        return entries.inverse_dynamics.compiled

    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> Array:
        a = np.empty(self.nv) if out is None else out
        if wrenches is None and u is None and self._rigid:
            try:
                if self._forward(self._ints, self._floats, q, v, tau, a) == layout.OK:
                    return a
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
        return self._any_input(self._forward_one, entries.forward_batch, q, v, "tau", tau, wrenches, u, out)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> Array:
        tau = np.empty(self.nv) if out is None else out
        if wrenches is None and u is None and self._rigid:
            try:
                if self._inverse(self._ints, self._floats, q, v, a, tau) == layout.OK:
                    return tau
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
        return self._any_input(self._inverse_one, entries.inverse_batch, q, v, "a", a, wrenches, u, out)

    def _any_input(
        self, one: Any, batch: Any, q: Any, v: Any, name: str, x: Any, wrenches: Any, u: Any, out: Array | None
    ) -> Array:
        """Read any usable arguments, single or stacked, and compute; raise what is wrong with the others."""
        q = _real(self._read_q(q, stacked=True), "q")
        v = _real(self._read_v("v", v, True), "v")
        x = np.zeros(v.shape) if x is None and name == "tau" else _real(self._read_v(name, x, True), name)
        check_stacks({"q": q, "v": v, name: x})
        model, motors = self._pushed(self._pushes(wrenches, u)), self._motor_efforts(u)
        if name == "tau":
            x = x + motors
        result = np.empty_like(x)
        if q.ndim == 1:
            one(model, q, v, x, result)
        elif self._rigid:
            self.raise_for(batch(model._ints, model._floats, q, v, x, result))
        else:
            for row in range(len(q)):
                one(model, q[row], v[row], x[row], result[row])
        return store(result - motors if name == "a" else result, out)

    def _forward_one(self, model: CompiledModel, q: Array, v: Array, tau: Array, a: Array) -> None:
        if self._rigid:
            self.raise_for(self._forward(model._ints, model._floats, q, v, tau, a))
        else:
            a[:], _ = model._hybrid(q, v, tau, np.zeros(self.nv), np.zeros(self.nv, dtype=bool), [])

    def _inverse_one(self, model: CompiledModel, q: Array, v: Array, a: Array, tau: Array) -> None:
        if self._rigid:
            self.raise_for(self._inverse(model._ints, model._floats, q, v, a, tau))
        else:
            tau[:] = model._inverse_work(q, v, a)[0]

    @property
    def is_rigid(self) -> bool:
        """Whether all blocks are rigid bodies and built-in joints."""
        return self._rigid

    def loaded(self, wrenches: Mapping[str, Any]) -> CompiledModel:
        """Return the model with constant external wrenches, in the ports' frames, made part of it."""
        return self._pushed(self._pushes(wrenches))

    def state_derivative(self, tau: Array) -> tuple[Any, tuple[Any, ...]]:
        """Return the compiled ``f(dy, t, y, *arguments) -> status`` of a rigid system, ``y = [q, v]``, and its arguments.

        The system is driven by constant efforts `tau` (nv). Where it cannot go on, dy is NaN.
        """
        return entries.state_derivative.compiled, (self._ints, self._floats, tau)

    # -- staged dynamics, for any causality and any block --------------------------------------------------------------

    def configuration_rate(self, q: Any, v: Any) -> Array:
        return super().configuration_rate(_real(self._read_q(q), "q"), _real(self._read_v("v", v), "v"))

    def _hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        q, v, tau, a = _real(q, "q"), _real(v, "v"), _real(tau, "tau"), _real(a, "a")
        model = self._pushed(pushes)
        law, work = model._outward(q, v, layout.FORWARD_COLUMNS)
        a, tau = a.astype(float), tau.astype(float)
        self.raise_for(entries.hybrid_stage(model._ints, model._floats, law, q, v, a, tau, mask, work))
        return a, tau

    def _inverse_work(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Return efforts, laws and work rows of inverse dynamics."""
        law, work = self._outward(q, v, layout.INVERSE_COLUMNS)
        tau = np.empty(self.nv)
        self.raise_for(entries.inverse_stage(self._ints, self._floats, law, q, v, a, work, tau))
        return tau, law, work

    def _outward(self, q: Array, v: Array, columns: Any) -> tuple[Array, Array]:
        """Return the general blocks' laws, loads on them subtracted, and work rows with all poses and twists."""
        law = np.zeros((1, self._tables.law_size))
        for general in self._tables.general:
            write_ports(general, law[0], q[general.q])
        work = np.empty((len(self._tables.constants), columns))
        self.raise_for(entries.twists(self._ints, self._floats, law, q, v, work))
        for general in self._tables.general:
            write_law(general, law[0], q[general.q], v[general.v], work[general.element, layout.TWIST : layout.TWIST + 6])
        if not self._rigid and self._ints[0, layout.LOADS]:
            entries.law_loads(self._ints, self._floats, law, work)
        return law, work

    def _pushed(self, pushes: list[Push]) -> CompiledModel:
        """Return a model in which the pushes are loads."""
        if not pushes:
            return self
        model = self._variant()
        rows = np.full((len(pushes), layout.INT_COLUMNS), -1, dtype=np.int64)
        floats = np.zeros((len(pushes), layout.FLOAT_COLUMNS))
        for k, (port, inertial, wrench) in enumerate(pushes):
            block, name = self.ports[port]
            rows[k, layout.ELEMENT], rows[k, layout.INERTIAL] = self._tables.elements[block], int(inertial)
            if port in self._tables.port_rows:
                floats[k, :12] = self._ports[self._tables.port_rows[port]]
            else:
                floats[k, [0, 4, 8]] = 1.0
                ports = self._general_block(block).ports
                if name in ports:
                    first = self._ints[self._tables.elements[block], layout.PORTS]
                    rows[k, layout.PORT], rows[k, layout.ROW] = ports[name], first + list(ports).index(name)
            floats[k, layout.FORCE : layout.FORCE + 6] = wrench
        model._ints, model._floats = np.vstack([self._ints, rows]), np.vstack([self._floats, floats])
        model._ints[0, layout.LOADS] += len(pushes)
        model._ints[0, layout.INERTIAL_LOADS] |= any(push.inertial for push in pushes)
        return model

    def _variant(self) -> CompiledModel:
        """Return a shallow copy whose tables may be replaced."""
        model = object.__new__(CompiledModel)
        model.__dict__.update(self.__dict__)
        for derived in ("_bare", "_group_springs", "_all_compiled_slopes", "_current_assembly"):
            model.__dict__.pop(derived, None)
        return model

    @cached_property
    def _bare(self) -> CompiledModel:
        """The model without passive efforts and loads."""
        bare = self._variant()
        bare._ints = self._ints.copy()
        bare._ints[0, [layout.SPRINGS, layout.LOADS, layout.INERTIAL_LOADS]] = 0
        return bare

    # -- derivatives ---------------------------------------------------------------------------------------------------

    @cached_property
    def _inverse_slopes(self) -> Any:
        return entries.inverse_derivatives.compiled

    @cached_property
    def _forward_slopes(self) -> Any:
        return entries.forward_derivatives.compiled

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        if wrenches is None and u is None and self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                status = self._inverse_slopes(self._ints, self._floats, self._tables.paths, q, v, a, result)
                if status == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
        return super().inverse_dynamics_derivatives(q, v, a, wrenches, out, u)

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        if wrenches is None and u is None and self._all_compiled_slopes:
            result = np.empty((3, self.nv, self.nv)) if out is None else out
            try:
                tables = self._tables
                status = self._forward_slopes(self._ints, self._floats, tables.tree, tables.paths, q, v, tau, result)
                if status == layout.OK:
                    return result[0], result[1], result[2]
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
                pass
        return super().forward_dynamics_derivatives(q, v, tau, wrenches, out, u)

    @cached_property
    def _linearised(self) -> Any:
        return entries.linear_matrices.compiled

    def _linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        if not wrenches and u is None and self._all_compiled_slopes and not self._assembly.loops:
            n, tables = self.nv, self._tables
            numbers = np.empty(6 * n * n + n)
            A, B, a = numbers[: 4 * n * n].reshape(2 * n, 2 * n), numbers[4 * n * n : -n].reshape(2 * n, n), numbers[-n:]
            try:
                if self._linearised(self._ints, self._floats, tables.tree, tables.paths, q, v, tau, a, A, B) == layout.OK:
                    return a, A, B
            except (TypeError, ValueError):  # not the kernel's types: lists, integers, ...
                pass
        return super()._linear_matrices(q, v, tau, wrenches, u)

    def _inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        q, v, a = _real(q, "q"), _real(v, "v"), _real(a, "a")
        model, result = self._pushed(pushes), np.empty((3, self.nv, self.nv))
        if self._rigid:
            self.raise_for(self._inverse_slopes(model._ints, model._floats, self._tables.paths, q, v, a, result))
        else:
            law, slopes, work, sums, columns = model._linearised_blocks(q, v, a)
            arguments = law, slopes, self._tables.paths, v, a, work, sums, columns, result
            self.raise_for(entries.derivatives_stage(model._ints, model._floats, *arguments))
        for block in self._group_springs:
            where = self._v(block)
            result[0][where, where] -= block.elastic_slopes(q[self._q(block)])
        return result

    def _linearised_blocks(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return laws, slopes and motions of all blocks, and empty rows for sums and columns."""
        tables = self._tables
        law, work = self._outward(q, v, layout.INVERSE_COLUMNS)
        entries.motions_stage(self._ints, self._floats, law, v, a, work)
        slopes = np.zeros((1, tables.slopes_size))
        for general in tables.general:
            motion = work[general.element]
            twist, acceleration = (motion[k : k + 6] for k in (layout.TWIST, layout.ACC))
            write_slopes(general, slopes[0], q[general.q], v[general.v], a[general.v], twist, acceleration)
        rows = len(tables.constants) + tables.port_count
        sums, columns = np.empty((rows, layout.FULL_COLUMNS)), np.empty((tables.paths.shape[1], layout.COLUMN_COLUMNS))
        return law, slopes, work, sums, columns

    def _motion_derivatives(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        q, v, a = _real(q, "q"), _real(v, "v"), _real(a, "a")
        law, slopes, work, sums, columns = self._bare._linearised_blocks(q, v, a)
        paths = self._tables.paths
        entries.columns_stage(self._ints, self._floats, law, slopes, paths, v, a, work, sums, columns)
        results = []
        for port in ports:
            result = np.zeros((4, 6, self.nv))
            element, last = self._nearest_column(port)
            if last >= 0:
                base = sums[element, :12]
                rotation, position, subspace, where = self._port_in_element(port, q)
                frame = np.concatenate(
                    [(base[:9].reshape(3, 3) @ rotation).ravel(), base[9:] + base[:9].reshape(3, 3) @ position]
                )
                to_port = twist_transport(rotation, position)
                twist = to_port @ work[element, layout.TWIST : layout.TWIST + 6] + subspace @ v[where]
                back = np.linalg.solve(twist_transport(frame[:9].reshape(3, 3), frame[9:]), twist)
                entries.port_derivatives(paths, columns, last, frame[None], back, result)
            results.append(result)
        return results

    def _nearest_column(self, port: str) -> tuple[int, int]:
        """Return the element that carries a port, and the row of the coordinate nearest to the port (-1 without)."""
        block, name = self.ports[port]
        element = self._tables.elements[block]
        entries_of = self._ints[element]
        if element and entries_of[layout.LAW] >= 0 and name not in (None, PARENT_PORT):
            general = self._general_block(block)
            if general.block.nv:
                index = list(general.ports).index(name)
                return element, int(entries_of[layout.COLUMN]) + (index + 1) * general.block.nv - 1
        return element, int(entries_of[layout.LAST]) if element else -1

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        if self._all_compiled_slopes:
            q, v, tau = _real(q, "q"), _real(v, "v"), _real(tau, "tau")
            model, tables, result = self._pushed(pushes), self._tables, np.empty((3, self.nv, self.nv))
            self.raise_for(self._forward_slopes(model._ints, model._floats, tables.tree, tables.paths, q, v, tau, result))
            return result
        free = np.zeros(self.nv, dtype=bool)
        slopes = self._hybrid_derivatives(q, v, tau, np.zeros(self.nv), free, pushes)
        return np.array([slopes.da_dq, slopes.da_dv, slopes.da_dtau])

    def _hybrid_derivatives(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]
    ) -> HybridDerivatives:
        a, _ = self._hybrid(q, v, tau, a, mask, pushes)
        return hybrid_derivatives(self._inverse_derivatives(q, v, a, pushes), mask)

    @cached_property
    def _group_springs(self) -> list[Joint]:
        """Spherical and free joints with a stiffness, whose efforts the kernels do not differentiate."""
        names = [c.joint.name for c in self._assembly.connections if isinstance(c.joint, Spherical | Free)]
        joints = [self.assembly.blocks[name] for name in names]
        return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]

    @cached_property
    def _all_compiled_slopes(self) -> bool:
        return self._rigid and not self._group_springs

    # -- the model's other functions -----------------------------------------------------------------------------------

    @cached_property
    def _mass(self) -> Any:
        return entries.rigid_mass_matrix.compiled

    def mass_matrix(self, q: Any) -> Array:
        if self._rigid:
            matrix = np.empty((self.nv, self.nv))
            try:
                if self._mass(self._ints, self._floats, q, matrix) == layout.OK:
                    return matrix
            except (TypeError, ValueError):
                pass
        q = _real(self._read_q(q), "q")
        law, work = self._bare._outward(q, np.zeros(self.nv), layout.FORWARD_COLUMNS)
        matrix = np.zeros((self.nv, self.nv))
        entries.mass_matrix(self._ints, self._floats, law, work, matrix)
        return matrix

    def _bare_inverse_dynamics(self, q: Array, v: Array) -> Array:
        q, v = _real(q, "q"), _real(v, "v")
        tau = self._bare._inverse_work(q, v, np.zeros(self.nv))[0]
        for general in self._tables.general:
            tau[general.v] += general.block.passive_efforts(q[general.q], v[general.v])
        return tau

    def passive_efforts(self, q: Any, v: Any) -> Array:
        q, v = _real(self._read_q(q), "q"), _real(self._read_v("v", v), "v")
        gyroscopic, tau = np.zeros(self.nv), np.zeros(self.nv)
        entries.passive_efforts(self._ints, self._floats, q, v, tau)
        entries.passive_efforts(self._bare._ints, self._floats, q, v, gyroscopic)
        tau -= gyroscopic
        for general in self._tables.general:
            tau[general.v] += general.block.passive_efforts(q[general.q], v[general.v])
        return tau

    def jacobian(self, port: str, q: Any) -> Array:
        port, q = self._read_port(port), _real(self._read_q(q), "q")
        law, work = self._bare._outward(q, np.zeros(self.nv), layout.INVERSE_COLUMNS)
        block, _ = self.ports[port]
        at_element = np.zeros((6, self.nv))
        entries.jacobian(self._ints, self._floats, law, work, self._tables.elements[block], at_element)
        rotation, position, subspace, where = self._port_in_element(port, q)
        result = twist_transport(rotation, position) @ at_element
        result[:, where] += subspace
        return result

    def reaction(self, joint: str, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None) -> Array:
        q, v, a = _real(self._read_q(q), "q"), _real(self._read_v("v", v), "v"), _real(self._read_v("a", a), "a")
        connection = self._connections[self._read_joint(joint)]
        _, _, work = self._pushed(self._pushes(wrenches, u))._inverse_work(q, v, a)
        wrench = work[self._tables.elements[connection.child.block.name], layout.BIAS : layout.BIAS + 6]
        port = str(connection.child)
        if port not in self._tables.port_rows:
            return wrench.copy()
        pose = self._ports[self._tables.port_rows[port]]
        rotation, position = pose[:9].reshape(3, 3), pose[9:]
        force = rotation.T @ wrench[:3]
        return np.concatenate([force, rotation.T @ (wrench[3:] - np.cross(position, wrench[:3]))])

    def energy(self, q: Any, v: Any) -> Energy:
        q, v = _real(self._read_q(q), "q"), _real(self._read_v("v", v), "v")
        kinetic, gravity, elastic = self._observe(q, v)[:3].tolist()
        for general in self._tables.general:
            elastic += float(general.block.elastic_energy(q[general.q]))
        return Energy(kinetic + self._armature_energy(v), gravity, elastic)

    def momentum(self, q: Any, v: Any) -> Array:
        return self._observe(_real(self._read_q(q), "q"), _real(self._read_v("v", v), "v"))[3:9]

    def center_of_mass(self, q: Any) -> Array:
        moment = self._observe(_real(self._read_q(q), "q"), np.zeros(self.nv))[9:]
        return self._center(moment[:3], moment[3])

    def _observe(self, q: Array, v: Array) -> Array:
        law, work = self._bare._outward(q, v, layout.INVERSE_COLUMNS)
        result = np.zeros(13)
        entries.energy_momentum(self._ints, self._floats, law, q, v, work, np.empty((len(work), 12)), result)
        return result

    def _armature_energy(self, v: Array) -> float:
        total = 0.0
        for element in range(1, len(self._tables.constants)):
            drives = self._floats[element, layout.ARMATURE : layout.ARMATURE + 6]
            if drives.any():
                rates = v[self._ints[element, layout.V] :][:6]
                total += 0.5 * float(drives[: len(rates)] @ rates**2)
        return total

    def _port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        q, v, a = _real(q, "q"), _real(v, "v"), _real(a, "a")
        _, law, work = self._bare._inverse_work(q, v, a)
        block, name = self.ports[port]
        element = self._tables.elements[block]
        world = np.empty((len(work), 12))
        entries.energy_momentum(self._bare._ints, self._floats, law, q, v, work, world, np.zeros(13))
        base, origin = world[element, :9].reshape(3, 3), world[element, 9:]
        twist, acceleration = work[element, layout.TWIST : layout.TWIST + 6], work[element, layout.ACC : layout.ACC + 6]
        rotation, position, subspace, where = self._port_in_element(port, q)
        onto = twist_transport(rotation, position)
        gamma = np.zeros(6)
        if port not in self._tables.port_rows and name not in (None, PARENT_PORT):
            general = self._general_block(block)
            gamma = acceleration_bias(general.block, name, q[general.q], v[general.v], twist)
        return PortMotion(
            base @ rotation,
            origin + base @ position,
            onto @ twist + subspace @ v[where],
            onto @ acceleration + subspace @ a[where] + gamma,
        )

    def _port_in_element(self, port: str, q: Array) -> tuple[Array, Array, Array, slice]:
        """Return rotation, position and motion subspace of a port in its element, and the coordinates of the subspace."""
        if port in self._tables.port_rows:
            pose = self._ports[self._tables.port_rows[port]]
            return pose[:9].reshape(3, 3), pose[9:], np.zeros((6, 0)), slice(0, 0)
        block, name = self.ports[port]
        general = self._general_block(block)
        if name in (None, PARENT_PORT):
            return np.eye(3), np.zeros(3), np.zeros((6, general.block.nv)), general.v
        own = q[general.q]
        return *general.block.pose(name, own), general.block.motion_subspace(name, own), general.v

    def _general_block(self, name: str) -> GeneralBlock:
        return next(general for general in self._tables.general if general.block.name == name)

    @cached_property
    def _connections(self) -> dict[str, Any]:
        return {connection.joint.name: connection for connection in self._assembly.connections}

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def assembly(self) -> Assembly:
        """The assembly with the parameters' current values."""
        return self._current_assembly

    @cached_property
    def _current_assembly(self) -> Assembly:
        return changed_assembly(self._assembly, self._changes) if self._changes else self._assembly

    @property
    def gravity(self) -> Array:
        return self._floats[0, layout.GRAVITY : layout.GRAVITY + 3].copy()

    def parameters(self) -> dict[str, tuple[float, str]]:
        return {
            name: (value, unit)
            for name, value, unit in zip(self._tables.parameter_names, self._params.tolist(), self._units, strict=True)
        }

    def with_parameters(self, values: Mapping[str, float]) -> CompiledModel:
        values = read_mapping("parameters", values)
        index = self._packed_parameters
        model = self._variant()
        model._params = self._params.copy()
        model._changes = {**self._changes, **values}
        for name, value in values.items():
            if name not in index or not isinstance(value, int | float):
                return self._rebuilt(values)
            model._params[index[name]] = value
        if not model._pack():
            return self._rebuilt(values)
        model.check_inertia()
        return model

    def _rebuilt(self, values: Mapping[str, float]) -> CompiledModel:
        """Return the model built again with changed parameters: other springs, general blocks, or an error."""
        model = CompiledModel(changed_assembly(self._assembly, {**self._changes, **values}))
        model.check_inertia()
        return model

    @cached_property
    def _packed_parameters(self) -> dict[str, int]:
        """Position of the parameters that packing alone brings into effect; shared by all variants."""
        unsprung = set(self._tables.joints) - self._sprung_joints()
        general = {general.block.name for general in self._tables.general}
        general |= {block.name for block in (*self._assembly.actuators, *self._assembly.sensors)}
        index = {}
        for position, name in enumerate(self._tables.parameter_names):
            block, entry = name.split(".", 1)
            if block in general or (block in unsprung and entry.split(".")[0] in ("stiffness", "damping", "friction")):
                continue
            if entry.startswith("rest.q"):  # a quaternion, which its joint has to check
                continue
            index[name] = position
        return index

    def _sprung_joints(self) -> set[str]:
        joints = (connection.joint for connection in self._assembly.connections)
        return {joint.name for joint in joints if isinstance(joint, Joint) and joint.is_sprung}

    # -- faults --------------------------------------------------------------------------------------------------------

    def raise_for(self, status: int) -> None:
        """Raise what a kernel's status means."""
        if status == layout.OK:
            return
        if status == layout.NOT_UNIT:
            raise ModelError(
                Finding("not-unit", "q", "a quaternion", "a unit quaternion (x, y, z, w)", "divide it by its norm")
            )
        if status > 0:
            raise ModelError(massless_joint(self._tables.joints[status], "no inertia at this configuration"))
        raise ModelError(overflow())


def _real(array: Array, name: str) -> Array:
    if np.iscomplexobj(array):
        raise ModelError(
            Finding(
                "wrong-type", name, "complex numbers", "real numbers", "use resolve(engine='reference') for complex arguments"
            )
        )
    return array
