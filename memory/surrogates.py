"""Make text storable: lone surrogates, from a model, a terminal or a platform, fit in no file and no database."""


def replace_surrogates(text: str) -> str:
    """Return the text with pairs of surrogates joined and lone ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
