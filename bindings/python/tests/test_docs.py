"""docs/python.md runs from top to bottom, and prints what it says it prints. `python test_docs.py` writes it anew."""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def run(page):
    """every block with what it printed, in a folder of their own"""
    names, here = {}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(page):
                code = compile("\n" * page.count("\n", 0, block.start(1)) + block[1], str(PAGE), "exec")
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(code, names)  # the page is ours
                yield block, out.getvalue()
        finally:
            os.chdir(here)


def split(text):
    """words with # for every number, and the numbers as texts; how long it took is nobody's business"""
    text = re.sub(r"[\d.]+ s$", "some s", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", NUMBER.sub("#", text)), NUMBER.findall(text)


def near(number, said):
    """On other processors networks end with other last digits, and a few of them in other minima: two units of the last place and 5 %."""
    places = len(said.partition(".")[2])
    return abs(float(number) - float(said)) <= 2.01 * 10.0**-places + 0.05 * abs(float(said))


def test_the_page_prints_what_it_says():
    blocks = list(run(PAGE.read_text()))
    assert len(blocks) >= 7
    for block, printed in blocks:
        words, numbers = split(printed)
        said_words, said_numbers = split(block[2] or "")
        assert words == said_words
        far = [(a, b) for a, b in zip(numbers, said_numbers, strict=True) if not near(a, b)]
        assert not far, far


def test_files_the_page_links_to_are_there():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE.read_text())
    assert len(links) >= 6
    for link in links:
        assert (PAGE.parent / link).exists(), link


def write():
    page = PAGE.read_text()
    for block, printed in reversed(list(run(page))):
        if block[2] is not None:
            page = page[: block.start(2)] + printed + page[block.end(2) :]
    PAGE.write_text(page)


if __name__ == "__main__":
    write()
