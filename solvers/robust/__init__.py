"""Robustness of linear models whose parameters are uncertain.

- `delta_blocks`: what is uncertain, and how its values are normalised.
"""
