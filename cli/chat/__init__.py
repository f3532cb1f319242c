"""The chat: a conversation with a model, turn by turn, in a terminal."""
