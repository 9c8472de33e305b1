"""Studies of models whose parameters and initial states are random.

- `distributions`: what is random, drawn sample by sample, by `spawned_seeds`; `samples`: results with statistics and
  sensitivities;
- `monte_carlo`: the study.
"""
