"""Systems with rigid closures and gears.

- `constraint_rows`: the constraints; `following`: coordinates that gears let follow others; `independent_rows`: which
  constraints are independent; `consistency`: whether they hold;
- `closed_passes`: accelerations by multipliers, and whole passes; `cholesky`: the symmetric systems there; `multipliers`: what
  each constraint carries; `least_norm`: efforts and motions that constraints leave to choose;
- `closing`: states on the closures;
- `closure_derivatives`, `closed_derivatives`, `hybrid_derivatives`: derivatives.
"""
