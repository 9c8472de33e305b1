"""Simulations and what comes out of them.

- `simulate`: a model with everything that acts on it (`driven_model`, `acting`), integrated in time (`integration`: in compiled
  code, `stepping`: step by step in Python) while `events` are watched for; `gaps`, `switching`:
  what switches by position, where steps end (with `cubics`); `prescribed`, `motions`: what moves as functions of time say;
- `runge_kutta` (with `tableaus`, `compiled_stages`): explicit methods, whose steps compiled code makes where it can;
  `scipy_steps`: the implicit ones;
- `stiffness_watch`: tells when explicit steps are bounded by stiffness; `pace`: when a simulation is made endless by bounds, or
  by what switches;
- `trial_states`: what steps that go too far may find there;
- `interruption`: what is left of a simulation after Ctrl-C;
- `constrained_integration` (with `plant`, `projected`, `closed_states`): steps that keep loops closed;
- `rate_jacobian`, `feedback_derivatives`, `newton_factors`: what implicit integrators need;
- `generalized_alpha`, `alpha_solver`, `alpha_step`, `alpha_states`, `implicit_dynamics`: the generalised-alpha scheme for stiff
  systems;
- `trajectory_series`: motions as the stacks of derivatives that series of dynamics take, from `function_series` and
  `rotation_series`;
- `reached`: solutions in the making; `acting_rows`: what acts on them at the output times;
- `trajectory`: results; `findings`: what is suspicious about a motion.
"""
