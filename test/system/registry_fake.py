# SPDX-License-Identifier: Apache-2.0
"""Images that a test makes, and a registry of the test's own, which can misbehave.

    with Registry() as registry:
        registry.add("app", Image(layer({"etc/motd": b"hello\\n"})))
        … pull registry.host + "/app" …
"""

import base64
import gzip
import hashlib
import http.server
import io
import json
import platform
import re
import tarfile
import threading
import urllib.parse

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64"}[platform.machine()]
OCI = "application/vnd.oci.image."
INDEX, MANIFEST, CONFIG = OCI + "index.v1+json", OCI + "manifest.v1+json", OCI + "config.v1+json"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def entry(name, kind=tarfile.REGTYPE, mode=0o644, link="", size=0, mtime=1_000_000_000, **more):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.size, info.mtime = kind, mode, link, size, mtime
    for key, value in more.items():
        setattr(info, key, value)
    return info


def archive(entries, form=tarfile.PAX_FORMAT):
    """A tar archive of (TarInfo, bytes or None)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in entries:
            if data is not None:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data) if data is not None else None)
    return out.getvalue()


def layer(files, dirs=(), links=(), removed=()):
    """An archive of files {path: bytes}, directories, links {path: target} and removed paths."""
    entries = [(entry(path, tarfile.DIRTYPE, 0o755), None) for path in dirs]
    entries += [(entry(path, mode=0o755 if data[:2] in (b"#!", b"\x7fE") else 0o644), data) for path, data in files.items()]
    entries += [(entry(path, tarfile.SYMTYPE, 0o777, target), None) for path, target in dict(links).items()]
    for path in removed:
        at, _, name = path.rpartition("/")
        entries.append((entry((at + "/" if at else "") + ".wh." + name), b""))
    return archive(entries)


def packed_the_same(data):
    """With gzip, and the same bytes at any time."""
    return gzip.compress(data, mtime=0)


class Image:
    """An image of layers, which are tar archives. `packed`: how each is compressed."""

    def __init__(self, *layers, architecture=ARCHITECTURE, system="linux", packed=packed_the_same, **config):
        self.blobs = {}
        self.layers = [packed(data) if packed else data for data in layers]
        kind = OCI + ("layer.v1.tar+gzip" if packed is packed_the_same else "layer.v1.tar")
        self.config = json.dumps({"architecture": architecture, "os": system, "config": config, "rootfs": {
            "type": "layers", "diff_ids": [digest(data) for data in layers]}}).encode()
        self.manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": self.blob(self.config, CONFIG),
                         "layers": [self.blob(data, kind) for data in self.layers]}
        self.platform = {"os": system, "architecture": architecture}

    def blob(self, data, kind):
        self.blobs[digest(data)] = data
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def index(*images):
    """The index of several images: (document, blobs)."""
    rows = []
    for image in images:
        text = json.dumps(image.manifest).encode()
        rows.append({"mediaType": MANIFEST, "digest": digest(text), "size": len(text), "platform": image.platform})
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": rows}


class Registry:
    """A registry on this host. Attributes say how it misbehaves."""

    def __init__(self, user=None, secret=None, realm_path="/token"):
        self.documents, self.blobs = {}, {}
        self.user, self.secret, self.realm_path = user, secret, realm_path
        self.asked = []         # ("GET", path, headers)
        self.cut_after = []     # the next answers with a blob end after so many bytes
        self.slow = None        # an Event for which blobs wait after their first half
        self.busy = 0           # the next so many answers are status 429
        self.redirect = None    # another Registry, which has the blobs that this one does not have, and all layers
        self.ignores_range = False
        self.sends_on = None    # where manifests are said to be
        self.raw = None         # all that it sends
        self.says = None        # the body of answers with this status:
        self.status = 418
        self.endless = False    # layers are longer than they are
        self.accepts = True     # the token that it has given itself
        self.realm = None       # the URL of the server of tokens, if it is another
        self.is_partial = False  # nothing is ever whole
        self.range = None       # what Content-Range says
        self.drops = []         # the numbers of the questions after which the connection is cut
        self.retry_after = None  # with each blob
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                registry.asked.append((self.command, self.path, dict(self.headers)))
                if len(registry.asked) in registry.drops:
                    self.close_connection = True
                    return
                registry.answer(self)

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients go
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.host = f"127.0.0.1:{self.server.server_address[1]}"

    def add(self, name, image, tag="latest"):
        """Add an image, or a document as it is. Returns: its digest."""
        document = image.manifest if isinstance(image, Image) else image
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        for reference in (tag, digest(text)):
            self.documents[name, reference] = text
        if isinstance(image, Image):
            self.blobs.update(image.blobs)
        return digest(text)

    def close(self):
        if self.slow:
            self.slow.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def paths(self, part=""):
        return [path for _, path, _ in self.asked if part in path]

    # ---- answers ----

    def say(self, to, status, body=b"", **headers):
        to.send_response(status)
        for name, value in headers.items():
            to.send_header(name.replace("_", "-"), value)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    def may(self, to):
        return self.accepts and (self.user is None or to.headers.get("Authorization") in ("Bearer the-token", self.basic()))

    def basic(self):
        return "Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()

    def give_token(self, to):
        if to.command == "POST":
            form = urllib.parse.parse_qs(to.rfile.read(int(to.headers["Content-Length"])).decode())
            is_good = form.get("refresh_token") == [self.secret] and form["grant_type"] == ["refresh_token"]
        else:
            is_good = to.headers.get("Authorization") == self.basic()
        self.say(to, 200 if is_good else 401, b'{"token": "the-token"}' if is_good else b"{}")

    def answer(self, to):
        path = urllib.parse.urlsplit(to.path).path
        found = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if self.raw:
            to.wfile.write(self.raw)
            to.close_connection = True
        elif path == self.realm_path:
            self.give_token(to)
        elif self.busy > 0:
            self.busy -= 1
            self.say(to, 429, b'{"errors": [{"message": "slow down"}]}', Retry_After="1")
        elif not self.may(to):
            challenge = "Basic realm=\"x\"" if self.realm_path is None else (
                f'Bearer realm="{self.realm or "http://" + self.host + self.realm_path}",service="{self.host}",scope="repository:x:pull,push"')
            self.say(to, 401, b"{}", WWW_Authenticate=challenge)
        elif not found:
            self.say(to, 404, b"{}")
        elif self.says:
            self.say(to, self.status, self.says)
        elif self.sends_on is not None:
            self.say(to, 307, Location=self.sends_on)
        elif found[2] == "manifests":
            text = self.documents.get((found[1], found[3]))
            self.say(to, (206 if self.is_partial else 200) if text else 404, text or b'{"errors": [{"message": "manifest unknown"}]}')
        elif self.redirect and self.blobs.get(found[3], b"")[:1] != b"{":
            self.say(to, 307, Location=f"http://{self.redirect.host}{to.path}")
        elif found[3] not in self.blobs:
            self.say(to, 404, b'{"errors": [{"message": "blob unknown"}]}')
        else:
            data = self.blobs[found[3]]
            self.give_blob(to, data + b"x" * (1 << 20) if self.endless and data[:1] != b"{" else data)

    def give_blob(self, to, data):
        at = re.fullmatch(r"bytes=(\d+)-", to.headers.get("Range", ""))
        begin = int(at[1]) if at and not self.ignores_range else 0
        if begin >= len(data) > 0:
            self.say(to, 416)
            return
        to.send_response(206 if begin or self.is_partial else 200)
        if begin:
            to.send_header("Content-Range", self.range or f"bytes {begin}-{len(data) - 1}/{len(data)}")
        to.send_header("Content-Length", str(len(data) - begin))
        if self.retry_after:
            to.send_header("Retry-After", self.retry_after)
        to.end_headers()
        end = len(data)
        if self.cut_after:
            end = min(end, begin + self.cut_after.pop(0))
        half = (begin + end) // 2
        to.wfile.write(data[begin:half])
        to.wfile.flush()
        if self.slow and data[:1] != b"{":
            self.slow.wait()
        to.wfile.write(data[half:end])
        if end < len(data):
            to.wfile.flush()
            to.connection.close()
            to.close_connection = True
