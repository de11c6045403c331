"""The DAP broker: one session for each attached worker, shared by all who look."""
