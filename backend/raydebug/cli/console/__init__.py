"""The console of ``raydebug attach``: one worker, in a terminal or fed from a pipe."""
