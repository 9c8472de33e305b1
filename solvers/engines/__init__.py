"""The two engines: `reference`, the executable specification in plain NumPy, and `compiled`, which users get."""
