"""Channels: one package per platform."""
