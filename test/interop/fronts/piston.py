# SPDX-License-Identifier: Apache-2.0
"""Clients of Piston from PyPI: aiopyston, which is imported as pyston, and ultra-piston."""

import asyncio

import checks
from checks import check
from pyston import File, PystonClient
from pyston import exceptions as pyston_errors
from ultra_piston import File as UltraFile
from ultra_piston import PistonClient
from ultra_piston import errors as ultra_errors

CPP = '#include <iostream>\nint main(){std::cout<<"hello\\n";}'
API = checks.URL + "/api/v2"


async def make():
    return PystonClient(api_key=checks.TOKEN, base_url=API + "/")


async def answer(call):
    """The answer, or the error, which is one too."""
    try:
        return await call
    except pyston_errors.ExecutionError as error:
        return error

pyston = checks.LOOP.run_until_complete(make())


def case(title, is_good, language, code, files=(), **more):
    check("aiopyston: " + title, lambda: answer(pyston.execute(
        language, [File(code, more.pop("name", "")), *files], **more)), is_good)


async def languages():
    return [r.language for r in await pyston.get_runtimes("py")], await pyston.languages()

check("aiopyston: languages", languages, lambda r: r[0] == ["python"] and "python" in r[1])
case("a program", lambda o: o.run_stage.stdout == "hello\n" and o.success, "python", "print('hello')")
case("an alias", lambda o: o.run_stage.stdout == "hello\n", "py", "print('hello')")
case("an exception", lambda o: o.run_stage.code == 1 and "boom" in o.run_stage.output, "python", "raise ValueError('boom')")
case("an endless loop", lambda o: (o.run_stage.signal, o.run_stage.code) == ("SIGKILL", None), "python", "while True: pass",
     run_timeout=2000)
case("input and arguments", lambda o: o.run_stage.stdout == "cba ['a', 'b c']\n", "python",
     "import sys; print(input()[::-1], sys.argv[1:])", stdin="abc", args=["a", "b c"])
case("two files", lambda o: o.run_stage.stdout == "data\n", "python", "print(open('a.txt').read())",
     [File("data", "a.txt")], name="main.py")
case("c++", lambda o: o.run_stage.stdout == "hello\n" and o.compile_stage.code == 0, "c++", CPP, compile_timeout=30000)
case("c++ that does not compile", lambda o: o.compile_stage.code not in (0, None), "c++", "int main(){return x;}")
case("no such language", lambda o: isinstance(o, pyston_errors.ExecutionError), "cobol", "x")


async def several():
    return await asyncio.gather(*[pyston.execute("python", [File(f"print({i})")], run_timeout=20000) for i in range(8)])

check("aiopyston: eight at once", several, lambda found: [o.run_stage.stdout for o in found] == [f"{i}\n" for i in range(8)])
checks.LOOP.run_until_complete(pyston.close_session())

ultra = PistonClient(api_key=checks.TOKEN, rate_limit=0, base_url=API)


def asked(name, is_good, language, code, version="*", **more):
    def call():
        try:
            return ultra.post_execute(language, version, UltraFile(content=code), **more)
        except ultra_errors.BadRequestError as error:
            return error
    check("ultra-piston: " + name, call, is_good)

check("ultra-piston: runtimes", ultra.get_runtimes, lambda r: any(x.language == "python" for x in r))
check("ultra-piston: packages", ultra.get_packages, lambda r: any(x.language == "c++" for x in r))
asked("a program", lambda o: o.run.stdout == "hello\n" and o.run.code == 0, "python", "print('hello')")
asked("a version", lambda o: o.run.stdout == "hello\n", "python", "print('hello')",
      version=next(r.version for r in ultra.get_runtimes() if r.language == "python"))
asked("another version", lambda o: isinstance(o, ultra_errors.BadRequestError), "python", "print('hello')", version="2.7.1")
asked("c++ that does not compile", lambda o: o.compile.code not in (0, None) and o.run, "c++", "int main(){return x;}")
