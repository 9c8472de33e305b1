"""Linear models about operating points.

- `linearize`: named state spaces and raw matrices, from a `linearisation`;
- `drives`: inputs; `readings`: outputs (`sensor_slopes`, `port_slopes`, `function_slopes`, `joint_opening`: how they change);
  `signals`: their names and units; `variation`: how everything changes with states and inputs;
- `reduction`: independent coordinates of closed loops and gears; `omission`: coordinates that nothing depends on;
- `block_system`, `channels`: a block's own linear TITOP model, and inverting its channels;
- `lpv`, `lpv_model`, `lpv_plots`: families over parameters (`family`, `family_basis`, `family_points`,
  `family_results`);
- `nlsys` (with `independent_states`, of closed systems): nonlinear systems for python-control.
"""
