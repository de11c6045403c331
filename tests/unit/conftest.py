"""Hypothesis without its deadline: a busy machine is no fault of what is tested."""

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
