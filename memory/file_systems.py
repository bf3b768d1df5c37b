"""Find out on which file system a folder lies, and whether it sends events for changes by other hosts."""

import os
import re
from pathlib import Path

FILE_SYSTEMS_WITHOUT_EVENTS = frozenset(
    {"9p", "afs", "ceph", "cifs", "drvfs", "fakeowner", "fuse", "ncpfs", "nfs", "nfs4", "prl_fs"}
    | {"smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems that send no events for changes by other hosts; so do those named `fuse.…`."""


def is_eventless(kind: str) -> bool:
    """Return whether a file system of this type sends no events for changes by other hosts."""
    return kind in FILE_SYSTEMS_WITHOUT_EVENTS or kind.startswith("fuse.")


def find_eventless_mount(mounts: str, root: str) -> str:
    """Return the type of the file system of a path without links if it sends no events; else "".

    `mounts` is the text of Linux's `/proc/self/mountinfo`.
    """
    kind = parse_file_system(mounts, root)
    return kind if is_eventless(kind) else ""


def parse_file_system(mounts: str, path: str) -> str:
    """Return the file system type of a path without links, from the text of mountinfo; "" if unknown."""
    kinds: dict[str, str] = {}
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split(" ")[4])
        kinds[point] = rest.partition(" ")[0]
    above = (str(each) for each in (Path(path), *Path(path).parents))
    return next((kinds[each] for each in above if each in kinds), "")


def find_file_system(path: Path) -> str:
    """Return the file system type of a path, such as `ext4`; "" if unknown."""
    return parse_file_system(read_mounts(), os.path.realpath(path))


def read_mounts() -> str:
    """Return what is mounted where, as Linux's mountinfo; "" on other systems."""
    try:
        return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
