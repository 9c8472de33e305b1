"""Linear models about operating points.

- `matrices`: A, B, C and D, their responses and connections, outputs that become inputs; `state_space`: linear systems with
  named signals, as python-control objects; `peaks`: of gains over frequency, with a certificate that none was missed;
- `block_network`: linear blocks, ports and connections as equations; `connect_blocks`: their solution as one state space;
  `finite_elements`: sparse parts as blocks, and systems with them, solved frequency by frequency;
- `system_outputs`: outputs, by names of `titop.solvers.signals` or by functions of users;
- `linear_equations`: those of stacked points, with displacements as inputs where these are asked for;
  `linearize`: named state spaces and plain matrices, without states to omit;
- `path_series`: delays and noise of actuators and sensors in these models;
- `modes`: tables of modes of bodies, systems and linear models;
- `lpv`: families over parameters; `lpv_members`: trims and linearises their points, in one choice of states;
  `lpv_model`, `lpv_interpolation`, `lpv_plots`, `lpv_files`: the family, its members, pictures, poles mode by mode, and files;
- `nlsys`: nonlinear systems for python-control; `independent_states`: the states of closed systems, here and of families.
"""
