"""A real training job, small enough for two cores."""
