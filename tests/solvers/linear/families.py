"""A family of linear models: arms of a spinning shaft."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.solvers.equilibrium.spinners import HINGES

#: Arms of a spinning shaft: the branch of open arms, followed from fast to slow.
SPINS, MASSES = np.linspace(6.0, 3.6, 7), [1.0, 1.3]

ARMS: dict[str, Any] = {
    "unknowns": HINGES,
    "q": dict.fromkeys(HINGES, 1.0),
    "v": {"shaft": 6.0},
    "inputs": ["shaft", "left_hinge"],
    "outputs": ["left_hinge.q", "left.dv", "left_hinge.reaction"],
}

MATRICES = ("A", "B", "C", "D")
