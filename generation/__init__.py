"""How a language model is run: prefill, sample, stop?, decode, again. Standard library only."""
