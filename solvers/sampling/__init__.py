"""Models at random parameters.

- `monte_carlo`: drawing parameters and running something for each; `samples`: the outcomes.
"""
