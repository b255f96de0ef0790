# SPDX-License-Identifier: Apache-2.0
"""Templates with packages: built once with the network of their registries, then boxes have them without one."""

import glob
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import harness  # noqa: E402
import registry  # noqa: E402
import service  # noqa: E402

IMPORT = "import greeter; print(greeter.WORD)"
NO_NETWORK = """
import socket
try: print(socket.create_connection((%r, %d)))
except OSError as e: print(type(e).__name__)
"""


class Case(harness.Case):
    """Each has a state directory of its own, and a registry."""

    def setUp(self):
        super().setUp()
        self.state = harness.make_dir()
        self.there = registry.Registry()
        self.addCleanup(self.there.stop)
        self.env = {**self.there.env, "XDG_STATE_HOME": self.state}

    def template(self, *args, **more):
        return harness.retort("template", *args, env={**self.env, **more.pop("env", {})}, **more)

    def build(self, *args, **more):
        done = self.template("build", *args, **more)
        self.assertEqual(done.status, 0, done)
        return done

    def refused(self, *args, status, words):
        done = self.template("build", *args)
        self.assertEqual((done.status, done.out), (status, ""), done)
        for word in words:
            self.assertIn(word, done.err)
        return done

    def run_in(self, code, *options, name="words"):
        done = harness.run(code, "--template", name, *options, env=self.env)
        self.assertEqual(done.status, 0, done)
        return done.out

    def shown(self, name="words"):
        return self.template("show", name, "--json").json()

    def names(self):
        return self.template("ls", "-q").out.split()

    def leftovers(self):
        """What an interrupted build could leave behind."""
        return [n for n in os.listdir(os.path.join(self.state, "retort", "layers")) if n.startswith("building")]


