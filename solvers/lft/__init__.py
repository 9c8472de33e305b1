"""Linear fractional models of systems with uncertain parameters: exact, with few repetitions.

Each block's law is written as factors in which its uncertain numbers occur as few times as possible. All blocks form one loop,
which is solved once, reduced, and named. Files know those above them:

- `fractions`: models as matrices, and their reduction; `delta_blocks`: uncertain blocks, normalised, and their channels;
- `loops`: signals that are linear in states, inputs and outputs of uncertain factors; `polynomials` in uncertain numbers;
  `fits`: functions as linear fractions with few repetitions;
- `uncertainty`: names, ranges and gains; `other_values`: blocks and operating points at other values;
- `steps`: from frame to frame; `matrix_laws`: laws of blocks as matrices;
  `block_laws`: the law of a block, as factors where these are known, else as matrices; `legs`: from a block's parent port
  to its child ports;
- `tree_passes`: motions outwards over the tree, wrenches back; `joining`: interactions, closures and gears; `system_loop`: the
  whole system, with inputs, states and outputs; `moving_equilibria`: points that follow the parameters; `refusals`: errors and
  warnings;
- `sampled_models`: from one sampling instant to the next; `feedback`: controllers and delays; `several_rates`:
  several controllers as one;
- `members`: the same system at other values, by `linearize`; `lft_files`; `wiring`: two models joined, what they share merged;
  `arithmetic`: sums, products, feedback, neglected dynamics; `lft_model`: the model that users get;
- `lft`: the functions for users; `block_system`: the linear TITOP model of one block, by the same passes without uncertainty.

One call, from top to bottom: `lft` reads ranges by `Uncertainty`, which makes a `DeltaBlock` of each; `SystemLoop` asks every
block for its law, entries of which are polynomials of the uncertain numbers (`Uncertainty.vector`); `fractions` solves and
reduces the loop; `fractions.recentre` shifts the zero of each delta from the middle of the range to the nominal value;
`lft._assemble` counts repetitions and names the channels.
"""
