"""Pages of `dbt docs generate` in which names and descriptions are text, whatever they hold.

dbt puts the manifest and the catalog into a script as they are, so that `</script>` in a name ends it; and its page shows descriptions
as HTML. Here the JSON is written without `<`, and a policy lets the browser run the page's own scripts only, no handler in an attribute.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.DOTALL)
_HEAD = re.compile(r"<head[^>]*>")
_POLICY = '<meta http-equiv="Content-Security-Policy" content="'
# Of text in JSON: what HTML would read, and two signs that end a line in older scripts.
_IN_SCRIPT = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def make_safe(target: Path) -> None:
    """Both pages, where this run or an earlier one has written them."""
    index, static = target / "index.html", target / "static_index.html"
    if not index.is_file():
        return
    page = index.read_text(encoding="utf-8")
    if _POLICY not in page:
        index.write_text(_with_policy(page), encoding="utf-8")
        # The index was copied anew by this command, and the static page, if it is one, made after it.
    if static.is_file() and _POLICY not in (made := static.read_text(encoding="utf-8")):
        static.write_text(_with_policy(_embedded(made, target)), encoding="utf-8")


def _embedded(page: str, target: Path) -> str:
    for name in ("manifest.json", "catalog.json"):
        content = (target / name).read_text(encoding="utf-8")
        page = page.replace(content, content.translate(_IN_SCRIPT))
    return page


def _with_policy(page: str) -> str:
    hashes = {
        base64.b64encode(hashlib.sha256(found["code"].encode()).digest()).decode()
        for found in _SCRIPT.finditer(page)
        if "src=" not in found["attributes"]
    }
    # AngularJS makes functions of its templates' expressions.
    allowed = " ".join(["'unsafe-eval'", *(f"'sha256-{sum_}'" for sum_ in sorted(hashes))])
    policy = f"{_POLICY}script-src {allowed}; object-src 'none'; base-uri 'none'\">"
    return _HEAD.sub(lambda head: head[0] + policy, page, count=1)
