"""The Debug Adapter Protocol as debugpy speaks it: frames, what may be sent, and one held connection."""
