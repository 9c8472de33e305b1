"""What is known of a system without resolving it.

- `coordinates`: names and configurations, which of them are numbers; `configuration_series`: along a motion, with time
  derivatives;
- `shared`: what is found once for all models of a structure;
- `kernel_calls`: what all calls of kernels share;
- `scale`: what counts as one of lengths, coordinates, constraints, and in any unit;
- `inputs`: of actuators, blocks and interactions; `port_motion`: the motion of a port, and Euler angles;
- `parameters`: the numbers of a system by dotted name; `movable_ports`: systems whose ports can be moved, and what holds them;
- `conditioning`: what elimination loses to rounding;
- `hybrid_derivatives`: derivatives in any causality from those of inverse dynamics.
"""
