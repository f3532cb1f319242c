"""What turns tokens into logits, and where model files come from."""
