"""Experiments on the loop, on the user's own machine."""
