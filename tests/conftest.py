"""What holds for every test, whatever the environment of whoever runs them holds."""

import os
from collections.abc import Iterator

import pytest

from tests.fakes.commonplace import leads_elsewhere


@pytest.fixture(scope="session", autouse=True)
def nothing_leads_elsewhere() -> Iterator[None]:
    """A key, or a proxy, would have tests ask a service on the network, and pay for it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if leads_elsewhere(name)]:
            patch.delenv(name)
        yield
