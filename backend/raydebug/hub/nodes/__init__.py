"""Connections of the hub to what is ours on a node, through Ray's agent there: trusted when they are proved."""
