"""Loading machine code."""

from __future__ import annotations

import pytest

from titop.solvers.native import object_code
from titop.solvers.native.compilation import machine_code
from titop.solvers.native.signatures import Signature


def test_code_without_the_function_is_refused() -> None:
    def nothing():
        return 0

    codes = machine_code("titop_other", nothing, Signature(()))
    with pytest.raises(RuntimeError, match="no function"):
        object_code.load("titop_missing", {"titop_missing": codes["titop_other"]})
