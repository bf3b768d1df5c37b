"""What each answer tells browsers to leave undone."""

from secrets import token_urlsafe

from aiohttp import web

nonce_key = web.RequestKey("nonce", str)

_COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": a form would then name "null" as where it comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_PAGE_POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_OTHER_POLICY = "default-src 'none'; frame-ancestors 'none'"


def nonce_of(request: web.Request) -> str:
    """What the styles and scripts of the page that answers this request are marked with: no others are run."""
    if nonce_key not in request:
        request[nonce_key] = token_urlsafe(16)
    return request[nonce_key]


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add them to an answer that is about to be sent."""
    for name, value in _COMMON_HEADERS.items():
        response.headers.setdefault(name, value)
    policy = _PAGE_POLICY.format(nonce=request[nonce_key]) if nonce_key in request else _OTHER_POLICY
    response.headers.setdefault("Content-Security-Policy", policy)
