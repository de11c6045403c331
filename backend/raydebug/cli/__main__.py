"""``python -m raydebug.cli``: the command, where its script isn't on the path."""

from raydebug.cli import main

main(prog_name="raydebug")
