"""The page at ``/ui`` in a real browser: Debian's chromium, driven by Playwright. Without chromium the tests are
skipped; no browser is downloaded."""
