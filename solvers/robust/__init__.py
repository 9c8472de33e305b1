"""Robustness of linear models whose parameters are uncertain.

A loop of a linear model `M` and an uncertainty, ``z = M w``, ``w = Δ z``, is singular for no Δ of size one if the structured
singular value of M is below one. All is computed from the matrices of M and a tuple of blocks:

- `delta_blocks`: what is uncertain, and how its values are normalised; `structure`: where blocks stand in Δ;
- `state_space`: the matrices of M; `uncertain_loop`: reading them and their blocks;
- `hermitian`, `scalings`, `upper_bound`: scalings that bound mu at a frequency; `validity`, `sweep`: at all frequencies;
- `power_iteration`, `eigenvalue_search`, `gain_search`: members that destabilise, or whose gain is high;
- `branch_and_bound`: parts of the box of the parameters, where scalings for the whole leave a gap;
- `mu`, `robust_stability`, `worst_case_gain`: what users call.

Linear fractional models, from names and ranges (`uncertain`) to `lft_model`:

- `lft`: the function of users; `rational`: what may be uncertain; `members`: the same system at other values, by `linearize`;
- `loops`: signals that are linear in states, inputs and what uncertain factors return; `steps`: uncertain transports of motions
  and wrenches; `interpolation`: matrices as polynomials;
- `laws`, and which of them a block has (`block_laws`); `legs`: from port to port of a block; `passes`: over the tree;
  `readings`: outputs; `joining`: interactions, closures and gears; `system_loop`: all of it as one loop;
- `structured_reduction`: states and repetitions that are not needed, left out; `fractional`: deltas closed and counted;
- `closing`: controllers and neglected dynamics; `responses`; `lft_files`.
"""
