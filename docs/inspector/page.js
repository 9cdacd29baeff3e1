// Has the module explain files, and shows what it says as text. Nothing is sent or stored.
"use strict";
{
    const MOST_BYTES = 64 * 1024 * 1024;
    const element = (id) => document.getElementById(id);
    const made = (name, className, text) => {
        const node = document.createElement(name);
        node.className = className;
        node.textContent = text;
        return node;
    };

    /** The files that were given: `name` and `bytes`. */
    let files = [];
    let turn = 0;
    let pasted = 0;

    // The module is in the page, compressed, so that a page from a disk has it as well.
    const compiled = (async () => {
        const text = atob(element("module").textContent.trim());
        const packed = Uint8Array.from(text, (character) => character.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        return WebAssembly.compile(await new Response(stream).arrayBuffer());
    })();
    compiled.catch(() => failed("This browser cannot run the page's module."));

    /** What the module says of the files. Its memory goes with the instance. */
    async function explained(now) {
        const { exports } = await WebAssembly.instantiate(await compiled, {});
        const head = new TextEncoder().encode(JSON.stringify({
            now,
            files: files.map(({ name, bytes }) => ({ name, length: bytes.length })),
        }));
        const length = files.reduce((sum, { bytes }) => sum + bytes.length, 4 + head.length);
        const request = exports.inspector_allocate(length);
        const place = exports.inspector_allocate(8);
        let at = request;
        new DataView(exports.memory.buffer).setUint32(at, head.length, true);
        at += 4;
        for (const bytes of [head, ...files.map((file) => file.bytes)]) {
            new Uint8Array(exports.memory.buffer).set(bytes, at);
            at += bytes.length;
        }
        const answer = exports.inspector_explain(request, length, place);
        const answered = new DataView(exports.memory.buffer).getUint32(place, true);
        const text = new TextDecoder().decode(
            new Uint8Array(exports.memory.buffer, answer, answered));
        exports.inspector_release(answer, answered);
        exports.inspector_release(request, length);
        exports.inspector_release(place, 8);
        return JSON.parse(text);
    }

    async function explain() {
        turn += 1;
        const own = turn;
        listFiles();
        if (files.length === 0) {
            show({ unread: [], reports: [], apply: null, sentences: [] }, null);
            return;
        }
        const now = `${new Date().toISOString().slice(0, 19)}Z`;
        try {
            const answer = await explained(now);
            if (own !== turn) {
                return;
            }
            answer.said ? show(answer.said, now) : failed(answer.failure);
        } catch {
            failed("The page's module has failed with these files. Inspect them with liqo-auth.");
        }
    }

    function failed(text) {
        show({ unread: [], reports: [], apply: null, sentences: [] }, null);
        element("failure").textContent = text;
        element("failure").hidden = false;
    }

    function show({ unread, reports, apply, sentences }, now) {
        element("failure").hidden = true;
        const verdict = element("verdict");
        verdict.className = apply ?? "";
        verdict.hidden = sentences.length === 0;
        verdict.replaceChildren(...sentences.flatMap(([text, fingerprint]) => [
            made("p", "", text),
            ...(fingerprint ? [made("p", "fingerprint", fingerprint)] : []),
        ]));
        element("reports").replaceChildren(
            ...unread.map((text) => made("p", "failure", text)),
            ...reports.map(card),
        );
        element("judged").textContent = now ? `Judged at ${now}, by this device's clock.` : "";
        element("judged").hidden = !now;
        document.body.dataset.turn = String(turn);
    }

    function card({ title, facts, marked }) {
        const report = made("article", "report", "");
        const list = made("dl", "", "");
        for (const [name, value] of facts) {
            list.append(made("dt", "", name), made("dd", "", value));
        }
        const marks = made("ul", "marks", "");
        for (const [kind, words, text] of marked) {
            const line = made("span", "", "");
            line.append(made("b", "", words), text);
            const item = made("li", kind, "");
            item.append(line);
            marks.append(item);
        }
        report.append(made("h2", "", title), ...(facts.length ? [list] : []),
            ...(marked.length ? [marks] : []));
        return report;
    }

    function listFiles() {
        element("files").replaceChildren(...files.map((file) => {
            const item = made("li", "", "");
            const forget = made("button", "", "×");
            forget.type = "button";
            forget.setAttribute("aria-label", `Forget ${file.name}`);
            forget.addEventListener("click", () => {
                file.bytes.fill(0);
                files = files.filter((other) => other !== file);
                void explain();
            });
            item.append(made("span", "name", file.name),
                made("span", "size", `${file.bytes.length.toLocaleString("en")} bytes`), forget);
            return item;
        }));
        element("clear").hidden = files.length === 0;
    }

    async function take(given) {
        for (const file of given) {
            if (file.size > MOST_BYTES) {
                failed(`${file.name} is longer than anything of the exchange.`);
                return;
            }
        }
        try {
            const read = given.map(async (file) => (
                { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) }));
            files.push(...await Promise.all(read));
        } catch {
            failed("A file cannot be read. Is it a folder?");
            return;
        }
        await explain();
    }

    function takeText(text) {
        if (text.trim() === "") {
            return;
        }
        pasted += 1;
        const name = pasted === 1 ? "pasted text" : `pasted text ${pasted}`;
        files.push({ name, bytes: new TextEncoder().encode(text) });
        void explain();
    }

    function takeTransfer(transfer) {
        if (transfer.files.length > 0) {
            void take([...transfer.files]);
        } else {
            takeText(transfer.getData("text/plain"));
        }
    }

    document.addEventListener("paste", (event) => {
        event.preventDefault();
        takeTransfer(event.clipboardData);
    });
    // What does not come as a paste, such as from a keyboard of a phone, is not shown either.
    element("paste").addEventListener("beforeinput", (event) => {
        event.preventDefault();
        takeText(event.data ?? event.dataTransfer?.getData("text/plain") ?? "");
    });
    document.addEventListener("dragover", (event) => {
        event.preventDefault();
        document.body.classList.add("over");
    });
    document.addEventListener("dragleave", (event) => {
        if (!event.relatedTarget) {
            document.body.classList.remove("over");
        }
    });
    document.addEventListener("drop", (event) => {
        event.preventDefault();
        document.body.classList.remove("over");
        takeTransfer(event.dataTransfer);
    });
    element("choose").addEventListener("change", (event) => {
        const given = [...event.target.files];
        event.target.value = "";
        void take(given);
    });
    element("clear").addEventListener("click", () => {
        for (const file of files) {
            file.bytes.fill(0);
        }
        files = [];
        pasted = 0;
        void explain();
    });
    // A page that the browser keeps for the way back has no files.
    window.addEventListener("pagehide", () => element("clear").click());
}
