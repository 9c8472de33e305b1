"""Robustness of linear models whose parameters are uncertain.

A loop of a linear model `M` and an uncertainty, ``z = M w``, ``w = Δ z``, is singular for no Δ of size one if the structured
singular value of M is below one. All is computed from the matrices of M and a tuple of blocks (`lft.delta_blocks`):

- `structure`: where blocks stand in Δ; `state_space`: the matrices of M; `uncertain_loop`: reading them and their blocks, in
  units of time and states of their own, so that nothing depends on a user's (rad/s and 1/s in the modules below stand for parts
  of the loop's rate); `centring`: about the middles of their ranges; `balancing`: their channels likewise;
- `hermitian`, `scalings`, `centres`, `upper_bound`: scalings that bound mu at a frequency;
- `validity`, `level_search`, `sweep`: at all frequencies, each search begun with what is known nearby;
- `power_iteration`, `real_edges`, `least_size`, `lower_bound`: uncertainties that make the loop singular at a frequency;
- `eigenvalue_search`, `gain_search`: members that destabilise, or whose gain is high;
- `branch_and_bound`: parts of the box of the parameters, where scalings for the whole leave a gap;
- `mu`, `robust_stability`, `worst_case_gain`: what users call.

These are for parameters that are constant. Where they change with time, a function is looked for that falls along all motions:

- `matrix_inequalities`: what finds it, by Clarabel; `lyapunov_coordinates`: states in which that is well scaled;
- `common_lyapunov`: one function for all members; `varying_members`, `parameter_lyapunov`: one that depends on the parameters;
  `one_parameter`: its proof between points; `marginal_poles`: where none can exist;
- `lyapunov_tests`: which of these is asked for; `lyapunov`: what users call.
"""
