"""Who may do what: asked by every route and every message."""
