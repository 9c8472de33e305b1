"""`Model`, with which users compute, and its functions.

- `mechanism`: a resolved system as solvers and engines see it, and as a model's functions see it;
- `calls`: how these functions call an engine;
- `configurations`, `closures`, `kinematics`, `dynamics`, `derivatives`, `series`, `terms`, `readings`, `sections`,
  `parameters`, `impacts`: the functions, by subject; `gyros`: the momentum of clusters of wheels;
- `model`: `Model`, the table of these functions: to add one, write it in the module of its subject and add a line there;
- `prepared`: dynamics for integrators.

One call, ``m.forward_dynamics(q, v, tau)``, from top to bottom:

- `dynamics.forward_dynamics` asks the model's kernels (`model._calls`) at once; under loads, with lists or stacked states, by
  `LoadedCall.ask` of `calls`;
- `titop.solvers.engines.compiled.function_kernels` finds the kernel ``"forward"`` in its table of rows, and binds it to the
  tables of the system;
- `titop.solvers.kernels.entries.dynamics_entries.forward_dynamics` runs the passes over the tree;
- where there is no kernel, or it refuses, `titop.solvers.constraints.closed_dynamics` computes, or says what is wrong.
"""
