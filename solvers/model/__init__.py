"""What users compute with.

- `mechanism`: what solvers and engines know of a resolved system; `resolved`: that as a model's functions see it;
- `calls`: the one way from these into an engine;
- `configurations`, `closures`, `kinematics`, `dynamics`, `derivatives`, `series`, `terms`, `readings`, `sections`,
  `parameters`: the functions, by subject;
- `model`: `Model`, the table of all of them: to add one, write it where its subject is, and a line there;
- `prepared`: dynamics for integrators; `reduction`: from all coordinates to independent ones.

One call, ``m.forward_dynamics(q, v, tau)``, from top to bottom:

- `dynamics.forward_dynamics` asks the model's kernels (`model._calls`) at once; under loads, with lists or stacked states, by
  `LoadedCall.ask` of `calls`;
- `titop.solvers.engines.compiled.calls` finds the kernel ``"forward"`` in its table of rows, and binds it to the tables of the
  system;
- `titop.solvers.kernels.entries.dynamics_entries.forward_dynamics` runs the passes over the tree;
- where there is no kernel, or it refuses, the engine's `dynamics.forward` computes, or says what is wrong.
"""
