"""What Python calls. Each entry returns a status (see `titop.solvers.kernels.interface.layout`).

- `pair`: kernels for rigid systems and for all, from one function, and for motions;
- `dynamics_entries`, `hybrid_entries`, `closure_entries`: dynamics in any causality; `derivative_entries`,
  `directional_entries`, `series_entries`: their derivatives;
- `state_entries`: states of the first order, and derivatives of their rates;
- `observation_entries`, `reading_entries`, `effort_entries`, `moving_entries`: what is read of a state;
- `stepping_entries`: whole steps of integrators, with `runge_kutta`, their stages and lengths, `sampled_legs`, what changes
  between them at samples, and `gap_entries`, where something switches within.
"""
