"""Simulations and what comes out of them.

A model with everything that acts on it (`driven_model`, `acting`) is integrated from one output time to the next:

- `simulate`: reads the arguments, integrates (in compiled code by CyRK where nothing happens within, else step by step), and
  collects a `trajectory`; `solution`: what is reached, also after Ctrl-C; `findings`: what is suspicious about a motion;
- `stepping`: step by step, from one sample of a controller or kink of what acts to the next, while a `monitor` looks on;
- `events`: zeros that users watch for; `gaps`, `switching`: what switches by position, where steps end;
- `steppers`: what makes steps that keep loops closed (`closed_states`): `explicit_steps` and `scipy_steps` integrate dy/dt,
  `alpha_solver` (with `alpha_step`, `trapezoidal_steps`) follows the scheme of `generalized_alpha`; `implicit_equations`: what
  implicit ones solve.
"""
