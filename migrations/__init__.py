"""The database's history, one file a step."""
