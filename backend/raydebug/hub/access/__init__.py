"""Who may do what. Every route and every message asks here; nowhere else is it decided."""