@unittest.skipUnless(registry.PIP, "no pip")
class Pip(Case):
    def test_it_is_installed_and_boxes_have_no_network(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"}, needs=["bell"], scripts=["greet = greeter:WORD.upper"])
        self.there.wheel("bell", "3", {"bell.py": "N = 3"})
        done = self.build("words", "--pip", "greeter==1.0")
        self.assertRegex(done.out, r"^words: 2 packages, [\d.]+ MiB in \d+ files\n$")
        self.assertIn("==> pip: installing bell==3 greeter==1.0\n", done.err)
        self.assertEqual(self.run_in(IMPORT), "hello\n")
        self.assertEqual(self.run_in("import bell; print(bell.N)"), "3\n")
        self.assertIn("gaierror", self.run_in(NO_NETWORK % ("pypi.host.internal", self.there.port)))
        # programs of packages are found, and pip knows of the packages
        self.assertEqual(self.run_in("!command -v greet"), "/usr/local/bin/greet\n")
        self.assertIn("greeter", self.run_in("!pip list"))
        # it is in no other box
        self.assertIn("No module named", harness.run(IMPORT, env=self.env).err)

    def test_nobody_can_change_it(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        self.build("words", "--pip", "greeter")
        self.run_in("import greeter, os\n"
                    "for act in (lambda: open(greeter.__file__, 'w'), lambda: os.remove(greeter.__file__),\n"
                    "            lambda: open(os.path.dirname(greeter.__file__) + '/new.py', 'w')):\n"
                    "    try: act()\n"
                    "    except OSError: continue\n"
                    "    raise SystemExit('it was changed')")

    def test_the_list_is_locked(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'one'"})
        self.build("words", "--pip", "greeter")
        about = self.shown()
        file, digest = self.there.files["greeter"][0]
        self.assertEqual(about["packages"], [{"kind": "pip", "name": "greeter", "version": "1.0", "hash": "sha256:" + digest}], file)
        self.assertIn(f"pip greeter 1.0 sha256:{digest}", self.template("show", "words").out)
        # a new version does not change the template, unless that is asked for
        self.there.wheel("greeter", "2.0", {"greeter.py": "WORD = 'two'"})
        self.assertIn("as built before", self.build("words", "--pip", "greeter").out)
        self.assertEqual(self.run_in(IMPORT), "one\n")
        self.build("words", "--pip", "greeter", "--upgrade")
        self.assertEqual(self.run_in(IMPORT), "two\n")
        # the same list makes the same layer
        lock = os.path.join(harness.make_dir(), "words.lock")
        with open(lock, "w", encoding="utf-8") as f:
            json.dump(about, f)
        self.build("again", "--lock", lock)
        self.assertEqual(self.run_in(IMPORT, name="again"), "one\n")
        self.assertEqual(self.shown("again")["layer"], about["layer"])
        self.assertNotEqual(self.shown("words")["layer"], about["layer"])

    def test_what_is_not_what_was_locked_is_refused(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'one'"})
        self.build("words", "--pip", "greeter")
        lock = os.path.join(harness.make_dir(), "words.lock")
        with open(lock, "w", encoding="utf-8") as f:
            f.write(self.template("show", "words", "--json").out)
        self.there.files.clear()
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'other'"})
        self.refused("again", "--lock", lock, status=1, words=["has failed", "hash"])
        self.assertEqual(self.names(), ["words"])

    def test_a_file_of_requirements(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'one'"})
        self.there.wheel("greeter", "2.0", {"greeter.py": "WORD = 'two'"})
        path = os.path.join(harness.make_dir(), "requirements.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("# all of it\n\ngreeter \\\n    <2  # the first\r\n")
        self.build("words", "--pip", "@" + path)
        self.assertEqual(self.run_in(IMPORT), "one\n")
        self.refused("words", "--pip", "@" + path + "x", status=2, words=["requirements.txtx"])

    def test_a_package_that_does_not_exist(self):
        done = self.refused("words", "--pip", "nosuch-thing", status=1, words=["words: the installation of the packages has failed", "nosuch-thing"])
        self.assertIn("==> pip: resolving nosuch-thing", done.err)
        self.assertEqual((self.names(), self.leftovers()), ([], []))

    def test_a_virtual_environment_in_tmp(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        where = os.path.join(harness.make_dir(), "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", "--system-site-packages", where], check=True)
        self.refused("words", "--pip", "greeter", "--python", where, status=1, words=["choose a Python elsewhere"])

    @harness.needs_root("a directory that is not below /tmp")
    def test_a_virtual_environment(self):
        """The packages are in its own directory, boxes have it without being told, and sessions install on top."""
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        self.there.wheel("bell", "3", {"bell.py": "N = 3"})
        place = tempfile.mkdtemp(prefix="retort-test-", dir="/opt")
        self.addCleanup(shutil.rmtree, place)
        where = os.path.join(place, "venv")
        subprocess.run(["/usr/bin/python3", "-m", "venv", where], check=True)
        self.build("words", "--pip", "greeter", "--python", where)
        self.assertEqual(self.run_in("import sys; " + IMPORT + "; print(sys.prefix)"), f"hello\n{where}\n")
        done = harness.run("python3 -c 'import sys; print(sys.prefix)'", "--template", "words", "-r", "shell", env=self.env)
        self.assertEqual((done.status, done.err), (0, ""), done)
        with service.Engine(state=os.path.join(self.state, "retort"), env=self.env) as engine:
            s = engine.session(template="words", runtime="shell")
            self.assertEqual(s.run("python3 -c 'import sys; print(sys.prefix)'")["stdout"], where + "\n")
            self.assertEqual(s.run("import greeter; greeter.WORD", runtime="python")["value"]["text/plain"], "'hello'")
        self.assertEqual(glob.glob(where + "/lib/*/site-packages/greeter*"), [], "nothing was written to the environment")
        out = self.run_in("!pip install -q bell\nimport bell, greeter; print(bell.N, greeter.WORD)", "--net", "pypi")
        self.assertEqual(out, "3 hello\n")

    def test_what_the_host_has_is_not_installed_again(self):
        done = self.build("words", "--pip", "pip")
        self.assertIn("the host's Python has all of this", done.err)
        self.assertEqual(self.shown()["packages"], [])

    def test_sessions(self):
        self.there.wheel("greeter", "1.0", {"greeter.py": "WORD = 'hello'"})
        self.build("words", "--pip", "greeter")
        state = os.path.join(self.state, "retort")
        with service.Engine(state=state, env=self.env) as engine:
            s = engine.session(template="words", preload=["greeter"])
            self.assertEqual(s.run("import greeter; greeter.WORD")["value"]["text/plain"], "'hello'")
            self.assertEqual(engine.call("session.get", session=s.id)["template"], "words")
            branch = engine.call("session.branch", session=s.id)["session"]
            self.assertEqual(engine.call("step.run", session=branch, code="greeter.WORD")["value"]["text/plain"], "'hello'")
            self.assertIn("words", [row["name"] for row in engine.call("template.list")["built"]])
            with self.assertRaisesRegex(service.Refused, "no template other"):
                engine.session(template="other")
        with service.Engine(state=state, env=self.env) as engine:
            self.assertEqual(engine.call("step.run", session=s.id, code="greeter.WORD")["value"]["text/plain"], "'hello'")


@unittest.skipUnless(registry.NPM, "no npm")
class Npm(Case):
    def test_modules_and_programs(self):
        self.there.tarball("tiny", "1.0.0", {"index.js": "exports.word = 'tiny'"})
        self.build("words", "--npm", "tiny")
        packages = self.shown()["packages"]
        self.assertEqual([(p["kind"], p["name"], p["version"], p["hash"][:7]) for p in packages], [("npm", "tiny", "1.0.0", "sha512:")])
        self.assertEqual(self.run_in("console.log(require('tiny').word)", "-r", "javascript"), "tiny\n")
        self.assertEqual(self.run_in("import t from 'tiny'; console.log(t.word)", "-r", "javascript"), "tiny\n")
        self.there.tarball("tiny", "1.0.1", {"index.js": "exports.word = 'newer'"})
        lock = os.path.join(harness.make_dir(), "words.lock")
        with open(lock, "w", encoding="utf-8") as f:
            f.write(self.template("show", "words", "--json").out)
        self.build("again", "--lock", lock)
        self.assertEqual(self.run_in("console.log(require('tiny').word)", "-r", "javascript", name="again"), "tiny\n")
        self.build("words", "--npm", "tiny", "--upgrade")
        self.assertEqual(self.run_in("console.log(require('tiny').word)", "-r", "javascript"), "newer\n")


@unittest.skipUnless(os.path.exists("/usr/bin/apt-get") and os.path.exists("/usr/bin/dpkg-deb"), "no apt")
class Apt(Case):
    """The recipe of a build, in a box whose apt has a repository of this test. (That of the host is what real builds use.)"""

    def setUp(self):
        super().setUp()
        self.dirs = {name: harness.make_dir() for name in ("in", "out", "layer", "cache", "sources")}
        self.status = os.path.join(self.dirs["in"], "status")
        with open(self.status, "w", encoding="utf-8") as f:
            f.write("Package: base\nStatus: install ok installed\nVersion: 1\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n\n")
        with open(os.path.join(self.dirs["sources"], "test.list"), "w", encoding="utf-8") as f:
            f.write(f"deb [trusted=yes] http://debian.test:{self.there.port}/apt/ ./\n")
        self.packages = []

    def deb(self, name, version, files, needs=""):
        root = harness.make_dir()
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: t <t@t>\nDescription: t\n"
        if needs:
            control += f"Depends: {needs}\n"
        for path, text in {**files, "DEBIAN/control": control, "DEBIAN/postinst": "#!/bin/sh\necho ran >/build/layer/postinst\n"}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(os.path.join(root, path), 0o755)
        os.chmod(root, 0o755)
        file = os.path.join(root, "..", f"{os.path.basename(root)}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, file], check=True, stdout=subprocess.DEVNULL)
        with open(file, "rb") as f:
            data = f.read()
        name_of_file = f"{name}_{version}_all.deb"
        self.there.page(f"/apt/./{name_of_file}", "application/octet-stream", lambda host: data)
        digest = hashlib.sha256(data).hexdigest()
        self.packages = [row for row in self.packages if f"Filename: ./{name_of_file}\n" not in row]
        self.packages.append(control + f"Filename: ./{name_of_file}\nSize: {len(data)}\nSHA256: {digest}\n\n")
        self.there.page("/apt/./Packages", "text/plain", lambda host: "".join(self.packages).encode())
        return digest

    def install(self, asked, lock=None):
        for name in ("layer", "out"):
            shutil.rmtree(self.dirs[name])
            os.mkdir(self.dirs[name])
        for name, text in (("apt", asked), ("apt.lock", lock)):
            if text is not None:
                with open(os.path.join(self.dirs["in"], name), "w", encoding="utf-8") as f:
                    f.write(text)
        recipe = os.path.join(os.path.dirname(harness.RETORT), "drivers", "packages")
        if not os.path.exists(recipe):
            recipe = os.path.join(os.path.dirname(harness.RETORT), "..", "share", "retort", "packages")
        volumes = [f"{self.dirs[name]}:/build/{name}:{'ro' if name == 'in' else 'rw'}" for name in ("in", "out", "layer", "cache")]
        volumes += [recipe + ":/build/recipe", self.dirs["sources"] + ":/etc/apt/sources.list.d", self.status + ":/var/lib/dpkg/status"]
        options = [word for volume in volumes for word in ("-v", volume)]
        return harness.run("bash /build/recipe/build.bash", "-r", "shell", "--net", f"debian.test:{self.there.port}=127.0.0.1:{self.there.port}",
                           *options)

    def read(self, path):
        with open(os.path.join(self.dirs[path.split("/")[0]], path.partition("/")[2]), encoding="utf-8") as f:
            return f.read()

    def test_it_is_unpacked_with_what_it_needs(self):
        bell = self.deb("bell", "1:2-3", {"usr/bin/bell": "#!/bin/sh\necho bell\n"})
        greeter = self.deb("greeter", "1.0", {"usr/bin/greeter": "#!/bin/sh\necho hello\n", "bin/greet": "#!/bin/sh\n", "etc/greeter.conf": "x"},
                           needs="bell, base")
        done = self.install("greeter\n")
        self.assertEqual(done.status, 0, done)
        self.assertIn("==> apt: installing bell greeter\n", done.out)
        self.assertEqual(self.read("out/packages"), f"apt\tbell\t1:2-3\tsha256:{bell}\napt\tgreeter\t1.0\tsha256:{greeter}\n")
        self.assertEqual(self.read("out/apt.lock"), f"bell=1:2-3 {bell}\ngreeter=1.0 {greeter}\n")
        self.assertEqual(self.read("layer/usr/bin/greeter"), "#!/bin/sh\necho hello\n")
        self.assertEqual(sorted(os.listdir(self.dirs["layer"])), ["etc", "usr"] if os.path.islink("/bin") else ["bin", "etc", "usr"])
        lock = self.read("out/apt.lock")
        self.deb("greeter", "2.0", {"usr/bin/greeter": "#!/bin/sh\necho newer\n"})
        self.assertEqual(self.install("greeter\n", lock).status, 0)
        self.assertEqual(self.read("out/apt.lock"), lock)
        self.deb("greeter", "1.0", {"usr/bin/greeter": "#!/bin/sh\necho other\n"}, needs="bell")
        shutil.rmtree(self.dirs["cache"])
        os.mkdir(self.dirs["cache"])
        done = self.install("greeter\n", lock)
        self.assertEqual(done.status, 1, done)
        self.assertIn("apt: greeter 1.0 is not what was locked", done.err)

    def test_what_the_cache_has_is_verified(self):
        self.deb("greeter", "1.0", {"usr/bin/greeter": "x"})
        self.assertEqual(self.install("greeter\n").status, 0)
        path = os.path.join(self.dirs["cache"], "apt/archives/greeter_1.0_all.deb")
        size = os.path.getsize(path)
        with open(path, "r+b") as f:
            f.seek(size - 40)
            f.write(b"*" * 30)
        done = self.install("greeter\n")
        self.assertEqual(done.status, 1, done)
        self.assertIn("greeter_1.0_all.deb is not what its repository says", done.err)

    def test_what_does_not_exist(self):
        self.deb("greeter", "1.0", {"usr/bin/greeter": "x"})
        done = self.install("nosuch\n")
        self.assertEqual(done.status, 100, done)
        self.assertIn("Unable to locate package nosuch", done.err)


class Command(Case):
    def test_what_it_leaves_is_in_the_template(self):
        done = self.build("words", "--", "sh", "-c", "echo \"$0 $1\" >'a file'; pwd; ln -s 'a file' link", "it's", "two words")
        self.assertIn("/opt/words\n", done.err)
        self.assertEqual(self.run_in("print(open('/opt/words/a file').read(), open('/opt/words/link').read())"), "it's two words\n it's two words\n\n")
        self.assertEqual(self.shown()["packages"], [])

    def test_it_may_use_the_network_that_it_is_given(self):
        self.there.page("/data", "text/plain", lambda host: b"some data")
        rule = f"data.test:{self.there.port}=127.0.0.1:{self.there.port}"
        code = f"import urllib.request as u; open('data', 'wb').write(u.urlopen('http://data.test:{self.there.port}/data').read())"
        self.build("words", "--net", rule, "--", "python3", "-c", code)
        self.assertEqual(self.run_in("print(open('/opt/words/data').read())"), "some data\n")
        self.assertIn("gaierror", self.run_in(NO_NETWORK % ("data.test", self.there.port)))
        self.refused("other", "--", "python3", "-c", code, status=1, words=["other: the command has failed", "name resolution"])
        other = ["--net", "other.test", "--", "python3", "-c", code]
        self.refused("other", *other, status=1, words=["data.test was refused: no rule names it: --net"])

    def test_it_fails(self):
        self.refused("words", "--", "sh", "-c", "echo so >&2; exit 7", status=1, words=["words: the command has failed: so"])
        self.refused("words", "--", "false", status=1, words=["the command has failed, with exit status 1"])
        self.refused("words", "--", "no-such-program", status=1, words=["no-such-program"])
        self.refused("words", "--timeout", "500ms", "--", "sleep", "60", status=1, words=["was stopped (timeout)", "--timeout"])
        self.assertEqual((self.names(), self.leftovers()), ([], []))

    def test_too_much(self):
        code = "while :; do head -c 4000000 /dev/zero >>big; sleep .02; done"
        self.refused("words", "--disk", "20m", "--", "sh", "-c", code, status=2, words=["20"])
        self.assertEqual((self.names(), self.leftovers()), ([], []))

    def test_interrupted(self):
        with subprocess.Popen([harness.RETORT, "template", "build", "words", "--", "sh", "-c", "echo here; sleep 60"],
                              env=harness.environment(self.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            self.assertIn(b"here\n", iter(p.stderr.readline, b""))
            p.send_signal(signal.SIGINT)
            self.assertEqual((p.wait(harness.TIMEOUT_S), p.stdout.read()), (130, b""))
        self.assertEqual(self.names(), [])
        self.assertEqual(self.leftovers(), [])

    def test_a_killed_engine_leaves_no_half_template(self):
        with subprocess.Popen([harness.RETORT, "template", "build", "words", "--", "sh", "-c", "echo here; sleep 60"],
                              env=harness.environment(self.env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
            self.assertIn(b"here\n", iter(p.stderr.readline, b""))
            subprocess.run(["pkill", "-KILL", "-P", str(p.pid)], check=True)
            p.wait(harness.TIMEOUT_S)
        self.assertEqual(self.names(), [])
        self.build("other", "--", "touch", "x")
        self.assertEqual(self.leftovers(), [])


class Names(Case):
    def test_what_is_no_name(self):
        for name in ("", ".", "..", "a/b", ".hidden", "-x", "x" * 64, "ü", "a b"):
            done = self.template("build", *(["--"] if name == "-x" else []), name, "--", "true")
            self.assertEqual((done.status, done.out), (2, ""), (name, done))
        self.assertEqual(self.names(), [])

    def test_what_is_no_package(self):
        for option in ("--pip", "--npm", "--apt"):
            self.refused("words", option, "--index-url=http://x.test", status=2, words=["is no package"])
            self.refused("words", option, "", status=2, words=["is no package"])
            self.refused("words", option, "a\nb", status=2, words=["is no package"])
        self.refused("words", status=2, words=["nothing to build"])
        self.refused(status=2, words=["name of the template is missing"])

    def test_commands_that_are_not_what_they_seem(self):
        """What pip's users write; two lists; a build that leaves nothing."""
        self.refused("words", "--pip", "one", "two", status=2, words=['unexpected "two"', "--pip A --pip B"])
        self.build("words", "--", "touch", "x")
        lock = os.path.join(harness.make_dir(), "lock")
        with open(lock, "w", encoding="utf-8") as f:
            f.write(self.template("show", "words", "--json").out)
        self.refused("words", "--lock", lock, "--pip", "one", status=2, words=["--lock says already what to install, and so does pip"])
        self.assertIn("the template is empty", self.build("empty", "--", "true").err)
        path = os.path.join(harness.make_dir(), "requirements.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("one\n-r other.txt\n")
        self.refused("words", "--pip", "@" + path, status=2, words=[path, '"-r other.txt" is no package'])

    def test_another_environment_is_another_build(self):
        command = ["--", "sh", "-c", "echo $WORD >x"]
        for word in ("one", "two"):
            done = self.build("words", "-e", "WORD=" + word, *command)
            self.assertNotIn("as built before", done.out)
            self.assertEqual(self.run_in("print(open('/opt/words/x').read())"), word + "\n\n")
        self.assertIn("as built before", self.build("words", "-e", "WORD=two", *command).out)
        self.assertNotIn("two", json.dumps(self.shown()["spec"]["options"]))

    def test_the_state_directory_of_the_environment(self):
        env = {"RETORT_STATE": os.path.join(self.state, "other")}
        self.build("words", "--", "touch", "x", env=env)
        done = harness.run("print(1)", "--template", "words", env={**self.env, **env})
        self.assertEqual((done.status, done.out), (0, "1\n"), done)
        done = harness.run("print(1)", "--template", "words", env=self.env)
        self.assertIn(f"no template words in {self.state}/retort", done.err)

    def test_what_is_no_lock(self):
        path = os.path.join(harness.make_dir(), "lock")
        for text in ("", "[]", "{}", '{"lock": [], "spec": {}}', '{"lock": {"../x": "y"}, "spec": {"pip": ["x"]}}'):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            self.refused("words", "--lock", path, status=2, words=["lock"])
        self.refused("words", "--lock", path + "x", status=2, words=["lockx"])

    def test_list_and_remove(self):
        self.build("one", "--", "touch", "x")
        self.build("two", "--", "touch", "x")
        self.assertEqual(sorted(self.names()), ["one", "two"])
        table = self.template("ls").out.splitlines()
        self.assertEqual(table[0].split(), ["NAME", "PACKAGES", "SIZE", "FILES", "BUILT", "LAYER"])
        self.assertEqual(len(table), 3)
        self.assertEqual(self.template("rm", "one", "two").out, "one\ntwo\n")
        self.assertEqual(self.names(), [])
        self.assertEqual(os.listdir(os.path.join(self.state, "retort", "layers")), [])
        for command in ("rm", "show"):
            done = self.template(command, "one")
            self.assertEqual(done.status, 2)
            self.assertIn("no template one", done.err)
        done = harness.run("print(1)", "--template", "one", env=self.env)
        self.assertEqual((done.status, done.out), (2, ""), done)
        self.assertIn("no template one", done.err)

    def test_removed_while_a_box_has_it(self):
        self.build("words", "--", "sh", "-c", "echo data >x")
        with service.Engine(state=os.path.join(self.state, "retort"), env=self.env) as engine:
            s = engine.session(template="words")
            self.assertIs(engine.call("template.remove", name="words")["in_use"], True)
            self.assertEqual(s.run("open('/opt/words/x').read()")["value"]["text/plain"], "'data\\n'")
            with self.assertRaisesRegex(service.Refused, "no template words"):
                engine.session(template="words")

    def test_the_same_files_are_kept_once(self):
        self.build("one", "--", "touch", "x")
        self.build("one", "--upgrade", "--", "touch", "x")
        self.assertEqual(len(os.listdir(os.path.join(self.state, "retort", "layers"))), 1)
        self.assertRegex(self.shown("one")["layer"], "^[0-9a-f]{64}$")


if __name__ == "__main__":
    harness.main()
