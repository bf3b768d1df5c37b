"""Parameters of the tools and methods that list changes to the notes."""

from typing import Annotated

from pydantic import Field

ChangesLimit = Annotated[int, Field(description="Maximum number; the latest come first.", ge=1, le=1000)]
MAX_NUMBER = 2**53 - 1
"""The largest number that every JSON parser reads exactly; a database takes more, but not any."""

ChangesBefore = Annotated[
    int, Field(description="Only changes with lower numbers; 0 for all.", ge=0, le=MAX_NUMBER)
]
ChangesOfNote = Annotated[str, Field(description="Only changes to this note.")]
