"""Simulations and what comes out of them.

A model with everything that acts on it (`driven_model`, `acting`) is integrated from one output time to the next:

- `simulate`: reads the arguments, has them integrated, and collects a `trajectory`; `solution`: what is reached, also after
  Ctrl-C; `findings`: what is suspicious about a motion;
- `integrate`: in compiled code by CyRK where nothing happens within; else step by step (`stepping`), from one sample of a
  controller or kink of what acts to the next, while a `monitor` looks on;
- `events`: zeros that users watch for; `gaps`, `switching`: what switches by position, where steps end;
- `steppers`: what makes steps that keep loops closed (`closed_states`): `explicit_steps` (with `tableaus`) and `scipy_steps`
  (with `rate_jacobian`) integrate dy/dt, `alpha_solver` (with `alpha_step`, `implicit_dynamics`) follows the scheme of
  `generalized_alpha`.
"""
