"""Control loops around the nonlinear model.

- `controller`, `linear_controller`, `scheduled_controller`: what users give; `control_laws` makes them one kind;
- `loop_arguments`: reading the arguments of `simulate`;
- `linear_feedback`: linear continuous controllers as tables for compiled steps; `implicit_control`: continuous controllers
  within steps of implicit integrators;
- `loop_derivatives`: how a continuous loop answers to small changes; `loop_checks`: what is suspicious about a loop;
- `control_loop`: the loop, continuous or sampled; its parts are `measurements`, `commands`, `references`, `operating_values`;
- `control_history`: what went through it.
"""
