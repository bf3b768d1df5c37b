"""A chat partner that works without a language model: it notes, searches and reports what it found."""
