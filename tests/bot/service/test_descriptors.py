import subprocess
import sys

import pytest

from bot.service.descriptors import WANTED_DESCRIPTORS
from tests.fakes.table_test import table_test

RAISE = """
import resource, sys
from bot.service.descriptors import raise_descriptor_limit
resource.setrlimit(resource.RLIMIT_NOFILE, tuple(map(int, sys.argv[1:])))
told = raise_descriptor_limit()
assert told == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
print(told, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
"""


@table_test(
    ("soft", "hard", "raised"),
    [
        (256, 512, 512),
        (256, 9000, WANTED_DESCRIPTORS),
        (9000, 9000, 9000),
        (300, 300, 300),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_is_allowed_and_of_use(soft: int, hard: int, raised: int) -> None:
    told = subprocess.run(
        [sys.executable, "-c", RAISE, str(soft), str(hard)], capture_output=True, text=True, check=False
    )
    if "not allowed to raise maximum limit" in told.stderr:
        pytest.skip("the hard limit is lower here")
    assert told.stdout.split() == [str(raised), str(hard)], told.stderr
