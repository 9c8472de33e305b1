"""Bodies: blocks that carry inertia.

- `rigid_body`: rigid bodies and the world; `inertial_parameters`: the ten numbers in which their dynamics are linear;
- `modal_body`: flexible bodies by modes, as data, with `modal_fields`, `modal_parameters` and `modal_analysis`: reading them,
  what may be varied, and what they say; `modal_reduction`: such data from finite elements, whose matrices and moments
  `element_matrices` reads; `modal_bases` finds static deformations and modes of these;
- `flexible_body`: the law of these, and what can be wrong with them;
- `second_order`: how their points foreshorten; `second_order_inertia`: the inertia then;
- `beam`: uniform beams; `beam_matrices`: their mass and stiffness, and their second order;
  `beam_scaling`: coordinates in which their law is a polynomial of their dimensions;
- `rods`: rods that bend however far; `soft`: bodies by kinematics of a user's;
- `water`: what a fluid does to rigid bodies, beams and rods.
"""
