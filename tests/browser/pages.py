"""The household's pages, one of each kind, by what they show."""

from urllib.parse import quote

from tests.browser.notes import HOSTILE_NAME
from tests.browser.talks import HOSTILE_TALK, TALK

PAGES = {
    "today": "/",
    "system": "/system",
    "changes": "/changes",
    "models": "/models",
    "health of the notes": "/memory-health",
    "settings": "/settings",
    "settings found": "/settings?q=token",
    "a setting": "/settings?q=timezone",
    "settings changed": "/settings?changed=1",
    "backups": "/backups",
    "search": "/search?q=boiler",
    "filtered search": "/search?q=boiler&source=all&folder=house&from=2026-01-01&limit=20",
    "nothing found": "/search?q=zyzzyva",
    "nothing asked": "/search",
    "folder": "/notes/",
    "folder below": "/notes/house/",
    "hostile folder": "/notes/hostile/",
    "note": "/notes/house/boiler.md#L13",
    "long note": "/notes/long.md?line=2101#L2101",
    "hostile note": f"/notes/{quote(HOSTILE_NAME)}.md",
    "wide note": "/notes/hostile/wide.md",
    "note with a picture": "/notes/house/meter.md",
    "edit": "/edit/house/boiler.md",
    "new note": "/new-note?folder=house",
    "move": "/move/house/papers/2026.md",
    "delete": "/delete/house/papers/2026.md",
    "trash": "/trash",
    "changes of a note": "/changes?note=house/boiler.md",
    "by date": "/days",
    "no such note": "/notes/nowhere.md",
    "conversations": "/conversations",
    "imported conversations": "/conversations?kind=imported",
    "conversation": f"/conversations/{TALK}#m4",
    "search of a conversation": f"/conversations/{TALK}/search?q=boiler",
    "hostile conversation": f"/conversations/{HOSTILE_TALK}",
    "conversation to forget": f"/conversations/{TALK}/forget",
    "no such conversation": "/conversations/999",
    "people": "/people",
    "person to block": "/people/deny?person=telegram:24",
}
ANSWERED_404 = ("no such note", "no such conversation")
