"""Security headers of every response."""

from secrets import token_urlsafe

from aiohttp import web

nonce_key = web.RequestKey("nonce", str)

_COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": forms would then send "null" as their Origin.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
_PAGE_POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_OTHER_POLICY = "default-src 'none'; frame-ancestors 'none'"


def nonce_of(request: web.Request) -> str:
    """Return the nonce for the styles and scripts of this response; browsers run no others."""
    if nonce_key not in request:
        request[nonce_key] = token_urlsafe(16)
    return request[nonce_key]


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the security headers to a response that is about to be sent."""
    for name, value in _COMMON_HEADERS.items():
        response.headers.setdefault(name, value)
    policy = _PAGE_POLICY.format(nonce=request[nonce_key]) if nonce_key in request else _OTHER_POLICY
    response.headers.setdefault("Content-Security-Policy", policy)
