"""Files that no vector is: of two homes, and keys of each algorithm."""
import base64
import re
import subprocess

KEYS = {
    "ed25519": ["-algorithm", "ed25519"],
    "rsa": ["-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048"],
    "p256": ["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "p384": ["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "p521": ["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "unknown": ["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
}
AUTHENTICATED_AT = "2026-11-01T13:00:00Z"


def cases(folder, tool):
    """The files of each inspection."""
    names = peering(folder, tool)
    alone = [[folder / name] for name in names + keys(folder) + others(folder)]
    together = [
        ["tenant.yaml", "nonce.txt"],
        ["tenant.yaml", "identity.yaml"],
        ["identity.yaml", "tenant.yaml", "nonce.txt"],
    ]
    return alone + [[folder / name for name in names] for names in together]


def pictured(folder):
    return [folder / name for name in ("tenant.yaml", "nonce.txt", "identity.yaml", "rsa.pem")]


def refused(folder):
    return [folder / name for name in ("two-keys.pem", "hostile.yaml", "noise.bin", "kubeconfig")]


def peering(folder, tool):
    """What two homes write for each other."""
    def run(*arguments):
        done = subprocess.run([tool, *arguments, "--now", AUTHENTICATED_AT,
                               "--write-at-this-time"], cwd=folder, check=True,
                              capture_output=True, text=True)
        return done.stdout

    def write(name, text):
        (folder / name).write_text(text)
        return name

    for home in ("rome", "milan"):
        run("init", "--home", home)
    run("create", "nonce", "--home", "milan", "--remote-cluster-id", "rome")
    nonce = run("get", "nonce", "--home", "milan", "--remote-cluster-id", "rome")
    tenant = run("generate", "tenant", "--home", "rome", "--remote-cluster-id", "milan",
                 "--nonce", nonce.strip())
    names = [write("nonce.txt", nonce), write("tenant.yaml", tenant)]
    run("apply", "--home", "milan", "-f", "tenant.yaml")
    identity = run("generate", "identity", "--home", "milan", "--remote-cluster-id", "rome")
    names.append(write("identity.yaml", identity))
    run("apply", "--home", "rome", "-f", "identity.yaml")
    for home in ("rome", "milan"):
        for path in sorted((folder / home).rglob("*/*.yaml")):
            text = path.read_text()
            names.append(write(f"{home}-{path.name}", text))
            for kubeconfig in re.findall(r"^  kubeconfig: (\S+)$", text, re.MULTILINE):
                names.append(write("kubeconfig", base64.b64decode(kubeconfig).decode()))
    return names


def keys(folder):
    """A private key of each algorithm, with a certificate and without."""
    names = []
    for name, options in KEYS.items():
        key = folder / f"{name}.pem"
        openssl("genpkey", *options, "-out", key)
        openssl("req", "-x509", "-key", key, "-subj", "/O=liqo.io/CN=rome", "-days", "3650",
                "-out", folder / f"{name}.crt")
        openssl("req", "-new", "-key", key, "-subj", "/O=liqo.io/CN=rome",
                "-out", folder / f"{name}.csr")
        openssl("pkey", "-in", key, "-pubout", "-out", folder / f"{name}.pub")
        both = (folder / f"{name}.crt").read_text() + key.read_text()
        (folder / f"{name}-both.pem").write_text(both)
        names += [f"{name}.{end}" for end in ("pem", "crt", "csr", "pub")] + [f"{name}-both.pem"]
    # A byte of the private exponent, of a prime, and of the public point.
    for name, at in (("rsa", 400), ("rsa", 650), ("p256", -1), ("p521", -1), ("ed25519", -1)):
        names.append(damaged(folder, name, at))
    other = (folder / "rsa.crt").read_text() + (folder / "p256.pem").read_text()
    (folder / "two-keys.pem").write_text(other)
    return names + ["two-keys.pem"]


def damaged(folder, name, at):
    """A private key with another byte at this place."""
    der = bytearray(base64.b64decode("".join((folder / f"{name}.pem").read_text().split("\n")[1:-2])))
    der[at] ^= 1
    made = f"{name}-damaged-{at}.pem"
    text = base64.encodebytes(der).decode()
    (folder / made).write_text(f"-----BEGIN PRIVATE KEY-----\n{text}-----END PRIVATE KEY-----\n")
    return made


def others(folder):
    """Files that nobody wants, and what cannot be read."""
    texts = {
        "empty.yaml": b"\n",
        "utf16.yaml": "kind: Tenant\n".encode("utf-16"),
        "tab.yaml": b"kind: Tenant\nspec:\n\tcsr: x\n",
        "noise.bin": bytes(range(256)) * 8,
        "hostile.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n"
                        "  name: '<img src=x onerror=alert(1)>'\n".encode(),
        "aws.yaml": b"apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: liqo}\n"
                    b"stringData: {awsSecretAccessKey: Sesame}\n",
        "token.yaml": b"apiVersion: v1\nkind: Config\ncurrent-context: a\n"
                      b"clusters: [{name: a, cluster: {server: 'https://u:Sesame@10.0.0.1:6443'}}]\n"
                      b"contexts: [{name: a, context: {cluster: a, user: a}}]\n"
                      b"users: [{name: a, user: {token: Sesame}}]\n",
    }
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    return list(texts)


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
