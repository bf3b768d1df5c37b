"""Notes for a browser to look at: those of a household, in several scripts, and some that mean no good."""

import struct
import zlib
from datetime import date, timedelta
from pathlib import Path

HOUSEHOLD = {
    "MEMORY.md": """\
# Memory

## People

- Anna is allergic to walnuts.
- Jonas takes the train to Göttingen on Tuesdays, 7:12 from platform 4.
- Grandmother's birthday is 14 March; she likes peonies.

## House

- Passports are in the blue folder on the second shelf.
- The spare key hangs behind the boiler.
- Wi-Fi for guests: the card on the fridge.
""",
    "house/boiler.md": """\
# Boiler

Serviced in **May 2026** by Herr Brandt, 0551 4823. The next service is due in May 2027.

## When it stops

1. Look at the display. `E119` means that the pressure is too low.
2. Open both taps below it until the needle stands at 1.5 bar.
3. Press *reset* for three seconds.

| code | means | what to do |
|---|---|---|
| E119 | too little water | fill up to 1.5 bar |
| E133 | no gas | call Herr Brandt |
| E168 | fan | leave it off for an hour |

> He said that the fan will not last another winter.

```
pressure cold   1.5 bar
pressure hot    2.0 bar
```

The bill is in [the folder of the house](papers/2026.md), and the manual [on their site](https://example.org/manual).
""",
    "house/papers/2026.md": "# Papers of 2026\n\n- Boiler, service: 148 €\n- Chimney sweep: 61 €\n",
    "house/meter.md": """\
---
tags: [house]
read: every March
---
# Meter

![[meter.png|120]]

- [x] read in March
- [ ] send the photo

| month | kWh |
|---|---|
| March | 4,812 |
""",
    "recipes/dal.md": """\
# Dal for four

300 g red lentils, two onions, a piece of ginger as long as a thumb, a tin of tomatoes, cumin, turmeric.

Fry onions and ginger until they are brown, then the spices for a minute, then all else with a litre of water.
Twenty minutes. Lemon at the end. *No walnuts on top when Anna eats with us.*
""",
    "recipes/bread.md": "# Bread\n\n500 g of flour, 380 g of water, 10 g of salt. Overnight in the fridge.\n",
    "trips/oslo.md": """\
# Oslo, October

- [x] tickets for the night train
- [ ] ask Ingrid for the key of the cabin
- The museum with the ships is closed until 2027.
- Ferry to Nesodden from Aker Brygge, every half hour.
""",
    "trips/京都.md": """\
# 京都

宿は四条烏丸の近く。朝食は八時から。
清水寺は朝早く行くと静かだ。
""",
    "家/备用钥匙.md": "# 备用钥匙\n\n备用钥匙在门口的花盆下面。\n",
    "العائلة.md": "# العائلة\n\nموعد طبيب الأسنان يوم الخميس في الساعة العاشرة.\n",
    "ครอบครัว.md": "# ครอบครัว\n\nหนังสือเดินทางของแอนนาอยู่ในแฟ้มสีฟ้าบนชั้นที่สอง\n",
    "Größen.md": "# Größen\n\n- Jonas: Schuhgröße 43, Mütze 58\n- Anna: Schuhgröße 39\n",
}

SAID = (
    "Anna: the boiler hummed again this morning, pressure at 1.1 bar, filled up to 1.5.",
    "Dentist moved to Thursday, 10:00.",
    "Jonas lent the drill to the neighbours.",
    "Tried the dal with coconut milk. Better.",
    "The night train to Oslo is booked, two berths.",
    "Bulbs planted: tulips by the fence, crocuses under the pear tree.",
    "Paid the chimney sweep, 61 €.",
    "Car: winter tyres on, 2.4 bar.",
)

HOSTILE_NAME = '"><img src=x onerror=alert(1)>{{ 7*7 }}'
HOSTILE_TEXT = """\
<script>document.title = "broken"</script>
<img src=x onerror="document.title = 'broken'">
<a href="javascript:document.title='broken'">raw</a> <style>body { display: none }</style>

[script](javascript:document.title='broken') [data](data:text/html,<script>alert(1)</script>)
![picture](https://elsewhere.example/pixel.png) ![local](file:///etc/passwd) <https://elsewhere.example/"onmouseover="x>

<svg onload="document.title='broken'"></svg><iframe src="https://elsewhere.example"></iframe>
"""
HOSTILE = {
    f"{HOSTILE_NAME}.md": HOSTILE_TEXT,
    "hostile/javascript:document.title='broken'.md": "# A name like a script\n\nhostility\n",
    "hostile/a?b#c%2e%2e&amp;.md": "# A name like an address\n\nhostility\n",
    "hostile/two\nlines‮gnitirw.md": "# A name of two lines\n\nhostility\n",
    "hostile/x' onclick='y/note.md": "# In a folder like an attribute\n\nhostility\n",
    "hostile/wide.md": (
        f"# {'Wide' * 60}\n\n{'unbroken' * 120}\n\nhttps://example.org/{'long/' * 80}\n\n"
        f"| {' | '.join(f'column {number}' for number in range(30))} |\n|{'---|' * 30}\n"
        f"| {' | '.join('x' * 12 for _ in range(30))} |\n\n```\n{'code ' * 100}\n```\n\n- {'item' * 90}\n"
        f"\n`{'inline' * 60}`\n\n> {'quoted' * 70}\n"
    ),
}


def write_household(memory: Path, today: date, *, days: int = 21) -> None:
    """Those of a household, with a log of its last days."""
    write(memory, HOUSEHOLD)
    (memory / "house/pictures").mkdir()
    (memory / "house/pictures/meter.png").write_bytes(make_png(240, 160))
    for ago in range(days):
        day = (today - timedelta(days=ago)).isoformat()
        said = [SAID[(ago * 3 + number) % len(SAID)] for number in range(1 + ago % 3)]
        write(memory, {f"{day}.md": "\n".join([f"# {day}", "", *(f"- {each}" for each in said), ""])})


def make_png(width: int, height: int) -> bytes:
    """A picture in one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x23\x59\x4f" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def write_many(memory: Path, count: int) -> None:
    """As many that it takes a while to read them all."""
    for number in range(count):
        said = SAID[number % len(SAID)]
        text = "\n\n".join(f"## Part {part}\n\n{said} Number {number}, part {part}." for part in range(4))
        write(memory, {f"many/{number % 50}/{number}.md": f"# Note {number}\n\n{text}\n"})


def write(memory: Path, notes: dict[str, str]) -> None:
    for name, text in notes.items():
        path = memory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
