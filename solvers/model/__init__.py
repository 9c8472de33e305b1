"""`Model`, with which users compute, and its functions.

- `mechanism`: a resolved system as solvers and engines see it; `resolved`: as a model's functions see it;
- `calls`: how these functions call an engine;
- `configurations`, `closures`, `kinematics`, `dynamics`, `derivatives`, `series`, `terms`, `readings`, `sections`,
  `parameters`: the functions, by subject;
- `model`: `Model`, the table of these functions: to add one, write it in the module of its subject and add a line there;
- `prepared`: dynamics for integrators; `reduction`: from all coordinates to independent ones.
"""
