"""Checks of one-sided inputs, such as tendons, which cannot push."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME


def refuse_pushing(mechanism: Any, u: Array | None, t: Array | None = None) -> None:
    """Refuse inputs that leave the range of an interaction that is ``one_sided``.

    Parameters
    ----------
    mechanism : Mechanism
    u : (nu,) or (k, nu) array, optional
    t : (k,) array, s, optional
        Times of the inputs, for messages.

    Raises
    ------
    ModelError
    """
    if u is None:
        return
    inputs, rows = mechanism.inputs, np.atleast_2d(u)
    one_sided = {loop.closure.name for loop in mechanism.assembly.loops if getattr(loop.closure, "one_sided", False)}
    findings = []
    for k in [k for name, own in inputs.acting if name in one_sided for k in range(own.start, own.stop)]:
        least, values = inputs.lower[k], rows[:, k]
        worst = int(values.argmin())
        if values[worst] < least - SAME * np.abs(values).max():
            found = f"{values[worst]:.6g} {inputs.units[k]}" + ("" if t is None else f" at t = {t[worst]:.6g} s")
            expected = f"{least:g} {inputs.units[k]} or more: it acts one way only"
            advice = "check the sign; what may also push is made so, where its kind can (push=True, suction=True)"
            findings.append(Finding("one-sided", inputs.names[k], found, expected, advice))
    if findings:
        raise ModelError(findings)
