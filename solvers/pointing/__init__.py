"""Budgets of pointing errors: what disturbances and sensors leave of a control loop's accuracy.

- `error_sources`: what acts on a loop: noise, spectra, lines, biases, transients, bounds;
- `spectral_errors`: variances over frequency, with the weights of windows; worst lines in ranges;
- `transient_errors`: worst values in time of what is known or bounded there;
- `error_sums`: values at a level of confidence of sums of errors of different distributions;
- `budget_cases`: all that is asked of a loop, evaluated for one system; `worst_budgets`: worst members of a family;
  `proved_budgets`: bounds for all of them; `pointing_budget`: what users call, and what they get.
"""
