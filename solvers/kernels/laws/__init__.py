"""The laws of blocks and interactions as stages (see `titop.solvers.kernels.interface.stages`).

- `compiled_laws`: stages from one function that writes a law, inverse dynamics from its terms;
- `modal`, `modal_ports`, `modal_stages`: flexible bodies;
- `rod_numbers`, `rod_exponential`, `rod_motion`, `rod_matrices`, `rod_tables`, `rod_columns`, `rod_slopes`, `rod_stages`: rods;
  `rod_forces`: forces on them; `rod_water`: what a fluid does to them, and to rigid bodies;
- `stiffening`, `stiffening_body`, `stiffening_stages`: those whose deformation is known to second order; `beam_water`: what a
  fluid does to them, if they are beams;
- `compiled_interactions`, `interaction_kinds`, `rod_lines`, `rod_loads`, `soft_lines`: interactions, and titop's own kinds;
  `line_tension`: what pulls along lines;
- `contact`, `rod_contact`, `soft_contact`: contacts of rigid bodies, along rods and of deformable bodies, by the law of
  `titop.blocks.laws.touch`;
- `soft_numbers`, `soft_points`, `soft_stages`: deformable bodies;
- `applied_laws`: what acts on blocks of users; `user_laws`: laws that users wrote.
"""
