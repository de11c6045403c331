"""The words of raydebug: every message between its processes, as msgspec Structs.

TypeScript types and the OpenAPI document are generated from here (``npm run generate``). Times are integers, Unix
nanoseconds, in fields that end in ``_ns``; ids are Ray's, in hex; unknown is ``None``.
"""
