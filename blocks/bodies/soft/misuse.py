"""What is meant by errors that users' functions raise when they are called with unknowns, and what to write instead."""

from __future__ import annotations

#: Parts of messages, and what to do where one has them; the first that fits.
_ADVICE = (
    (
        "does not support argument",
        "NumPy's functions take no arrays that mix numbers and unknowns: write tt.Kinematics.array([0.0, q[0]]), or take the "
        "function of each entry",
    ),
    ("is not known yet to become a float", "write it by NumPy's functions, and arrays by tt.Kinematics.array([...])"),
    ("a branch on a number", "write tt.Kinematics.where(condition, yes, no), which is also the way to a maximum or a clip"),
    ("Cannot cast ufunc", "of unknowns NumPy has no det, inv or solve: write the formula, or tt.Material.determinant(F)"),
    ("has no attribute 'dtype'", "of unknowns NumPy has no sinc: write tt.Kinematics.sinc(x), which is sin(x)/x"),
)

_ELSE = "write it by NumPy's functions of numbers, without branches on x or q"


def advice_on(error: Exception) -> str:
    """Return what to do about an error that a function raised when it was called with unknowns."""
    return next((advice for part, advice in _ADVICE if part in str(error)), _ELSE)
