# SPDX-License-Identifier: Apache-2.0
"""Named sets of rules stand for what this host's clients are configured with; in a box with one, packages install."""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import registry  # noqa: E402
import service  # noqa: E402
import web  # noqa: E402

PIP_PLACE = "/usr/lib/python3/dist-packages/pip"
SHOW = "import os\nfor n in sorted(os.environ): print(n, os.environ[n], sep='=') if n.split('_')[0].upper() in {!r} else None"


def show(*first):
    """Code that prints the variables whose names begin with one of these words."""
    return SHOW.format(first)


def faked(name, text, **more):
    """The environment in which the host's client of this name says this."""
    return {"PATH": registry.program(name, text) + ":/usr/bin:/bin", **more}


def npm(registry_url, **more):
    return faked("npm", f"echo '{json.dumps({'registry': registry_url, **more})}'\n")


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


@harness.as_user
class Sets(harness.Case):
    """What a set is replaced by."""

    def rules(self, *sets, env=None):
        """The rules that a session with these sets has."""
        with service.Engine(env=env) as engine:
            session = engine.session(net=list(sets))
            return engine.call("session.net", session=session.id)["net"]

    def refused(self, *options, env=None, status=2):
        done = harness.run("print(1)", *options, env=env)
        self.assertEqual((done.status, done.out), (status, ""), done)
        return done.err

    def test_npm(self):
        env = npm("https://npm.example/r/", **{"@own:registry": "https://own.example:8443/", "//own.example/:_authToken": "(protected)"})
        self.assertEqual(self.rules("npm", "api.test", env=env), ["npm.example:443", "own.example:8443", "api.test"])
        done = harness.run(show("NPM", "npm"), "--net", "npm", env=env)
        self.assertIn("NPM_CONFIG_REGISTRY=https://npm.example/r/\n", done.out)
        self.assertIn("npm_config_@own:registry=https://own.example:8443/\n", done.out)
        self.assertNotIn("protected", done.out)

    def test_go(self):
        env = faked("go", """echo '{"GOPROXY": "https://a.example,http://b.example/x|direct", "GOSUMDB": "sums.example+key"}'\n""")
        self.assertEqual(self.rules("go", env=env), ["a.example:443", "b.example:80", "sums.example:443"])
        out = harness.run(show("GOPROXY", "GOSUMDB"), "--net", "go", env=env).out
        self.assertEqual(out, "GOPROXY=https://a.example,http://b.example/x|direct\nGOSUMDB=sums.example+key\n")
        env = faked("go", """echo '{"GOPROXY": "https://a.example", "GOSUMDB": "off"}'\n""")
        self.assertEqual(self.rules("go", env=env), ["a.example:443"])

    def test_debian(self):
        env = faked("apt-get", "echo http://deb.example/debian/; echo file:/srv/x; echo http://deb.example/debian/; echo https://more.example/\n")
        self.assertEqual(self.rules("debian", env=env), ["deb.example:80", "more.example:443"])

    def cargo(self, text):
        home = harness.make_dir()
        with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as f:
            f.write(text)
        return {"CARGO_HOME": home}

    def test_crates(self):
        self.assertEqual(self.rules("crates", env=self.cargo("")), ["crates.io:443", "*.crates.io:443"])
        env = self.cargo("""
[source.crates-io]
replace-with = "first"
[source.first]
replace-with = "mirror"
[source.mirror]
registry = "sparse+https://crates.example/index/"
[registries.own-one]
index = "sparse+http://own.example/"
token = "never"
""")
        self.assertEqual(self.rules("crates", env=env), ["crates.example:443", "own.example:80"])
        self.assertEqual(harness.run(show("CARGO"), "--net", "crates", env=env).out.splitlines()[2:],
                         ["CARGO_REGISTRIES_OWN_ONE_INDEX=sparse+http://own.example/"])
        self.assertIn("crates: ", self.refused("--net", "crates", env=self.cargo("[source"), status=2))

    def test_private(self):
        """"!" before a set goes to each of its rules that can have it."""
        env = npm("https://npm.example/", **{"@a:registry": "http://192.0.2.7/", "@b:registry": "http://localhost:4873/"})
        self.assertEqual(self.rules("!npm", env=env),
                         ["!npm.example:443", "192.0.2.7:80", "npm.host.internal:4873=127.0.0.1:4873"])

    def test_a_host_of_that_name(self):
        """With a port it is a host; then, and without any set, no client is asked."""
        mark = os.path.join(harness.make_dir(), "asked")
        env = faked("npm", f"echo '{{\"registry\": \"https://npm.example\"}}'; pwd >> {mark}\n")
        self.assertEqual(self.rules("npm:443", "npm.example", "!npm:80", env=env), ["npm:443", "npm.example", "!npm:80"])
        self.assertFalse(os.path.exists(mark))
        with service.Engine(env=env) as engine:
            one = engine.session(net=["npm"])
            engine.session(net=["!npm"])
            engine.call("session.net", session=one.id, net=["npm", "api.test"])
        with open(mark, encoding="utf-8") as f:
            self.assertEqual(f.read(), "/\n")  # once, and where no project has a say

    def test_the_callers_variables_win(self):
        env = npm("https://npm.example/")
        out = harness.run(show("NPM", "npm"), "--net", "npm", "-e", "npm_config_registry=https://mine.example", env=env).out
        self.assertIn("npm_config_registry=https://mine.example\n", out)
        self.assertNotIn("npm.example", out)

    def test_certificates(self):
        """Files of the host's that a box has; but with rules for requests, its clients trust the gateway."""
        files = {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/own.pem", "NPM_CONFIG_CAFILE": "/root/own.crt"}
        for options, told in ((("npm",), files["NODE_EXTRA_CA_CERTS"]), (("npm", "--net", "GET npm.example/*"), "/etc/ssl/certs/ca-certificates.crt"), (("npm:443",), None)):
            out = harness.run("import os\nprint(os.environ.get('NODE_EXTRA_CA_CERTS'), os.environ.get('NPM_CONFIG_CAFILE'))", "--net", *options,
                              env=npm("https://npm.example/", ) | files).out
            self.assertRegex(out, rf"^{told}\S* None\n$" if told else "^None None\n$")
        out = harness.run(show("NODE"), "--net", "npm", env=npm("https://npm.example/") | {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/../x"}).out
        self.assertEqual(out, "")

    def test_passwords(self):
        """An address with one is refused, in all sets, and no message has it."""
        secret = "hunter2-hunter2"
        for name, env in (
                ("npm", npm(f"https://bob:{secret}@npm.example/")), ("npm", npm(f"https://{secret}@npm.example/")),
                ("npm", npm(f"https://npm.example/?key={secret}")), ("npm", npm("https://a.example", **{"@x:registry": f"http://:{secret}@b"})),
                ("go", faked("go", f"""echo '{{"GOPROXY": "direct,https://bob:{secret}@a.example", "GOSUMDB": "off"}}'\n""")),
                ("debian", faked("apt-get", f"echo http://a.example; echo https://bob:{secret}@a.example\n")),
                ("crates", self.cargo(f"[registries.a]\nindex = 'https://bob:{secret}@a.example'")),
                ("pypi", {"PIP_INDEX_URL": f"https://bob:{secret}@a.example/simple"}),
                ("pypi", {"PIP_INDEX_URL": "https://a.example/simple", "PIP_EXTRA_INDEX_URL": f"https://bob:{secret}@a.example/simple"})):
            with self.subTest(name=name):
                said = self.refused("--net", name, env=env)
                self.assertIn("password", said)
                self.assertIn("--net HOST", said.replace("name the host", "--net HOST"))
                self.assertNotIn(secret, said)

    def test_what_cannot_be(self):
        for name, env, words in (
                ("npm", {"PATH": harness.make_dir()}, "install npm"), ("npm", faked("npm", "exit 3\n"), "failed"),
                ("npm", faked("npm", "echo x\n"), "not understood"), ("npm", faked("npm", "echo '{\"registry\": 3}'\n"), "not understood"),
                ("npm", faked("npm", "yes\n"), "more than"), ("npm", npm("https://localhost:1/"), "certificate"),
                ("npm", npm("http://a.example:0/"), "port"), ("npm", npm("http:///x"), "host"), ("npm", npm("file:///x"), "no host"),
                ("npm", npm("http://a b/"), "b"), ("npm", npm("http://a_;.example/"), "no name of a host"),
                ("go", faked("go", "echo '[]'\n"), "not understood"), ("debian", faked("apt-get", "exit 0\n"), "no host"),
                ("pypi", faked("python3", "echo '{}'\n"), "not understood")):
            with self.subTest(words=words):
                done = harness.run("print(1)", "--net", name, env=env)
                if words == "b":  # a blank ends an address
                    self.assertEqual(done.status, 0)
                    continue
                self.assertIn(done.status, (2, 127), done)
                self.assertIn(words, done.err)
                self.assertEqual(done.out, "")
                self.assertEqual(len(done.err.splitlines()), 1, done)
        many = ",".join(f"https://h{i}.example" for i in range(65))
        said = harness.run("1", "--net", "go", env=faked("go", f"""echo '{{"GOPROXY": "{many}", "GOSUMDB": "off"}}'\n""")).err
        self.assertIn("more than 64", said)

    def test_a_client_that_hangs(self):
        """It is ended, with what it has started."""
        mark = os.path.join(harness.make_dir(), "pid")
        said = harness.run("1", "--net", "npm", env=faked("npm", f"sleep 1000 & echo $! > {mark}; wait\n")).err
        self.assertIn("did not answer within 10 s", said)
        with open(mark, encoding="utf-8") as f:
            pid = f.read().strip()
        self.assertTrue(pid.isdigit())
        self.until(lambda: "sleep" not in read(f"/proc/{pid}/cmdline"))

    def test_who_may(self):
        """A caller over HTTP may name the sets whose rules he may give."""
        env = npm("https://npm.example/") | {"PIP_INDEX_URL": "http://localhost:4873/simple"}
        with web.Server(tokens="none nnnnnnnnnnnnnnnn\npublic pppppppppppppppp net=public\nany aaaaaaaaaaaaaaaa net=any\n", env=env) as server:
            for who, allowed in (("n", ()), ("p", ("npm",)), ("a", ("npm", "!npm", "pypi"))):
                def call(method, **params):
                    return server.rpc(method, headers={"Authorization": "Bearer " + who * 16}, **params)

                own = call("session.create")["session"]
                for name in ("npm", "!npm", "pypi"):
                    for method, params in (("session.create", {}), ("session.net", {"session": own}), ("template.create", {})):
                        if name in allowed:
                            call(method, net=[name], **params)
                            continue
                        with self.assertRaises(web.Failed, msg=(who, name, method)) as caught:
                            call(method, net=[name], **params)
                        self.assertEqual(caught.exception.code, "denied")


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.there = registry.Registry()
        cls.addClassCleanup(cls.there.stop)
        cls.there.wheel("greeter", "1.0", {"greeter/__init__.py": "WORD = 'hello'\ndef main(): print(WORD)\n"},
                        scripts=["greet = greeter:main"])
        cls.there.wheel("greeter", "2.0", {"greeter/__init__.py": "WORD = 'good day'\ndef main(): print(WORD)\n"},
                        scripts=["greet = greeter:main"])
        cls.there.wheel("needy", "1.0", {"needy.py": "import greeter\nWORD = greeter.WORD.upper()\n"}, needs=["greeter<2"])
        cls.there.wheel("pathy", "1.0", {"pathy.pth": "pathy_inside\n", "pathy_inside/by_pth.py": "WORD = 'by pth'\n"})
        cls.there.wheel("pip", "999.0", {"pip/__init__.py": "__version__ = '999.0'\n"})
        cls.there.tarball("left", "1.0.0", {"index.js": "module.exports = () => 'left'"})

    def run_with(self, code, *options, net="pypi", **more):
        return harness.run(code, "--net", net, *options, env=self.there.env, **more)

    def assert_out(self, done, out):
        self.assertEqual((done.status, done.out), (0, out), done)


@unittest.skipUnless(registry.PIP, "this host has no pip")
class Pip(Case):
    """`pip install` in a box with the set pypi."""

    def test_the_next_line_has_it(self):
        """However pip is called."""
        for code in ("!pip install -q greeter==1.0\n", "%pip install -q greeter==1.0\n", "pip install -q greeter==1.0\n",
                     "%%bash\npip install -q greeter==1.0\n", "x = !python3 -m pip install -q greeter==1.0\n",
                     "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', '-q', 'greeter==1.0'], check=True)\n"):
            with self.subTest(code=code), service.Engine(env=self.there.env) as engine:
                session = engine.session(net=["pypi"])
                record = session.run(code) if "%%" in code else session.run(code + "import greeter")
                self.assertEqual(record["status"], "ok", record)
                self.assertEqual(session.value("import greeter; greeter.WORD"), "'hello'")

    def test_a_program(self):
        done = self.run_with("!pip install needy\nimport needy, os\nprint(needy.WORD)\n!greet; python3 -c 'import greeter; print(greeter.__file__)'")
        self.assertEqual(done.out.splitlines()[-3:],
                         ["HELLO", "hello", "/home/user/.local/lib/python%d.%d/site-packages/greeter/__init__.py" % sys.version_info[:2]], done)
        self.assertIn(("/simple/needy/", f"pypi.host.internal:{self.there.port}"), [row[:2] for row in self.there.seen])

    def test_what_the_record_says(self):
        r = harness.record("!pip install -q greeter\n", "--net", "pypi", env=self.there.env)
        self.assertEqual({row["name"] for row in r["network"]}, {"pypi.host.internal"})
        self.assertEqual({row["verdict"] for row in r["network"]}, {"allowed"})

    def test_it_wins_over_the_hosts(self):
        self.assert_out(self.run_with("import pip, sys\nsys.modules.pop('pip')\n!pip install -q pip==999.0 2>/dev/null\nimport pip\nprint(pip.__version__)\n"
                                      "!python3 -c 'import pip; print(pip.__version__)'"), "999.0\n999.0\n")

    def test_it_wins_when_another_program_installs(self):
        """It was there before the first import of a package."""
        with service.Engine(env=self.there.env) as engine:
            session = engine.session(net=["pypi"])
            session.run("pip install -q pip==999.0 greeter==1.0", runtime="shell")
            self.assertEqual(session.value("import importlib.metadata as m; m.version('greeter')"), "'1.0'")
            self.assertEqual(session.value("import greeter, pip; pip.__version__"), "'999.0'")

    def test_pth_files(self):
        """Also when the directory was there before."""
        self.assert_out(self.run_with("!pip install -q greeter==1.0\nimport greeter\n!pip install -q pathy\nimport by_pth\nprint(by_pth.WORD)"), "by pth\n")

    def test_later_versions_and_uninstall(self):
        with service.Engine(env=self.there.env) as engine:
            session = engine.session(net=["pypi"])
            session.run("!pip install -q greeter==1.0")
            session.run("!pip install -q -U greeter")
            self.assertEqual(session.value("import greeter; greeter.WORD"), "'good day'")
            self.assertEqual(session.value("import importlib.metadata as m; m.version('greeter')"), "'2.0'")
            self.assertIn("greeter", session.run("!pip list")["stdout"])

    def test_uninstall(self):
        """Of what a step has installed, without a network, too."""
        folder = harness.make_dir()
        with open(os.path.join(folder, "greeter-1.0-py3-none-any.whl"), "wb") as f:
            f.write(registry.wheel("greeter", "1.0", {"greeter.py": ""}))
        with service.Engine() as engine:
            session = engine.session(volumes=[{"src": folder, "dst": "/wheels"}])
            self.assertIn("read-only", session.run("!pip uninstall -y greeter")["stderr"])
            session.run("!pip install -q --no-index /wheels/greeter-1.0-py3-none-any.whl")
            self.assertEqual(session.value("import greeter; greeter.__name__"), "'greeter'")
            self.assertIn("Successfully uninstalled", session.run("!pip uninstall -y greeter")["stdout"])
            self.assertEqual(session.value("import importlib.metadata as m; [d for d in m.distributions() if d.name == 'greeter']"), "[]")

    def test_rules_come_and_go(self):
        with service.Engine(env=self.there.env) as engine:
            session = engine.session()
            record = session.run("!pip install greeter==1.0")
            self.assertIn("the box has no network", record["stderr"])
            self.assertIn("--net pypi", record["stderr"])
            rules = engine.call("session.net", session=session.id, net=["pypi"], add=True)["net"]
            self.assertEqual(rules, [self.there.rule()])
            # a session that runs gets rules, and no variables
            url = f"http://pypi.host.internal:{self.there.port}"
            session.run(f"!pip install -q -i {url}/simple --trusted-host pypi.host.internal greeter==1.0")
            self.assertEqual(session.value("import greeter; greeter.WORD"), "'hello'")

    def test_branch_undo_rollback(self):
        with service.Engine(env=self.there.env) as engine:
            session = engine.session(net=["pypi"])
            session.run("before = 1")
            session.run("!pip install -q greeter==1.0\nimport greeter")
            branch = engine.call("session.branch", session=session.id)
            for each in (session.id, branch["session"]):
                record = engine.call("step.run", session=each, code="import sys, greeter; greeter.WORD")
                self.assertEqual(record["value"]["text/plain"], "'hello'", record)
            record = engine.call("step.run", session=branch["session"], code="!pip install -q needy\nimport needy; needy.WORD")
            self.assertEqual(record["value"]["text/plain"], "'HELLO'", record)
            gone = "import importlib.util, os, shutil; [importlib.util.find_spec(n) for n in NAMES], shutil.which('greet'), os.path.exists('.local')"
            session.undo(count=2)
            self.assertEqual(session.value(gone.replace("NAMES", "('greeter', 'needy')")), "([None, None], None, False)")
            self.assertEqual(session.value("before"), "1")
            record = session.run("!pip install -q greeter==1.0\nimport greeter\n1 / 0", atomic=True)
            self.assertEqual(record["state"]["outcome"], "rolled_back", record)
            self.assertEqual(session.value(gone.replace("NAMES", "('greeter',)")), "([None], None, False)")

    def test_undo(self):
        """In a session without a branch, one step and another."""
        with service.Engine(env=self.there.env) as engine:
            session = engine.session(net=["pypi"])
            session.run("before = []")
            session.run("!pip install -q greeter==1.0\nimport greeter")
            session.run("!pip install -q needy\nimport needy")
            session.undo()
            self.assertEqual(session.value("import importlib.util as u; greeter.WORD, u.find_spec('needy')"), "('hello', None)")
            session.undo(count=2)
            self.assertEqual(session.value("import os; 'greeter' in globals(), u.find_spec('greeter') if 'u' in globals() else None, os.listdir('.')"),
                             "(False, None, [])")
            self.assertIn("No module named 'greeter'", session.run("import greeter")["error"]["message"])

    def test_a_password_by_a_secret(self):
        """The registry gets it, in the place of what pip has."""
        net = ["--net", f"pypi.test:80=127.0.0.1:{self.there.port}", "--secret", "TOKEN=env:TOKEN@pypi.test:80"]
        done = harness.run("!pip install -q -i http://bob:$TOKEN@pypi.test/simple --trusted-host pypi.test greeter==1.0\nimport greeter\nprint(greeter.WORD)",
                           *net, env={"TOKEN": "hunter2-hunter2"})
        self.assert_out(done, "hello\n")
        self.assertIn("Basic Ym9iOmh1bnRlcjItaHVudGVyMg==", {row[2] for row in self.there.seen})

    def test_restart(self):
        state = harness.make_dir()
        with service.Engine(state=state, env=self.there.env) as engine:
            session = engine.session(net=["pypi"])
            session.run("!pip install -q greeter==1.0")
            session.run("import greeter")
        with service.Engine(state=state) as engine:  # its environment says nothing of this registry
            again = service.Session(engine, {"session": session.id})
            self.assertEqual(again.value("greeter.WORD"), "'hello'")
            self.assertEqual(engine.call("session.net", session=session.id)["net"], [self.there.rule()])

    @unittest.skipUnless(os.path.exists(PIP_PLACE), "pip is not where Debian has it")
    def test_virtual_environment(self):
        """The host's is read-only; what is installed is beside it, and found by its Python."""
        folder = os.path.join(harness.make_dir(), "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True, cwd="/", stdin=subprocess.DEVNULL)
        os.symlink(PIP_PLACE, folder + "/lib/python%d.%d/site-packages/pip" % sys.version_info[:2])
        code = ("!pip install -q greeter==1.0\nimport greeter, sys\nprint(greeter.WORD, sys.prefix)\n"
                "!python3 -c 'import greeter; print(greeter.WORD)'")
        self.assert_out(self.run_with(code, "--python", folder), f"hello {folder}\nhello\n")

    def test_a_python_without_pip(self):
        """uv does it if it is there; otherwise an error says what to do."""
        folder = os.path.join(harness.make_dir(), "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder], check=True, cwd="/", stdin=subprocess.DEVNULL)
        code = "!pip install -q greeter==1.0\nprint(_exit_code)"
        done = self.run_with(code, "--python", folder)
        self.assertEqual(done.out, "1\n", done)
        self.assertIn("ERROR: no pip in", done.err)
        uv = os.path.join(registry.program("uv", 'echo "$@"\n'), "uv")
        done = self.run_with(code, "--python", folder, "-v", f"{uv}:/opt/uv", "-e", "PATH=/opt:/usr/bin:/bin")
        place = "/home/user/.local/lib/python%d.%d/site-packages" % sys.version_info[:2]
        self.assertRegex(done.out, rf"^pip install --python {folder}/bin/python3? --target {place} -q greeter==1.0\n0\n$")

    def test_a_volume_is_no_way_in(self):
        """What the host's own user has in ~/.local is not in the box."""
        home = harness.make_dir()
        place = os.path.join(home, ".local/lib/python%d.%d/site-packages" % sys.version_info[:2])
        os.makedirs(place)
        with open(os.path.join(place, "hosts_own.py"), "w", encoding="utf-8"):
            pass
        done = harness.run("import hosts_own", env={"HOME": home})
        self.assertIn("ModuleNotFoundError", done.err)


@harness.as_user
@unittest.skipUnless(registry.NPM, "this host has no npm")
class Npm(Case):
    def test_install_and_require(self):
        with service.Engine(env=self.there.env) as engine:
            session = engine.session(net=["npm"], limits={"timeout_ms": 120000})
            self.assertEqual(session.run("require('left')", runtime="javascript")["status"], "error")
            record = session.run("npm install --no-audit --no-fund left", runtime="shell")
            self.assertEqual(record["status"], "ok", record)
            self.assertEqual({f["path"].split("/")[0] for f in record["files"]}, {"node_modules", "package.json", "package-lock.json"})
            record = session.run("require('left')()", runtime="javascript")
            self.assertEqual(record["value"]["text/plain"], "'left'", record)
            session.undo(count=2)
            self.assertEqual(session.run("require('left')", runtime="javascript")["status"], "error")
            self.assertEqual(session.value("import os; os.listdir('.')"), "[]")


if __name__ == "__main__":
    harness.main()
