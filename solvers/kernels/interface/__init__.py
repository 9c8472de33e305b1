"""How a system, its blocks and the passes know each other.

- `layout`: the tables of integers and floats that describe a system: names of their columns;
- `records`: what passes take as one, such as all tables, and where things stand in the records of general blocks;
- `stages`: the seam, how passes call what writes these records.
"""
