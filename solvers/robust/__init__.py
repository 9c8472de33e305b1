"""Robustness of linear models whose parameters are uncertain.

- `delta_blocks`: what is uncertain, and how its values are normalised.

Linear fractional models, from names and ranges (`uncertain`) to `lft_model`:

- `lft`: the function of users; `rational`: what may be uncertain; `members`: the same system at other values, by `linearize`;
- `loops`: signals that are linear in states, inputs and what uncertain factors return; `steps`: uncertain transports of motions
  and wrenches; `interpolation`: matrices as polynomials;
- `laws`, and which of them a block has (`block_laws`); `legs`: from port to port of a block; `passes`: over the tree;
  `readings`: outputs; `joining`: interactions, closures and gears; `system_loop`: all of it as one loop;
- `structured_reduction`: states and repetitions that are not needed, left out; `fractional`: deltas closed and counted;
- `closing`: controllers and neglected dynamics; `responses`; `lft_files`.
"""
