"""Linear models about operating points.

- `linearize`: named state spaces and raw matrices, from the `linear_equations` of stacked points;
- `system_outputs`: what is read, by names of `titop.solvers.signals` or by functions of users (`function_derivatives`);
- `omission`: coordinates that nothing depends on;
- `block_system`, `channels`: a block's own linear TITOP model, and inverting its channels;
- `lpv`: families over parameters, and `lpv_model`, `lpv_interpolation`, `lpv_plots`: what is done with them; `lpv_members`:
  their points trimmed and linearised (`lpv_points`, `lpv_basis`: in which states, `lpv_results`);
- `nlsys` (with `independent_states`, of closed systems): nonlinear systems for python-control.
"""
