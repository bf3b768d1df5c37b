"""The model that needs no model: notes what it is told, searches what it is asked, says what it found."""
