"""Bodies: blocks that carry inertia.

- `rigid_body`: rigid bodies and the world; `inertial_parameters`: the ten numbers in which their dynamics are linear;
- `flexible_body`: flexible bodies by modes; `modal_checks`: reading and checking their data; `modal_analysis`: what their
  matrices say;
- `modal_reduction`: these from finite elements;
- `beam`: uniform beams; `beam_matrices`: their mass and stiffness.
"""
