"""Blocks that users wrote keep the contract: names of their ports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import body, hinged


def test_ports_with_dots() -> None:
    with pytest.raises(tt.ModelError, match=r"arm\.a\.b: got a\.b; expected a port name without dots"):
        hinged(body(ports={"a.b": [0, 0, 0]})).check()
    s = hinged()
    s.world.add_port("c.d")
    with pytest.raises(tt.ModelError, match=r"world\.c\.d"):
        s.check()

    class Dotted(tt.Block):
        """A user's block with an unusable port."""

        coordinates, ports = ("x",), ("C.D",)

        def pose(self, port: str, q: Any) -> tuple[Any, Any]:
            return np.eye(3) + 0 * q[0], np.zeros(3) + 0 * q[0]

        def mass_matrix(self, q: Any) -> Any:
            return np.eye(7) + 0 * q[0]

    s = tt.System("dotted")
    s.connect("world", Dotted("block"), tt.Free("base"))
    with pytest.raises(tt.ModelError, match=r"block\.C\.D: .*without dots"):
        s.check()
