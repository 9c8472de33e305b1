"""The control loops of a system, as users list them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean


@dataclass(frozen=True, eq=False)
class Loop:
    """A controller with its own rate and signals: one of several of `simulate` and `LFTModel.close`.

    Parameters
    ----------
    controller : control.StateSpace, control.TransferFunction, Controller or ScheduledController
    sample_time : float, s, optional
        Samples a continuous controller by Tustin's rule; discrete ones have their own sample time.
    delay : float, s
        From a sample to its commands.
    reference : mapping, array_like or callable, optional
    noise : float, array_like (ny,) or mapping, optional
        Standard deviations of white noise on the outputs at the samples.
    operating_point : mapping or object, optional

    Notes
    -----
    The arguments are those of `simulate`, which checks them. A mapping of their names to values stands for a loop.

    Examples
    --------
    A fast loop damps the rate, a slow one holds the angle:

    >>> import control, numpy as np, titop as tt
    >>> s = tt.System("arm", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("arm", mass=1.0, inertia=0.1), joint=tt.Revolute("hinge"))
    >>> damping = control.ss([], [], [], [[0.5]], 0.01, inputs=["hinge_v"], outputs=["hinge"])
    >>> holding = control.ss([], [], [], [[0.6]], inputs=["hinge_q"], outputs=["hinge"])
    >>> loops = [damping, tt.Loop(holding, sample_time=0.1, reference={"hinge.q": 0.5})]
    >>> trajectory = tt.simulate(s.resolve(), [0, 10], [0.0], [0.0], controller=loops)
    >>> bool(abs(trajectory.q[-1, 0] - 0.5) < 1e-3), [len(control.t) for control in trajectory.controls]
    (True, [1001, 101])
    """

    controller: Any
    sample_time: Any = None
    delay: Any = 0.0
    reference: Any = None
    noise: Any = None
    operating_point: Any = None

    def beside(self) -> Iterator[tuple[str, Any]]:
        """Yield the arguments that are given, except for the controller: name and value."""
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is not default and not (name == "delay" and value == 0):
                yield name, value


#: The names of a loop's arguments.
_NAMES = tuple(field.name for field in fields(Loop))
_DEFAULTS = {field.name: field.default for field in fields(Loop) if field.name != "controller"}


def read_loops(beside: Loop) -> list[Loop]:
    """Return the loops that a `controller` argument stands for, with the arguments `beside` it."""
    controller = beside.controller
    if not isinstance(controller, Loop | Mapping | list | tuple):
        return [beside]
    for name, value in beside.beside():
        if name != "operating_point":
            expected, advice = "loops that have their own", f"write tt.Loop(controller, {name}=...)"
            raise ModelError(Finding("belongs-to-a-loop", name, value, expected, advice))
    listed = controller if isinstance(controller, list | tuple) else [controller]
    if not listed:
        raise ModelError(Finding("wrong-type", "controller", "an empty list", "a controller or several", "leave it out"))
    loops = [_read_one(f"controller[{k}]", each) for k, each in enumerate(listed)]
    point = beside.operating_point
    return [replace(loop, operating_point=point) if loop.operating_point is None else loop for loop in loops]


def _read_one(where: str, value: Any) -> Loop:
    if isinstance(value, Loop):
        return value
    if not isinstance(value, Mapping):
        return Loop(value)
    for name in value:
        if name not in _NAMES:
            expected, advice = f"an argument of tt.Loop: {', '.join(_NAMES)}", did_you_mean(str(name), _NAMES)
            raise ModelError(Finding("unknown-argument", where, name, expected, advice))
    if "controller" not in value:
        raise ModelError(Finding("no-controller", where, value, "an entry 'controller'", 'write {"controller": K, ...}'))
    return Loop(**value)


@contextmanager
def naming(place: int | None) -> Iterator[None]:
    """Name the loop at a place among several in what is refused; None for the only one."""
    try:
        yield
    except ModelError as error:
        if place is None:
            raise
        raise ModelError([replace(found, where=f"controller[{place}]: {found.where}") for found in error.findings]) from None
