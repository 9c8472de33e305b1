"""Properties of a system that do not require resolving it.

- `coordinates`: names and configurations, also along a motion, with time derivatives;
- `shared`: cached properties that all models of one structure share;
- `kernel_calls`: helpers of all calls of kernels;
- `scale`: characteristic sizes of lengths, coordinates, constraints, and of any unit;
- `inputs`: of actuators, blocks and interactions; `port_motion`: the motion of a port, and Euler angles;
- `system_parameters`: the parameters of a system by dotted name; `movable_ports`: systems with ports that can move;
- `conditioning`: accuracy that elimination loses to rounding.
"""
