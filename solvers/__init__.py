"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order; folders import only from those above them:

- `arguments`: reading states, wrenches and names; `support`: files, processes, optional libraries;
- `mechanism`: coordinates, inputs, parameters: what is known without resolving; `constraints`: rigid closures and gears;
- `series`: time derivatives of dynamics of any order;
- `signals`: what can be named of a model, outputs of sensors among it: units, values, derivatives;
- `sensitivities`: derivatives by all that is not the state;
- `model`: what users compute with;
- `native`: how Python functions become machine code; `kernels`: those that the compiled engine passes with;
- `engines`: the two that resolve systems; `resolve`: a system into a model, by one of them;
- `equilibrium`: trimming; `linear`: linear models, families of them; `studies`: random parameters and initial states;
- `control`: control loops around a model;
- `lft`: linear models that are exact functions of uncertain parameters; `robust`: how stable all of them are;
  `synthesis`: controllers of full order, and reduced ones; `tuning`: controllers of fixed structure, tuned on all of them;
  `pointing`: budgets of the errors that sources leave of a loop;
- `linear_files`: all of these in files, also of MATLAB; `programs`: models and controllers as programs, in C;
  `tensors`: functions for PyTorch and JAX;
- `pictures`: of models and motions; `motions`: given as functions of time;
- `simulation`: integrating in time, trajectories;
- `cli`: the command line.
"""
