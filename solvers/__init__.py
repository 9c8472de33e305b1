"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order; rooms know those above them:

- `arguments`: reading states, wrenches and names; `support`: files, processes, optional libraries;
- `mechanism`: coordinates, inputs, parameters: what is known without resolving; `constraints`: rigid closures and gears;
- `model`: what users compute with; `resolve` makes it, with one of the two `engines`;
- `signals`: what can be named of a model, outputs of sensors among it: units, values, derivatives;
- `kernels`: the compiled engine's passes; `native`: how Python functions become machine code;
- `equilibrium`: trimming; `linear`: linear models, families of them; `sampling`: models at random parameters;
- `control`: control loops around a model; `simulation`: integrating in time, trajectories, pictures;
- `cli`: the command line.
"""
