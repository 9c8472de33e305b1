"""What has nothing to do with mechanics.

- `archive`: arrays in files; `workers`: several processes, and threads of linear algebra; `extras`: optional libraries;
  `interpolated`: samples over time; `progress`: bars.
"""
