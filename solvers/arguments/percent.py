"""Ranges in percent of nominal values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.user_input import real_array


class Percent(NamedTuple):
    """A range relative to the nominal value, in percent."""

    lower: float
    upper: float

    def about(self, where: str, nominal: float) -> tuple[float, float]:
        """Return the range about a nominal value; `where` names the range in messages.

        Raises
        ------
        ModelError
            If it is empty.
        """
        lower, upper = sorted(nominal * (1 + x / 100) for x in self)
        if not lower < upper:
            advice = "give the range itself: (lower, upper)"
            raise ModelError(Finding("no-range", where, f"{self} of {nominal}", "a range that is not empty", advice))
        return lower, upper


def percent(lower: float, upper: float | None = None) -> Percent:
    """Return a range relative to the nominal value.

    Parameters
    ----------
    lower, upper : float
        In percent: ``percent(15)`` is 15 % to either side, ``percent(-10, 20)`` from 10 % less to 20 % more.

    Examples
    --------
    >>> import titop as tt
    >>> tt.percent(15)
    Percent(lower=-15, upper=15)
    """
    for name, value in (("lower", lower), ("upper", 0.0 if upper is None else upper)):
        number = real_array(value)
        if number is None or number.shape or not np.isfinite(number):
            raise ModelError(Finding("wrong-type", f"percent, {name}", value, "a number", "write percent(15)"))
    return Percent(-abs(lower), abs(lower)) if upper is None else Percent(lower, upper)
