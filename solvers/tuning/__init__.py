"""Tuning controllers of fixed structure: what is tuned, what is required, the search, families and their proof."""
