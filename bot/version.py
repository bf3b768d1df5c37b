"""The version of Commonplace, which everything else reads here: the package, the command line, the pages, backups."""

VERSION = "0.1.0"
