"""The terminal: one file a command. Knows no engine."""
