"""Why no archive was made or taken back."""


class BackupError(Exception):
    """A backup could not be made or taken back; the text is one line with the mend in it."""


class ArchiveCorrupted(BackupError):
    """The file is damaged, or no archive of ours."""
