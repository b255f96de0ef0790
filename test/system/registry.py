# SPDX-License-Identifier: Apache-2.0
"""A registry of packages on this host's loopback, which speaks the protocols of PyPI (PEP 503) and npm.

    with registry.Registry() as there:
        there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        harness.run("!pip install greeter", "--net", "pypi", env=there.env)
"""

import base64
import hashlib
import http.server
import io
import json
import os
import stat
import subprocess
import tarfile
import threading
import zipfile

import harness

PIP = subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False, cwd="/").returncode == 0
NPM = os.path.exists("/usr/bin/npm") and os.path.exists("/usr/bin/node")


def wheel(name, version, files, needs=(), scripts=()):
    """The bytes of a wheel."""
    info = f"{name}-{version}.dist-info/"
    files = dict(files)
    files[info + "METADATA"] = "\n".join(
        ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {n}" for n in needs), ""])
    files[info + "WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if scripts:
        files[info + "entry_points.txt"] = "[console_scripts]\n" + "\n".join(scripts) + "\n"
    files[info + "RECORD"] = "".join(f"{path},,\n" for path in [*files, info + "RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for path, text in files.items():
            z.writestr(path, text)
    return out.getvalue()


def tarball(name, version, files):
    """The bytes of a package of npm."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for path, text in {"package.json": json.dumps({"name": name, "version": version, "main": "index.js"}), **files}.items():
            row = tarfile.TarInfo("package/" + path)
            row.size = len(text.encode())
            t.addfile(row, io.BytesIO(text.encode()))
    return out.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Host"), self.headers.get("Authorization")))
        page = self.server.pages.get(self.path.split("?")[0].rstrip("/"))
        kind, body = page(self.headers["Host"]) if page else ("text/plain", b"not here")
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Registry:
    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.pages, self.server.seen, self.files, self.tarballs = {}, [], {}, {}
        self.port = self.server.server_port
        self.url = f"http://localhost:{self.port}"
        self.env = {"PIP_INDEX_URL": self.url + "/simple", "NPM_CONFIG_REGISTRY": self.url + "/npm/"}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def seen(self):
        return self.server.seen

    def rule(self, name="pypi"):
        return f"{name}.host.internal:{self.port}=127.0.0.1:{self.port}"

    def page(self, path, kind, make):
        self.server.pages[path] = lambda host: (kind, make(host))

    def wheel(self, name, version, files, **more):
        data, file = wheel(name, version, files, **more), f"{name}-{version}-py3-none-any.whl"
        self.files.setdefault(name, []).append((file, hashlib.sha256(data).hexdigest()))
        self.page(f"/files/{file}", "application/octet-stream", lambda host: data)
        self.page(f"/simple/{name.replace('_', '-')}", "text/html", lambda host: "".join(
            f'<a href="../../files/{f}#sha256={digest}">{f}</a>\n' for f, digest in self.files[name]).encode())

    def tarball(self, name, version, files, **more):
        """@more: what the registry says of it, such as hasInstallScript."""
        data = tarball(name, version, files)
        digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        self.page(f"/npm/{name}/-/{version}.tgz", "application/octet-stream", lambda host: data)
        self.tarballs.setdefault(name, {})[version] = digest
        self.page(f"/npm/{name}", "application/json", lambda host: json.dumps({
            "name": name, "dist-tags": {"latest": version}, "versions": {v: {
                "name": name, "version": v, **more, "dist": {"tarball": f"http://{host}/npm/{name}/-/{v}.tgz", "integrity": d}}
                for v, d in self.tarballs[name].items()}}).encode())


def program(name, text):
    """A directory with a program of this name, a script of /bin/sh."""
    where = harness.make_dir()
    path = os.path.join(where, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return where
