"""The command ``raydebug``."""
