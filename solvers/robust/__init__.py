"""Robustness of linear models whose parameters are uncertain.

A loop of a linear model `M` and an uncertainty, ``z = M w``, ``w = Δ z``, is singular for no Δ of size one if the structured
singular value of M is below one. All is computed from the matrices of M and a tuple of blocks (`lft.delta_blocks`):

- `uncertain_loop`: the matrices of M and the blocks as they are read, about the middles of ranges, channels balanced, in units
  of time and states of their own, so that nothing depends on a user's (rad/s and 1/s in the modules below stand for parts of
  the loop's rate);
- `scalings`: D and G, and their analytic centres; `upper_bound`: the bound of mu at a frequency; `sweep`: at all frequencies;
- `least_size`, `lower_bound`: uncertainties that make the loop singular at a frequency;
- `member_search`: members that destabilise, or whose gain is high;
- `branch_and_bound`: parts of the box of the parameters, where scalings for the whole leave a gap;
- `mu`, `robust_stability`, `worst_case_gain`: what users call.

Margins of a control loop are those of a block around it:

- `exact_margins`: of one model, by pencils; `margin_proof`: of all members of a family;
- `margins`: what users call, and loops with a channel where they are opened; `margin_plots`: pictures.

These are for parameters that are constant. Where they change with time, a function is looked for that falls along all motions:

- `varying_members`: members at points of the parameters; `matrix_inequalities`: what finds functions, by Clarabel;
- `lyapunov_functions`: one for all members, or one that depends on the parameters;
- `lyapunov_tests`: which of these is asked for; `lyapunov`: what users call.
"""
