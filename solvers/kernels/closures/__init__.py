"""Systems with rigid closures and gears.

- `constraint_rows`: the constraints, and whether they hold; `following`: coordinates that gears let follow others;
  `independent_rows`: which constraints are independent;
- `closed_passes`: accelerations by multipliers, and whole passes; `least_norm`: efforts and motions that constraints leave to
  choose, and what each constraint carries;
- `closing`: states on the closures, and rates near others;
- `closure_derivatives`, `closed_derivatives`: derivatives.
"""
