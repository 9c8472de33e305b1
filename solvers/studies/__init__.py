"""Studies of models whose parameters and initial states are random.

- `distributions`: what is random, drawn sample by sample, and seeds; `samples`: results with statistics and sensitivities;
- `monte_carlo`: the study.
"""
