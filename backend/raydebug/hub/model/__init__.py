"""The model holds facts. Pure: no Ray, no network, no asyncio."""
