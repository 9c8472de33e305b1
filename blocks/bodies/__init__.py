"""Bodies: blocks that carry inertia.

- `rigid_body`: rigid bodies and the world; `inertial_numbers`: the ten numbers in which their dynamics are linear;
- `modal_body`: data and parameters of flexible bodies by modes, with `modal_fields` and `modal_analysis`: reading, and natural
  modes and masses; `modal_reduction`: such data from finite elements, whose matrices and moments `element_matrices` reads;
  `reduced_matrices`: such data from matrices that a finite-element program has reduced; `nastran_files`: from files of
  NASTRAN;
- `modal_checks`: what is wrong with such data; `flexible_body`: the law of these bodies;
- `second_order`: second-order displacements of their points, and the inertia that follows;
- `beam`: uniform beams; `beam_matrices`: their mass and stiffness in few coordinates, their second order, and coordinates in
  which their law is a polynomial of their dimensions;
- `rods`: rods with large deflections; `soft`: bodies defined by a user's kinematics;
- `water`: fluid forces on rigid bodies, beams and rods.
"""
