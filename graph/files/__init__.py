"""Model files: systems as TOML that people can read, write and share.

- `loading`, `saving`: files as a whole;
- `document`: the tables in them; `from_tables`, `to_tables`: systems from these and these from systems;
- `block_types`: which blocks files know, with which fields; `fields`, `records`, `rod_fields`, `contact_fields`,
  `water_fields`: how each kind of value is read and written;
- `reading`: what readers share; `expressions`: numbers as arithmetic of parameters; `toml_text`: TOML itself.
"""
