"""Simulations and their results.

A model with its loads (`driven_model`, `acting`, and `path_signals` of devices) is integrated from one output time to the next:

- `simulate`: reads arguments, integrates (in compiled code to the end where nothing happens in between, else step by step),
  and collects a `trajectory` (`trajectory_arrays`: in files, and as a dataset); `accuracy`: absolute tolerances;
- `start_and_end`: where a simulation begins, perhaps where another has ended, and the states reached, also after Ctrl-C;
  `findings`: warnings about a motion;
- `changes`: locks, releases and latches, and the record of what happened; `agenda`: the stages between them, each a simulation
  that takes up the one before;
- `stepping`: integrates step by step, from one controller sample or kink of the loads to the next; a `monitor` watches
  progress;
- `events`: zeros of users' functions; `gaps`, `switching`: switches that depend on position, where steps end;
- `ensemble_members`: many simulations that differ in what is stacked, those `together` in compiled code that may be;
  `ensemble`: their result; `run`: of a Monte Carlo study; `gpu_simulation`: with fixed steps on a graphics processor;
- `steppers`: base of the integrators, which keep loops closed (`closed_states`): `explicit_steps`, `exponential_steps` and
  `scipy_steps` integrate dy/dt, `alpha_solver` (with `alpha_step`) follows the scheme of `generalized_alpha`;
  `implicit_equations`: the equations of the implicit ones, and their Jacobians.
"""
