"""``python -m raydebug.helper.postmortem PID THREAD_ID``: prints one JSON object.

On failure that is ``{"error": reason}``, with exit status 1.
"""

import sys

import msgspec

from . import FrozenException, PostmortemError, read_exception


def main(argv: list[str]) -> int:
    try:
        pid, thread_id = (int(arg, 0) for arg in argv)
    except ValueError:
        print("usage: python -m raydebug.helper.postmortem PID THREAD_ID", file=sys.stderr)
        return 2
    result: FrozenException | dict[str, str]
    try:
        result = read_exception(pid, thread_id)
    except PostmortemError as error:
        result = {"error": str(error)}
    print(msgspec.json.encode(result).decode())
    return 1 if isinstance(result, dict) else 0


sys.exit(main(sys.argv[1:]))
