"""The model that users have in hand.

- `members`: the same system at other values, by `linearize`; `responses`, and their `comparison`;
- `lft_files`: models in files; `lft_model`: members, closed loops, samples.
"""
