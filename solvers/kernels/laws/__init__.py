"""The laws of blocks and interactions as stages (see `titop.solvers.kernels.interface.stages`).

- `compiled_laws`: stages of blocks, such as follow from one function that writes a law, and of what acts on them; `user_laws`:
  laws that users wrote; `matrices`: products of matrices in rows of tables;
- `modal`, `modal_ports`: flexible bodies; `stiffening`, `stiffening_body`, `stiffening_stages`: those whose deformation is
  known to second order; `beam_water`: what a fluid does to them, if they are beams;
- `rod_numbers`, `rod_exponential`, `rod_motion`, `rod_columns`, `rod_stages`: rods; `rod_water`: what a fluid does to them, and
  to rigid bodies;
- `soft_points`, `soft_stages`: deformable bodies;
- `compiled_interactions`: stages of interactions; `interaction_kinds`, `rod_loads`: titop's own kinds; `soft_lines`,
  `rod_lines`: what pulls along lines, in deformable bodies and in rods;
- `gravity`: that of a planet on bodies;
- `contact`, `rod_contact`, `soft_contact`: contacts of rigid bodies, along rods and of deformable bodies, by the law of
  `titop.blocks.laws.touch`;
- `lane_by_lane`: laws that take one state at a time, asked for each of several.
"""
