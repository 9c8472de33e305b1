"""Resolving systems, and everything that uses a resolved model. Knows graphs and blocks.

Read in this order:

- `model`: what users compute with, built up from `configurations` (names and coordinates), `port_kinematics`, `dynamics`,
  `identification`, `differentiable`; `resolve` makes it;
- `signals`: what can be named of a model, outputs of sensors among it: units, values, derivatives;
- `inputs`: of actuators, blocks and interactions; `stacked_loads`: loads of their own for stacked states;
  `rowwise`: methods of one state at stacked ones; `named_rows`: results by name;
- `reference` (with `stepped_slopes`): the executable specification of the dynamics, in plain NumPy;
- `compiled` (with `packed`, `acting`, `constraint_tables`, `compiled_configurations`, `compiled_slopes`,
  `compiled_closed_slopes`, `compiled_hybrid`, `compiled_observations`, `compiled_efforts`, `compiled_readings`,
  `compiled_closed_readings`), `laws`,
  `python_law`,
  `kernels`: the same in compiled code, for users; `native`: how Python functions become machine code;
- `loops`: rigid closures and gears; `derivatives`, `sensitivities`: derivatives by the state, and by everything else;
- `conditioning` (with `element_parts`, `inertial_changes`): what elimination loses to rounding;
- `arguments`, `parameters`: reading states and names; numbers by dotted name; `extras`: optional libraries; `workers`: several
  processes;
- `simulation`: integrating in time, trajectories, pictures; `control`: control loops around a model;
- `equilibrium`: trimming; `linear`: linear models, families of them; `sampling`: models at random parameters;
- `cli`: the command line.
"""
