"""HTTP routes of the hub."""
