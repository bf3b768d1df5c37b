"""Vectors for texts, from whoever can make them."""
