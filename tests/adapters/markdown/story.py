"""Long texts whose parts can be told apart."""


def story(characters: int) -> str:
    """Return a text of about so many characters, each line of which is there once."""
    return "\n\n".join(f"This is line {number} of a long story." for number in range(characters // 36))
