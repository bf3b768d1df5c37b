import unicodedata

from memory.link_anchors import find_anchor
from tests.fakes.table_test import table_test

NOTE = """---
title: Trips
---
# Trips

## Oslo
### Costs & *fares*

```
# Costs & fares
```

## Zürich
### Costs & fares
A room. ^room

Underlined
==========

- item
^item
"""


@table_test(
    ("anchor", "line"),
    [
        ("Trips", 4),
        ("costs & fares", 7),
        ("costs--fares", 7),
        ("Zürich#Costs & fares", 14),
        (unicodedata.normalize("NFD", "ZÜRICH"), 13),
        ("Underlined", 17),
        ("^room", 15),
        ("^item", 21),
        ("Oslo#Trips", None),
        ("Bergen", None),
        ("^ro", None),
        ("", None),
        ("#", None),
        ("&", None),
    ],
)
def test_a_link_leads_to_a_heading_or_a_block(anchor: str, line: int | None) -> None:
    assert find_anchor(NOTE, anchor) == line
