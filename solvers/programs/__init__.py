"""Models as programs in C that need nothing of titop.

- `fmu`: as FMUs, for other tools to simulate.
"""
