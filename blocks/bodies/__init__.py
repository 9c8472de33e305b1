"""Bodies: blocks that carry inertia.

- `rigid_body`: rigid bodies and the world; `inertial_numbers`: the ten numbers in which their dynamics are linear;
- `modal_body`: flexible bodies by modes, as data, with `modal_fields`, `modal_parameters`, `modal_analysis` and
  `modal_findings`: reading them, what may be varied, what they say, and what is wrong with them; `modal_reduction`: such data
  from finite elements, whose matrices `element_matrices` reads; `modal_bases` finds static deformations and modes of these, and
  `element_moments` the moments of modes;
- `flexible_body`: the law of these;
- `second_order`: how their points foreshorten, with `second_order_fields`, which reads it, and `second_order_inertia`, which
  has the inertia then;
- `beam`: uniform beams; `beam_matrices`: their mass and stiffness; `beam_shortening`: their second order;
  `beam_scaling`: coordinates in which their law is a polynomial of their dimensions;
- `rods`: rods that bend however far; `soft`: bodies by kinematics of a user's;
- `water`: what a fluid does to rigid bodies, beams and rods.
"""
