"""What in the notes a person may want to mend, found without any model; it changes nothing."""
