"""Simulations and what comes out of them.

- `simulate`: a model with everything that acts on it, integrated in time; `prescribed`: motions as functions of time;
- `constrained_integration`: steps that keep loops closed;
- `generalized_alpha`, `alpha_solver`, `alpha_step`, `implicit_dynamics`: the generalised-alpha scheme for stiff systems;
- `solution_pieces`: solutions joined where an integration was interrupted;
- `trajectory`, `dataset`, `violations`: results; `plotting`, `animation` (with `scene`): pictures of them.
"""
