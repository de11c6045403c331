"""The live websocket: connections, subscriptions, conflation."""
