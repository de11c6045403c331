"""The node helper: one process of our own per node."""
