"""Types and signatures: numba reads what they say as they mean it."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.native.signatures import CUBE, FLAG, FLOATS, INTEGER, INTS, MASK, REAL, VECTOR, Signature, Type


@pytest.mark.parametrize("kind", [INTEGER, REAL, FLAG, INTS, FLOATS, VECTOR, MASK, CUBE], ids=str)
def test_numba_reads_types_as_those_of_such_values(kind: Type) -> None:
    numba = pytest.importorskip("numba")
    value = np.zeros((2,) * kind.ndim, dtype=np.bool_ if kind.dtype == "boolean" else kind.dtype)
    plain = {"int64": 1, "float64": 1.0, "boolean": True}[kind.dtype]
    (read,), _ = numba.core.sigutils.normalize_signature(f"void({kind})")
    assert read == numba.typeof(value if kind.ndim else plain)


def test_numba_reads_arguments_and_results_in_their_order() -> None:
    numba = pytest.importorskip("numba")
    arguments, result = numba.core.sigutils.normalize_signature(str(Signature((INTS, REAL, VECTOR), REAL)))
    assert [str(each) for each in arguments] == ["array(int64, 2d, C)", "float64", "array(float64, 1d, C)"]
    assert result == numba.float64
    assert numba.core.sigutils.normalize_signature(str(Signature((REAL,))))[1] == numba.int64
