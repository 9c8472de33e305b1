"""Reading the arguments of a model's functions.

- `reading`: states, wrenches and names, with what is wrong with them;
- `rowwise`: methods of one state at stacked ones, with wrenches and inputs of their own for each of these;
- `percent`: ranges about nominal values;
- `named_rows`: results by name; `one_sided`: inputs that tendons refuse.
"""
