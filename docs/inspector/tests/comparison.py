"""Compares what the page says with what the tool says of the same files."""
import subprocess

import corpus
import made

# What real clusters wrote.
WRITTEN = ["liqo-1.2.0", "liqo-0.10.3", "seed"]

# The text of the page's answer, in the order of the tool.
SAID = """[
    ...[...document.querySelectorAll('#reports .failure')].map((node) => node.textContent),
    ...[...document.querySelectorAll('.report')].flatMap((report) => [
        report.querySelector('h2').textContent,
        ...[...report.querySelectorAll('dt, dd, .marks b')].map((node) =>
            node.tagName === 'B' ? node.textContent + ' ' + node.nextSibling.data : node.textContent),
    ]),
    ...[...document.querySelectorAll('#verdict:not([hidden]) p')].map((node) => node.textContent),
].join(' ')"""


def cases(folder, tool):
    """The files of each inspection."""
    written = [path for name in WRITTEN for path in sorted((corpus.VECTORS / name).rglob("*"))
               if path.is_file()]
    return [[path] for path in written] + [*corpus.cases(folder / "corpus")] + made.cases(folder, tool)


def told(files, tool, now):
    """The words of the tool about these files."""
    folder = files[0].parent
    names = [file.name for file in files]
    assert all(file.parent == folder for file in files)
    run = subprocess.run([tool, "inspect", "--now", now, *names], cwd=folder, capture_output=True,
                         text=True, env={"HOME": "/nonexistent", "PATH": ""})
    text = run.stdout
    if not text:
        text = run.stderr.removeprefix("Error: ")
    return text.split()


def give(browser, files):
    """Gives files to the page, and waits until it has said something of all of them."""
    before = browser.value("Number(document.body.dataset.turn ?? 0)")
    browser.choose("#choose", files)
    browser.until(f"Number(document.body.dataset.turn ?? 0) > {before}")


def forget(browser):
    browser.value("document.getElementById('clear').click()")
    browser.until("document.querySelectorAll('#files li, .report').length === 0")


def same(browser, cases, tool, now):
    wrong = []
    for files in cases:
        give(browser, files)
        said = browser.value(SAID).split()
        expected = told(files, tool, now)
        if said != expected:
            at = next((i for i, pair in enumerate(zip(said, expected)) if pair[0] != pair[1]),
                      min(len(said), len(expected)))
            names = ", ".join(file.name for file in files)
            wrong.append(f"{names}: the page says {' '.join(said[at:at + 20])!r}, "
                         f"the tool {' '.join(expected[at:at + 20])!r}")
        forget(browser)
    if wrong:
        raise SystemExit("\n".join(wrong))


def no_verdict_beside_what_is_unread(browser, folder):
    """The tool says nothing then. The page says what it can, and not that one may apply it."""
    for name, verdict in (("tenant.yaml", ""), ("two-keys.pem", "Do not apply it.")):
        give(browser, [folder / name, folder / "noise.bin"])
        shown = browser.value("[document.querySelectorAll('.report').length > 0,"
                              " document.getElementById('verdict').textContent]")
        assert shown == [True, verdict], shown
        forget(browser)


def pictures(browser, folder, files):
    """Pictures of the page without files, and with some."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in [("empty", []), ("files", made.pictured(files)),
                        ("refused", made.refused(files))]:
        if given:
            give(browser, given)
        for scheme in ("light", "dark"):
            for form, width, height in [("wide", 1200, 800), ("narrow", 375, 700)]:
                browser.picture(folder / f"{name}-{scheme}-{form}.png", scheme, width, height)
        forget(browser)
