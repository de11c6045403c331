"""HTTP routes of the hub: one table, from which server, OpenAPI document and tests come."""
