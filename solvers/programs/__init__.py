"""Models and controllers as programs: text in C that needs nothing of titop.

- `export_c`: what users call: a folder of a header, a source and a test;
- `c_controllers`: what is printed of linear, sampled and scheduled ones; `controller_text`: their C;
- `c_text`: numbers, names and comments in C;
- `fmu`: as FMUs, for other tools to simulate.
"""
