"""Control loops around the nonlinear model.

- `controllers`: the kinds that users give, and the loops that they list; `control_laws` gives them one interface;
- `loop_signals`: measured, reference and commanded signals, and those from controller to controller;
- `control_loop`: the operating point of these signals, a controller connected by names, and what loops have in common;
  `sampled_loop`: with sample and hold, at one or several rates; `continuous_loop`: in continuous time, for compiled and
  implicit steps too, alone or beside these;
- `loop_arguments`: reads the arguments of `simulate`, and warns;
- `control_history`: the signals of a loop over time.
"""
