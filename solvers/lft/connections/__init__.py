"""What linear fractional models are connected with.

- `labels`: names of signals; `delays`: of controllers; `sampling`, `sampled_channels`: from one sampling instant to the next;
- `closing`: controllers; `neglected`: neglected dynamics.
"""
