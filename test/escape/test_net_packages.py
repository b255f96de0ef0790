# SPDX-License-Identifier: Apache-2.0
"""T-NET-PACKAGES: through a named set of rules, get at passwords of the host's clients, at hosts of no registry, or have
the box say what the set stands for."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import attack  # noqa: E402,F401
import harness  # noqa: E402
import netbox  # noqa: E402
import registry  # noqa: E402
import service  # noqa: E402

NEEDLE = "sesame-" + "31415926"

# In the box: everything that it can read.
SEARCH = r"""
import os
def search():
    found, n = [], 0
    paths = ["/proc/%s/%s" % (p, what) for p in os.listdir("/proc") if p.isdigit() for what in ("environ", "cmdline", "mounts")]
    for top in ("/etc", "/tmp", "/run", "/var", "/dev/shm", "/home", "/root", "/retort"):
        for folder, _, names in os.walk(top):
            paths += [os.path.join(folder, name) for name in names]
    for path in paths:
        try:
            if not path.startswith("/dev") or os.path.isfile(path):
                with open(path, "rb") as f:
                    n += 1
                    found += [path] if ("sesame-" + "31415926").encode() in f.read(1 << 22) else []
        except OSError:
            pass
    return found, n > 10
print(search())
"""


def home():
    """A home whose clients all have a password, each where it looks for one."""
    place = harness.make_dir()
    files = {
        ".npmrc": f"//npm.example/:_authToken={NEEDLE}\n//npm.example/:_password={NEEDLE}\nregistry=https://npm.example/\n",
        ".netrc": f"machine a.example login bob password {NEEDLE}\n",
        ".pip/pip.conf": f"[global]\nkeyring-provider = disabled\n# {NEEDLE}\n",
        ".config/pip/pip.conf": f"[global]\n# {NEEDLE}\n",
        ".cargo/credentials.toml": f"[registry]\ntoken = '{NEEDLE}'\n",
        ".cargo/config.toml": f"[registries.own]\nindex = 'https://a.example/'\ntoken = '{NEEDLE}'\n",
    }
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        with open(os.path.join(place, name), "w", encoding="utf-8") as f:
            f.write(text)
    return place


def holds_needle(folder):
    found = []
    for top, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(top, name), "rb") as f:
                found += [name] if NEEDLE.encode() in f.read() else []
    return found


class Packages(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.there = registry.Registry()
        cls.addClassCleanup(cls.there.stop)
        cls.other = netbox.Server()
        cls.addClassCleanup(cls.other.stop)

    def env(self, **more):
        fake = registry.program("npm", """echo '{"registry": "https://npm.example/", "//npm.example/:_authToken": "%s"}'\n""" % NEEDLE)
        return {"HOME": home(), "PATH": fake + ":" + os.environ["PATH"], "PIP_INDEX_URL": self.there.url + "/simple",
                "NPM_TOKEN": NEEDLE, "CARGO_REGISTRY_TOKEN": NEEDLE, **more}

    def test_T_NET_PACKAGES_passwords(self):
        """In the environment of any process of the box, its files, the record, the journal and the log."""
        state, env = harness.make_dir(), self.env()
        with service.Engine(state=state, env=env) as engine:
            session = engine.session(net=["pypi", "npm", "crates"])
            record = session.run(SEARCH)
            self.assertEqual(record["stdout"], "([], True)\n", record)
            self.assertNotIn(NEEDLE, str(record) + str(engine.call("session.list")))
            self.assertNotIn(NEEDLE, engine.said())
        self.assertEqual(holds_needle(state), [])

    def test_T_NET_PACKAGES_password_in_an_address(self):
        """An address that has one: it is refused, and stands nowhere."""
        state, url = harness.make_dir(), f"http://bob:{NEEDLE}@localhost:{self.there.port}/simple"
        with service.Engine(state=state, env=self.env(PIP_INDEX_URL=url)) as engine:
            session = engine.session()
            for call in (lambda: engine.session(net=["pypi"]), lambda: engine.session(net=["!pypi"]),
                         lambda: engine.call("session.net", session=session.id, net=["pypi"]),
                         lambda: engine.call("template.create", net=["pypi"])):
                with self.assertRaises(service.Refused) as caught:
                    call()
                self.assertNotIn(NEEDLE, str(caught.exception) + str(caught.exception.hint))
            self.assertEqual(engine.call("session.net", session=session.id)["net"], [])
            self.assertNotIn(NEEDLE, engine.said())
        self.assertEqual(holds_needle(state), [])

    def test_T_NET_PACKAGES_other_hosts(self):
        """Another port of the host that the registry's name leads to, other names."""
        code = netbox.PRELUDE + f"""
print([say("pypi.host.internal", {self.other.port}), say("other.host.internal", {self.there.port}), say("localhost", {self.other.port}),
       say("127.0.0.1", {self.there.port}), say("host.internal", {self.there.port})])
print(say("pypi.host.internal", {self.there.port}, "GET / HTTP/1.0\\r\\nHost: pypi.host.internal\\r\\n\\r\\n")[:12])
"""
        done = harness.run(code, "--net", "pypi", env=self.env())
        self.assertEqual(done.out, "['ECONNREFUSED', 'no name', 'ECONNREFUSED', 'ECONNREFUSED', 'no name']\nHTTP/1.1 404\n", done)
        self.assertEqual(self.other.n, 0)

    def test_T_NET_PACKAGES_wider_names(self):
        """A configuration that would be a wider rule: any, a pattern, "!", an address of the host."""
        for url in ("https://any/", "https://*.example/", "https://!npm.example/", "https://x=127.0.0.1/", "https://any:1/"):
            with self.subTest(url=url):
                env = {"PATH": registry.program("npm", f"""echo '{{"registry": "{url}"}}'\n""") + ":/usr/bin:/bin"}
                done = harness.run("print(1)", "--net", "npm", env=env)
                self.assertEqual((done.status, done.out), (2, ""), done)

    @unittest.skipUnless(registry.PIP, "this host has no pip")
    def test_T_NET_PACKAGES_from_the_workspace(self):
        """Files of the workspace that a client might read, or run, on the host: retort is called in their directory."""
        where, env = harness.make_dir(), self.env()
        mark = os.path.join(harness.make_dir(), "ran")
        with open(os.path.join(where, "json.py"), "w", encoding="utf-8") as f:
            f.write(f"open({mark!r}, 'w')\n")
        os.mkdir(os.path.join(where, "pip"))
        for name in ("pip/__init__.py", "sitecustomize.py"):
            with open(os.path.join(where, name), "w", encoding="utf-8") as f:
                f.write(f"open({mark!r}, 'w')\n")
        for name, text in ((".npmrc", "registry=https://evil.example/\n"), ("pip.conf", "[global]\nindex-url = https://evil.example/\n"),
                           ("python3", f"#!/bin/sh\ntouch {mark}\n"), ("npm", f"#!/bin/sh\ntouch {mark}\n")):
            with open(os.path.join(where, name), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as f:
                f.write(text)
        for path in (env["PATH"], ".:" + env["PATH"], ":" + env["PATH"]):
            with service.Engine("--quiet", env=env | {"PATH": path}) as engine:
                self.assertEqual(engine.session(net=["pypi"]).run("1")["status"], "ok")
            done = harness.run("import os; print(os.environ['NPM_CONFIG_REGISTRY'], os.environ['PIP_INDEX_URL'])", "--workspace", where,
                               "--net", "pypi", "--net", "npm", env=env | {"PATH": path}, cwd=where)
            self.assertEqual(done.out, f"https://npm.example/ http://pypi.host.internal:{self.there.port}/simple\n", done)
        self.assertFalse(os.path.exists(mark))

    def test_T_NET_PACKAGES_from_the_box(self):
        """A program that configures the clients of its box; the set is then named again, from outside."""
        env = self.env()
        with service.Engine(env=env) as engine:
            session = engine.session(net=["npm"])
            session.run("""
import os
os.makedirs(".config/pip", exist_ok=True)
open(".npmrc", "w").write("registry=https://evil.example/")
open(".config/pip/pip.conf", "w").write("[global]\\nindex-url = https://evil.example/")
os.environ.update(NPM_CONFIG_REGISTRY="https://evil.example/", PIP_INDEX_URL="https://evil.example/")
""")
            rules = engine.call("session.net", session=session.id, net=["npm", "pypi"], add=True)["net"]
            self.assertEqual(set(rules), {"npm.example:443", self.there.rule()})


if __name__ == "__main__":
    harness.main()
