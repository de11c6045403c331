"""Checks of the cluster and its nodes; each line says what to do."""
