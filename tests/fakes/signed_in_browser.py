"""A browser that has signed in to the service's pages."""

import time
from dataclasses import dataclass, field

from bot.web.forms import FORM_FIELD
from bot.web.session import SESSION, new_form_token, new_session
from tests.fakes.html_page import HtmlPage
from tests.fakes.web_client import TOKEN, WebClient


@dataclass(frozen=True, slots=True)
class Sent:
    """The response to a form."""

    status: int
    location: str
    text: str


@dataclass(frozen=True, slots=True)
class SignedInBrowser:
    """For a site with the token `TOKEN`."""

    site: WebClient
    session: str = field(default_factory=lambda: new_session(TOKEN, now=time.time()))

    @property
    def cookie(self) -> dict[str, str]:
        """The header with its session."""
        return {"Cookie": f"{SESSION}={self.session}"}

    async def text(self, path: str, *, status: int = 200) -> str:
        """What a page is made of."""
        async with self.site.client.get(path, headers=self.cookie) as answer:
            assert answer.status == status
            return await answer.text()

    async def open(self, path: str, *, status: int = 200) -> HtmlPage:
        """Open a page."""
        return HtmlPage(await self.text(path, status=status))

    async def send(self, path: str, *, forged: bool = False, **fields: str) -> Sent:
        """Send a form; `forged`: without the hidden field, as another site would."""
        own = {} if forged else {FORM_FIELD: new_form_token(self.session, TOKEN)}
        posted = self.site.client.post(
            path, data={**own, **fields}, headers=self.cookie, allow_redirects=False
        )
        async with posted as answer:
            return Sent(answer.status, answer.headers.get("Location", ""), await answer.text())
