"""Linear models about operating points.

- `matrices`: A, B, C and D, their responses, loops closed around them; `state_space`: linear systems with named signals, as
  python-control holds them; their channels inverted;
- `system_outputs`: what is read, by names of `titop.solvers.signals` or by functions of users;
- `linear_equations`: those of stacked points; `linearize`: named state spaces and raw matrices, states left out;
- `lpv`: families over parameters; `lpv_members`: their points trimmed and linearised, in one choice of states (`lpv_basis`);
  `lpv_model`, `lpv_interpolation`, `lpv_plots`: what is done with them;
- `nlsys` (with `independent_states`, of closed systems): nonlinear systems for python-control.
"""
