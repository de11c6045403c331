"""The only code of ours that runs in Ray's own processes: thin, guarded, stdlib and aiohttp only."""
