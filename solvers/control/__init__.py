"""Control loops around the nonlinear model.

- `controllers`: what users give; `control_laws` makes them one kind;
- `loop_signals`: what is measured, compared and commanded; `operating_values`: the point about which that deviates;
- `control_loop`: the loop, sampled; `continuous_loop`: in continuous time, for compiled and implicit steps too;
- `loop_arguments`: reading the arguments of `simulate`, and what is suspicious about them;
- `control_history`: what went through a loop.
"""
