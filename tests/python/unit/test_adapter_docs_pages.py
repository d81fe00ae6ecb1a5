"""Pages of docs: names and descriptions are text in them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from dbt.adapters.sedona import docs_pages
from dbt.task.docs import DOCS_INDEX_FILE_PATH

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """As dbt writes them: its own page, with both artifacts put into it as they are."""
    manifest = json.dumps(
        {"nodes": {"model.town.one": {"description": EVIL, "columns": {EVIL: {"name": EVIL}}}}}
    )
    catalog = json.dumps(
        {"nodes": {"model.town.one": {"columns": {EVIL: {"comment": EVIL}}}}}, ensure_ascii=False
    )
    page = Path(DOCS_INDEX_FILE_PATH).read_text(encoding="utf-8")
    (tmp_path / "manifest.json").write_text(manifest, encoding="utf-8")
    (tmp_path / "catalog.json").write_text(catalog, encoding="utf-8")
    (tmp_path / "index.html").write_text(page, encoding="utf-8")
    static = page.replace('"MANIFEST.JSON INLINE DATA"', manifest).replace(
        '"CATALOG.JSON INLINE DATA"', catalog
    )
    (tmp_path / "static_index.html").write_text(static, encoding="utf-8")
    return tmp_path


def test_no_markup_of_a_name_reaches_the_page(target: Path) -> None:
    before = (target / "index.html").read_text(encoding="utf-8")
    docs_pages.make_safe(target)
    page = (target / "static_index.html").read_text(encoding="utf-8")
    assert "alert(1)" in page, "what is tested must be on the page"
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\u2028" not in page.replace(before, "")
    assert page.count("<script") == before.count("<script")
    embedded = re.search(r'\{"nodes": \{"model\.town\.one": \{"description".*?\}\}\}\}\}', page)
    assert embedded is not None
    assert json.loads(embedded[0])["nodes"]["model.town.one"]["description"] == EVIL


@pytest.mark.parametrize("name", ["index.html", "static_index.html"])
def test_the_browser_runs_the_page_s_own_scripts_only(target: Path, name: str) -> None:
    docs_pages.make_safe(target)
    page = (target / name).read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert "'unsafe-inline'" not in policy, "a handler in an attribute would run"
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert scripts
    for code in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" in policy


def test_twice_is_once(target: Path) -> None:
    docs_pages.make_safe(target)
    once = (target / "static_index.html").read_bytes()
    docs_pages.make_safe(target)
    assert (target / "static_index.html").read_bytes() == once
