"""Embedding providers and the embedder."""
