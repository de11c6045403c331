"""The live websocket: connections, what each subscribed to, patches encoded once for all who are up to date."""
