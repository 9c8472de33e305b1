"""What users compute with.

`model` is built up from `titop.solvers.mechanism.coordinates` and `titop.solvers.constraints.closed_loops`:

- `port_kinematics`: poses, twists, accelerations and Jacobians of ports;
- `dynamics`: dynamics in any causality, and the terms of the equations of motion;
- `identification`: inertial parameters; `sensitivities`: derivatives by parameters, inputs and wrenches;
- `differentiable`: derivatives by the state;
- `model`: reactions, balances, outputs, parameters;
- `reduction`: independent coordinates of closed loops and gears; `prepared`: dynamics for integrators.
"""
