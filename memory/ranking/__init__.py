"""Rank passages by the words that they contain and by their meaning; pure, the same for every index."""
