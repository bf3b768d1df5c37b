"""Finds what a person may want to fix in the notes, without any model; changes nothing."""
