"""The version of Commonplace, which everything else reads here: the package, the command line, the pages, backups."""

VERSION = "1.0.0"
