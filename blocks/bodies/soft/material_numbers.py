"""What numbers of materials may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.user_input import FieldReader

_SIGN = "check the sign and the unit"
#: By name: between which numbers they must be, whether the lower one is allowed, what is expected, and what to do.
_RANGES = {
    "young": (0.0, np.inf, False, "a value > 0 (Pa)", _SIGN),
    "stiffness": (0.0, np.inf, False, "a value > 0 (Pa)", _SIGN),
    "density": (0.0, np.inf, False, "a value > 0", _SIGN),
    "viscosity": (0.0, np.inf, True, "a value >= 0 (Pa s)", _SIGN),
    "poisson": (
        -1.0,
        0.5,
        False,
        "a ratio between -1 and 0.5",
        "take 0.49, or tt.Material.incompressible_neo_hookean for kinematics that keep the volume",
    ),
}


def check_numbers(reader: FieldReader, numbers: Mapping[str, Any]) -> None:
    """Report numbers that no material has, those by names of which something is known.

    Parameters
    ----------
    reader : FieldReader
    numbers : mapping of field to number
        Fields such as ``young`` or ``material.young``; numbers may be complex, or NaN if they were reported before.
    """
    for field, value in numbers.items():
        name = parts_of(field)[-1]
        lowest, highest, included, expected, advice = _RANGES.get(name, (-np.inf, np.inf, True, "", ""))
        number = np.real(value)
        if number < lowest or number >= highest or (number == lowest and not included):
            reader.report(f"bad-{name}", field, value, expected, advice)
