"""Checks that the page shows no secret, asks nobody, stores nothing and remembers nothing."""
import json

import comparison

# Everything that the document has: texts, attributes, and what fields hold.
EVERYTHING = """document.documentElement.outerHTML
    + [...document.querySelectorAll('input, textarea')].map((field) => field.value).join(' ')"""
FORBIDDEN = [
    "fetch('https://example.com')",
    "new Promise((resolve, reject) => { const image = new Image(); image.onload = resolve;"
    " image.onerror = reject; image.src = 'https://example.com/x.png'; })",
    "import('data:text/javascript,1')",
    "new Promise((resolve) => resolve(document.body.innerHTML = '<b>x</b>'))",
    "(async () => eval('1'))()",
    "(async () => new WebSocket('wss://example.com'))().then((socket) =>"
    " new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; }))",
]


def check(browser, address, folder, tool, now):
    asks_nobody(browser, address)
    shows_no_secret(browser, folder)
    takes_pastes(browser, folder, tool, now)
    takes_drops(browser, folder, tool, now)
    nothing_is_stored(browser)
    remembers_nothing(browser, address, folder)


def asks_nobody(browser, address):
    browser.requests()
    browser.open(address)
    asked = [url for url in browser.requests() if not url.startswith("data:")]
    assert asked == [address], asked
    for attempt in FORBIDDEN:
        refused = f"Promise.resolve().then(() => {attempt}).then(() => false, () => true)"
        assert browser.value(refused), f"the policy allows {attempt}"


def shows_no_secret(browser, folder):
    for name in ("nonce.txt", "ed25519.pem", "rsa.pem", "p256-both.pem", "aws.yaml", "token.yaml"):
        comparison.give(browser, [folder / name])
        shown = browser.value(EVERYTHING)
        text = (folder / name).read_text()
        secret = ["Sesame"] if "Sesame" in text else [
            line for line in text.split("CERTIFICATE-----\n")[-1].splitlines() if len(line) > 20
            and not line.startswith("-")]
        assert secret, name
        for part in secret:
            assert part not in shown, f"{name} is shown"
        comparison.forget(browser)
    secrets = [*sorted(folder.glob("*-secret.*.yaml")), folder / "kubeconfig"]
    assert len(secrets) > 8, secrets
    for path in secrets:
        comparison.give(browser, [path])
        shown = browser.value(EVERYTHING)
        for line in path.read_text().splitlines():
            value = line.partition(": ")[2].strip().strip("\"'")
            assert len(value) < 40 or value not in shown, f"{path.name}: {line} is shown"
        comparison.forget(browser)


def takes_pastes(browser, folder, tool, now):
    """A paste and a keyboard's text are read, and the field stays empty."""
    text = (folder / "tenant.yaml").read_text()
    paste = f"""(() => {{
        const data = new DataTransfer();
        data.setData('text/plain', {json.dumps(text)});
        document.getElementById('paste').dispatchEvent(new ClipboardEvent('paste',
            {{ clipboardData: data, bubbles: true, cancelable: true }}));
    }})()"""
    for give in (
        lambda: browser.value(paste),
        lambda: browser.call("Input.insertText", text=text),
    ):
        before = browser.value("Number(document.body.dataset.turn)")
        browser.value("document.getElementById('paste').focus()")
        give()
        browser.until(f"Number(document.body.dataset.turn) > {before}")
        expected = comparison.told([folder / "tenant.yaml"], tool, now)
        assert browser.value(comparison.SAID).split() == expected
        assert browser.value("document.getElementById('paste').value") == ""
        comparison.forget(browser)


def takes_drops(browser, folder, tool, now):
    before = browser.value("Number(document.body.dataset.turn)")
    data = {"items": [], "files": [str(folder / "tenant.yaml")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.call("Input.dispatchDragEvent", type=kind, x=200, y=200, data=data)
    browser.until(f"Number(document.body.dataset.turn) > {before}")
    expected = comparison.told([folder / "tenant.yaml"], tool, now)
    assert browser.value(comparison.SAID).split() == expected
    comparison.forget(browser)


def nothing_is_stored(browser):
    """The page comes from a server here: a page from the disk has no store."""
    stored = browser.value("""(async () => [
        document.cookie, (await indexedDB.databases()).length, localStorage.length,
        sessionStorage.length, (await caches.keys()).length,
        (await navigator.serviceWorker.getRegistrations()).length,
    ].join())()""")
    assert stored == ",0,0,0,0,0", stored


def remembers_nothing(browser, address, folder):
    """The way back leads to an empty page."""
    comparison.give(browser, [folder / "tenant.yaml"])
    browser.open("about:blank")
    browser.value("setTimeout(() => history.back())")
    browser.until("document.readyState === 'complete' && document.getElementById('paste') !== null")
    assert browser.value("document.querySelectorAll('#files li, .report').length") == 0
