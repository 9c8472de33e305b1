"""What is suspicious about a control loop at its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from titop.blocks.basics.errors import Finding
from titop.solvers.control.control_loop import ControlLoop
from titop.solvers.control.operating_values import OperatingValues

#: Of the system's size, a radian or one: about an operating point nearer to zero than this, references are deviations.
_NEGLIGIBLE = 1e-6


def suspicions(loop: ControlLoop, operating: OperatingValues, wrenches: Mapping[str, Any], start: float) -> Iterator[Finding]:
    """Yield what is suspicious: wrenches of the operating point that do not act, references that look like deviations from it,
    and outputs that leave it by themselves.

    Parameters
    ----------
    loop : ControlLoop
    operating : OperatingValues
    wrenches : mapping of port name to wrench or function
        What acts in the simulation.
    start : float, s
    """
    for port, wrench in operating.wrenches.items():
        if wrench.any() and port not in wrenches:
            advice = "pass wrenches=point.wrenches, or something else for this port"
            yield Finding("missing-wrench", f"wrenches[{port!r}]", "none", f"{wrench} of the operating point", advice)
    references = zip(loop.references.names, loop.reference_units, loop.references.read(start), loop.r_trim, strict=True)
    for name, unit, reference, there in references:
        size = loop.measurements.model.size if unit in ("m", "m/s") else 1.0
        if abs(reference - there) > abs(reference) and abs(there) > _NEGLIGIBLE * size:
            found, expected = f"{reference:.6g} at the start", f"a value near the operating point's {there:.6g}"
            advice = "references are absolute: if a deviation is meant, add the operating point's value"
            yield Finding("far-reference", f"reference[{name!r}]", found, expected, advice)
    yield from _drifting(loop, operating)


def _drifting(loop: ControlLoop, operating: OperatingValues) -> Iterator[Finding]:
    """Yield a finding where outputs without a reference change along the motion of the operating point."""
    names = loop.measurements.names
    measured = zip(names, loop.measurements.units, operating.drifts(names).tolist(), strict=True)
    found = [(name, f"{name} drifts by {rate:.3g} {unit}/s") for name, unit, rate in measured if rate]
    found = [(name, drift) for name, drift in found if name not in loop.references.given]
    if found:
        (first, _), expected = found[0], "outputs that stay while the point moves on: their deviations are from its start"
        advice = f"feed back rates alone, or give references that move with it: reference={{{first!r}: f}}"
        yield Finding("drifting-output", "operating_point", ", ".join(drift for _, drift in found), expected, advice)
