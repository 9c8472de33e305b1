"""The kernels for the ports of a system, bound to its tables when they are first asked for."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import observation_entries


class PortCalls:
    """The kernels for one port of a system."""

    def __init__(self, system: PackedSystem, port: str) -> None:
        element, place, frame = system.port_place(port)
        shown = system.with_all_ports if place >= 0 else system
        self._bind = lambda pair: partial(shown.bound(pair), element, place, frame)

    @cached_property
    def pose(self) -> Any:
        return self._bind(observation_entries.port_pose)

    @cached_property
    def jacobian(self) -> Any:
        return partial(self._bind(observation_entries.port_jacobian), False)

    @cached_property
    def jacobian_in_world(self) -> Any:
        return partial(self._bind(observation_entries.port_jacobian), True)

    @cached_property
    def twist(self) -> Any:
        return partial(self._bind(observation_entries.port_twist), False)

    @cached_property
    def twist_in_world(self) -> Any:
        return partial(self._bind(observation_entries.port_twist), True)

    @cached_property
    def motion(self) -> Any:
        return self._bind(observation_entries.port_motion)

    @cached_property
    def acceleration(self) -> Any:
        return partial(self._bind(observation_entries.port_acceleration), False, False)

    @cached_property
    def classical_acceleration(self) -> Any:
        return partial(self._bind(observation_entries.port_acceleration), False, True)

    @cached_property
    def acceleration_in_world(self) -> Any:
        return partial(self._bind(observation_entries.port_acceleration), True, False)

    @cached_property
    def classical_acceleration_in_world(self) -> Any:
        return partial(self._bind(observation_entries.port_acceleration), True, True)


class AtPorts(dict[str, PortCalls]):
    """The kernels for the ports of a system by port name."""

    def __init__(self, system: PackedSystem) -> None:
        super().__init__()
        self._system = system

    def __missing__(self, port: str) -> PortCalls:
        self[port] = calls = PortCalls(self._system, port)
        return calls
