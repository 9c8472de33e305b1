"""What users compute with.

- `mechanism`: what solvers and engines know of a resolved system; `resolved`: that as a model's functions see it;
- `calls`: the one way from these into an engine;
- `configurations`, `closures`, `kinematics`, `dynamics`, `derivatives`, `series`, `terms`, `readings`, `sections`,
  `parameters`: the functions, by subject;
- `model`: `Model`, the table of all of them: to add one, write it where its subject is, and a line there;
- `prepared`: dynamics for integrators; `reduction`: from all coordinates to independent ones.
"""
