"""What a block takes, from the terms of its law, as products of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, law_size, port_at, result_at
from titop.solvers.kernels.interface.stages import Call
from titop.solvers.kernels.laws.compiled_laws import write_result

N, PORTS = 2, 2
RNG = np.random.default_rng(0)
LAW = RNG.normal(size=(1, law_size(N, PORTS)))
X, A = RNG.normal(size=6), RNG.normal(size=N)
POSES = [(Rotation.random(random_state=k).as_matrix(), RNG.normal(size=3)) for k in range(PORTS)]
for k, (rotation, position) in enumerate(POSES):
    LAW[0, port_at(N, k) : port_at(N, k) + 12] = [*rotation.ravel(), *position]


@pytest.mark.parametrize("used", [0b11, 0b01, 0b10, 0b00])
def test_the_result_is_what_the_equations_say(used: int) -> None:
    """``M [A; a] + h + sum [Ad^-T; S^T] W`` over the ports in use."""
    result = np.zeros((1, 6 + N))
    told = dict.fromkeys(Call._fields, 0) | {"n": N, "ports": PORTS, "used": used, "a": A, "acceleration": tuple(X), "law": LAW}
    write_result(Call(**told), LAW, result, 0)
    size = 6 + N
    expected = LAW[0, : size * size].reshape(size, size) @ [*X, *A] + LAW[0, bias_at(N) : result_at(N)]
    for k, (rotation, position) in enumerate(POSES):
        if used >> k & 1:
            at = port_at(N, k)
            wrench = LAW[0, at + layout.PORT_WRENCH : at + layout.PORT_WRENCH + 6]
            force, torque = rotation @ wrench[:3], rotation @ wrench[3:]
            S = LAW[0, at + layout.PORT_S : at + layout.PORT_S + 6 * N].reshape(6, N)
            expected += np.concatenate([force, torque + np.cross(position, force), S.T @ wrench])
    np.testing.assert_allclose(result[0], expected, rtol=0, atol=1e-13)  # sums of twenty products of size one
