"""A real training job, small enough for two cores: GRPO on a character-level transformer that learns to sort digits.

A TaskRunner actor drives three WorkerGroups (``actor_rollout``, ``ref``, ``reward``) whose names and environment
follow verl's conventions, so that whatever recognises this job recognises verl. Run it by ``raydebug demo`` or
``python -m raydebug.demo``.

``task``: prompts and the checkable reward. ``model``: the transformer. ``grpo``: advantages and loss, pure. ``batch``:
what travels between the roles. ``workers``: the roles. ``groups``: WorkerGroups on Ray. ``runner``: the TaskRunner.
``cluster``: joining or starting Ray. ``options``: what was asked for. ``next_steps``: what to do
with it then. ``command``: the command line.
"""
