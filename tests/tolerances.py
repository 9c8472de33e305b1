"""How close is close: tolerances that several files of tests share, each with its reason."""

from __future__ import annotations

#: Two ways of computing the same sums of a few tens of terms of size ten.
ROUNDING = {"rtol": 1e-11, "atol": 1e-11}

#: Sums of some hundred terms of size ten, taken in another order.
ROUNDING_OF_MANY = {"rtol": 1e-10, "atol": 1e-10}

#: Tight tolerances of integrators: a hundred steps of such local errors leave `ACCURACY` of the solution.
TIGHT = {"rtol": 1e-11, "atol": 1e-13}

#: What is left of solutions that were integrated with `TIGHT`.
ACCURACY = 1e-9
