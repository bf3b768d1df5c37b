"""Errors of backups and restores."""

from memory.translatable import TranslatableError


class BackupError(TranslatableError):
    """A backup could not be made or restored; the text is one line that says how to fix it."""


class ArchiveCorrupted(BackupError):
    """The file is damaged, or is no archive of ours."""
