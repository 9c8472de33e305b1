"""What has nothing to do with mechanics.

- `archive`: arrays in files; `workers`: several processes; `extras`: optional libraries; `interpolated`: samples over time;
  `progress`: bars.
"""
