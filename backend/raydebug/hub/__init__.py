"""The hub: one process per cluster that collects facts, holds them and serves them to browsers and scripts."""
