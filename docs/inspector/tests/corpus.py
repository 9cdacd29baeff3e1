"""The files that the corpus in tests/vectors carries: objects of honest and of hostile peers."""
import base64
import json
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[3] / "tests/vectors"


def cases(folder):
    """The files of each inspection."""
    folder.mkdir()
    for path in sorted((VECTORS / "corpus").glob("*.json")):
        vector = json.loads(path.read_text())
        for field in ("tenant", "identity", "resourceSlice"):
            if field in vector:
                file = folder / f"{path.stem}.json"
                file.write_text(json.dumps(vector[field], indent=2))
                yield [file]
                if field == "tenant" and vector["nonce"].strip():
                    nonce = folder / f"{path.stem}-nonce.txt"
                    nonce.write_text(vector["nonce"])
                    yield [file, nonce]
        if vector["kind"] == "nonce-to-sign":
            file = folder / f"{path.stem}.txt"
            file.write_bytes(base64.b64decode(vector["nonce"]))
            yield [file]
