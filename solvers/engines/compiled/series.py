"""Time derivatives of the compiled engine's tree: by kernels, or where these cannot be used by the reference engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.solvers.constraints.mechanism import EquationSeries, PortSeries, SeriesCore
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import series_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.model.mechanism import Mechanism

#: The derivatives of wrenches, where all are constant.
CONSTANT: Array = np.zeros((0, 6))


def group_springs(system: PackedSystem) -> list[Joint]:
    """Return the spherical and free joints with a stiffness, whose efforts the kernels do not differentiate by time."""
    names = [c.joint.name for c in system.structure.connections if c.joint.quaternion.stop]
    joints = [system.assembly.blocks[name] for name in names if name not in system.tables.general_names]
    return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]


def has_series(system: PackedSystem) -> bool:
    """Tell whether the kernels compute time derivatives for all blocks of the tree.

    They know rigid bodies, built-in joints with springs of plain coordinates, dampers and armatures, and loads; neither general
    blocks and interactions, nor friction, stops, and springs of spherical and free joints.
    """
    if system.has_laws or group_springs(system):
        return False
    first, count = int(system.ints[0, layout.ELEMENTS]), int(system.ints[0, layout.SPRINGS])
    row = first
    for _ in range(count):
        row += int(system.ints[row, layout.SIZE])
    springs = system.floats[first:row]
    return not (springs[:, layout.FRICTION : layout.FRICTION + 2].any() or springs[:, layout.STOP + 2].any())


class CompiledSeries:
    """The series of the compiled engine; see `SeriesCore` for its functions.

    Parameters
    ----------
    mechanism : Mechanism
    system : PackedSystem
    """

    def __init__(self, mechanism: Mechanism, system: PackedSystem) -> None:
        self._mechanism, self._system = mechanism, system

    @cached_property
    def reference(self) -> SeriesCore:
        """The series of the reference engine, which evaluates every block in Python; it is imported at its first use."""
        from titop.solvers.engines.reference.engine import reference_passes
        from titop.solvers.engines.reference.series import ReferenceSeries

        return ReferenceSeries(reference_passes(self._system.assembly))

    @cached_property
    def _has_kernels(self) -> bool:
        return has_series(self._system)

    def _serves(self, pushes: Sequence[Push]) -> bool:
        """Tell whether the kernels can be used for the system and its external loads."""
        return self._has_kernels and all(isinstance(push, PortPush) for push in pushes)

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        if not self._serves(pushes):
            return self.reference.tree_inverse(q, v_series, pushes)
        q, v_series = real_only(q, "q"), np.ascontiguousarray(real_only(v_series, "v_series"), float)
        efforts = np.empty((len(v_series) - 1, self._mechanism.nv))
        changes, tables = self._acting(pushes, len(efforts))
        self._system.raise_for(series_entries.inverse_dynamics_series(changes, *tables, q, v_series, efforts))
        return efforts

    def tree_hybrid(
        self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]
    ) -> tuple[Array, Array] | None:
        if not self._serves(pushes):
            return None
        state = real_only(q, "q"), real_only(v, "v")
        stacks = [np.ascontiguousarray(real_only(x, name), float) for x, name in ((tau_series, "tau"), (a_series, "a"))]
        accelerations, efforts = np.empty(stacks[0].shape), np.empty(stacks[0].shape)
        changes, tables = self._acting(pushes, len(efforts))
        kernel = series_entries.hybrid_dynamics_series
        self._system.raise_for(kernel(changes, mask, *tables, *state, *stacks, accelerations, efforts))
        return accelerations, efforts

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        return self.reference.equation_series(q, v_series, pushes)

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        return self.reference.port_series(ports, q, v_series)

    def _acting(self, pushes: Sequence[Push], rows: int) -> tuple[Array, tuple[Array, ...]]:
        """Return the derivatives of wrenches on ports, as kernels take them, and the tables on which these wrenches act."""
        wrenches = [push for push in pushes if isinstance(push, PortPush)]
        if not wrenches:
            return CONSTANT, self._system.arrays
        stacks = [np.ascontiguousarray(real_only(push.wrench, f"the wrench on {push.port}"), float) for push in wrenches]
        changes = np.vstack([stack[1:rows] for stack in stacks])
        loaded = self._system.with_pushes(
            [push._replace(wrench=stack[0]) for push, stack in zip(wrenches, stacks, strict=True)]
        )
        return changes, loaded.arrays
