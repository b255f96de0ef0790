# SPDX-License-Identifier: Apache-2.0
"""Clients of Jupyter Server from PyPI: AutoGen's, that of smolagents, jupyter-kernel-client, jupyter-server-client, and
jupyter_server itself as a gateway's client."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import types
from urllib.parse import urlsplit

import checks
import requests
import websocket
from checks import check
from smolagents import remote_executors
from smolagents.monitoring import AgentLogger, LogLevel

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
PICTURE = ("import base64\nfrom IPython.display import Image, display\n"
           f"display(Image(data=base64.b64decode('{PNG}')))")
AT = urlsplit(checks.URL)
QUERY = f"?token={checks.TOKEN}" if checks.TOKEN else ""
PLACE = tempfile.mkdtemp()


# ---- AutoGen: 0.7 has its executors in autogen_ext, 0.2 in autogen ----

def autogen_old():
    from autogen.coding import CodeBlock
    from autogen.coding.jupyter import JupyterCodeExecutor, JupyterConnectionInfo
    info = JupyterConnectionInfo(host=AT.hostname, use_https=False, port=AT.port, token=checks.TOKEN)
    executor = JupyterCodeExecutor(info, output_dir=PLACE, timeout=100)

    def run(*codes):
        return executor.execute_code_blocks([CodeBlock(code=c, language="python") for c in codes])
    check("autogen: cells share variables", lambda: run("x = 20\nprint(x)", "x + 22"),
          lambda r: r.exit_code == 0 and r.output.split() == ["20", "42"])
    check("autogen: an error", lambda: run("1/0"), lambda r: r.exit_code == 1 and "ZeroDivisionError" in r.output)
    check("autogen: a picture", lambda: run(PICTURE), lambda r: [p[-4:] for p in r.output_files] == [".png"])
    executor.restart()
    check("autogen: a new start", lambda: run("x"), lambda r: r.exit_code == 1 and "NameError" in r.output)
    executor.stop()


def autogen_new():
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor
    from autogen_ext.code_executors.docker_jupyter._jupyter_server import JupyterConnectionInfo
    info = JupyterConnectionInfo(host=AT.hostname, use_https=False, port=AT.port, token=checks.TOKEN)
    executor = DockerJupyterCodeExecutor(types.SimpleNamespace(connection_info=info), timeout=100, output_dir=PLACE)

    async def run(*codes):
        blocks = [CodeBlock(code=c, language="python") for c in codes]
        return await executor.execute_code_blocks(blocks, CancellationToken())
    checks.LOOP.run_until_complete(executor.start())
    check("autogen: cells share variables", lambda: run("x = 20\nprint(x)", "x + 22"),
          lambda r: r.exit_code == 0 and r.output.split() == ["20", "42"])
    check("autogen: an error", lambda: run("1/0"), lambda r: r.exit_code == 1 and "ZeroDivisionError" in r.output)
    check("autogen: a picture", lambda: run(PICTURE), lambda r: [str(p)[-4:] for p in r.output_files] == [".png"])
    checks.LOOP.run_until_complete(executor.restart())
    check("autogen: a new start", lambda: run("x"), lambda r: r.exit_code == 1 and "NameError" in r.output)


# ---- smolagents: its executors start containers, so only what they do then ----

def connect(kernel):
    return websocket.create_connection(f"ws://{AT.netloc}/api/kernels/{kernel}/channels{QUERY}")


def smolagents():
    logger = AgentLogger(level=LogLevel.OFF)
    answer = requests.post(f"{checks.URL}/api/kernels{QUERY}", timeout=100)
    check("smolagents: a kernel", lambda: answer.status_code, lambda status: status == 201)
    executor = object.__new__(remote_executors.DockerExecutor)
    remote_executors.RemotePythonExecutor.__init__(executor, [], logger)
    kernel = answer.json()["id"]
    executor.ws = connect(kernel)
    executor.ws_url = f"ws://{AT.netloc}/api/kernels/{kernel}/channels{QUERY}"

    def run(code):
        done = executor(code)
        # 1.20 returns a tuple, 1.26 an object
        return done if isinstance(done, tuple) else (done.output, done.logs, done.is_final_answer)
    check("smolagents: output and value", lambda: run("print('out')\n6 * 7"), lambda r: r == ("42", "out\n", False))

    def failure():
        try:
            return run("undefined_name")
        except Exception as error:  # AgentError, which has no base of its own in all versions
            return str(error)
    check("smolagents: an error", failure, lambda r: isinstance(r, str) and "NameError" in r)

    def variables():
        executor.send_variables({"v": [1, {"a": 2.5}]})
        return run("v")
    check("smolagents: variables", variables, lambda r: r[0] == "[1, {'a': 2.5}]")

    def tools():
        from smolagents import FinalAnswerTool
        executor.send_tools({"final_answer": FinalAnswerTool()})
        return run("final_answer(6 * 7)")
    check("smolagents: the final answer", tools, lambda r: r[0] == 42 and r[2] is True)
    check("smolagents: !pip", lambda: run("!pip --version"), lambda r: "pip" in r[1])
    executor.ws.close()


# ---- jupyter-kernel-client ----

def kernel_client():
    import jupyter_kernel_client
    kind = getattr(jupyter_kernel_client, "KernelClient", None) or jupyter_kernel_client.JupyterKernelClient
    with kind(server_url=checks.URL, token=checks.TOKEN) as client:
        check("kernel client: output and value", lambda: client.execute("print('out')\n6 * 7"),
              lambda r: r["status"] == "ok" and [o["output_type"] for o in r["outputs"]] == ["stream", "execute_result"])
        check("kernel client: an error", lambda: client.execute("1/0"), lambda r: r["status"] == "error")

        def ask():
            return client.execute_interactive("n = input('name? ')\nn.upper()", allow_stdin=True,
                                              stdin_hook=lambda m: client._manager.client.input("bob"))
        check("kernel client: input", ask, lambda r: r["content"]["status"] == "ok")
        check("kernel client: what was typed", lambda: client.execute("n"),
              lambda r: r["outputs"][0]["data"]["text/plain"] == "'bob'")

        def restart():
            client.restart()
            return client.execute("n")
        check("kernel client: a new start", restart, lambda r: r["status"] == "error")
        check("kernel client: alive", client.is_alive, bool)


# ---- jupyter-server-client: the REST API as models; its older version is a stub ----

def server_client():
    try:
        import jupyter_server_client
    except ImportError:
        return
    client = jupyter_server_client.JupyterServerClient(base_url=checks.URL, token=checks.TOKEN)
    session = client.sessions.create_session("a.ipynb", {"name": "python3"})
    at = session.kernel.id
    check("server client: version", client.get_version, lambda v: v.version)
    check("server client: kernels", client.kernels.list_kernels, lambda all_: at in [k.id for k in all_])
    check("server client: a file", lambda: (client.contents.save_file(f"{at}/d/x.txt", "hello"),
                                            client.contents.get(f"{at}/d/x.txt"))[1], lambda f: f.content == "hello")
    check("server client: a directory", lambda: client.contents.list_directory(f"{at}/d"),
          lambda files: [f.name for f in files] == ["x.txt"])
    check("server client: a name", lambda: client.sessions.rename_session(session.id, "b.ipynb"),
          lambda s: s.path == "b.ipynb")
    client.sessions.delete_session(session.id)
    check("server client: the end", client.kernels.list_kernels, lambda all_: at not in [k.id for k in all_])


# ---- jupyter_server with --gateway-url ----

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def gateway():
    port = free_port()
    env = {**os.environ, "JUPYTER_CONFIG_DIR": PLACE, "HOME": PLACE, "JUPYTER_GATEWAY_AUTH_TOKEN": checks.TOKEN or ""}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", f"--gateway-url={checks.URL}/jupyter",
         f"--port={port}", "--ServerApp.token=here", "--allow-root", "--no-browser", f"--ServerApp.root_dir={PLACE}"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    at, headers = f"http://127.0.0.1:{port}", {"Authorization": "token here"}
    try:
        def specs():
            for _ in range(600):
                try:
                    return requests.get(f"{at}/api/kernelspecs", headers=headers, timeout=100).json()
                except requests.ConnectionError:
                    time.sleep(0.1)
            return None
        check("gateway: languages", specs, lambda r: r["default"] == "python3" and "bash" in r["kernelspecs"])
        session = requests.post(f"{at}/api/sessions", headers=headers, timeout=100, json={
            "path": "n.ipynb", "type": "notebook", "name": "n", "kernel": {"name": "python3"}}).json()
        kernel = session["kernel"]["id"]

        def cell():
            ws = websocket.create_connection(
                f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels?session_id=x&token=here", timeout=100)
            header = {"msg_id": "1", "msg_type": "execute_request", "session": "x", "username": "x", "version": "5.3"}
            ws.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "channel": "shell",
                                "content": {"code": "6 * 7", "silent": False}}))
            found = []
            while not found or found[-1]["msg_type"] != "execute_reply":
                found.append(json.loads(ws.recv()))
            ws.close()
            return [m["content"]["data"]["text/plain"] for m in found if m["msg_type"] == "execute_result"]
        check("gateway: a cell", cell, lambda r: r == ["42"])
        for action, status in (("interrupt", 204), ("restart", 200)):
            check(f"gateway: {action}", lambda a=action: requests.post(
                f"{at}/api/kernels/{kernel}/{a}", headers=headers, timeout=100).status_code, lambda r, s=status: r == s)
        check("gateway: the end", lambda: requests.delete(
            f"{at}/api/sessions/{session['id']}", headers=headers, timeout=100).status_code, lambda r: r == 204)
    finally:
        server.terminate()
        server.wait()


try:
    import autogen_ext  # noqa: F401
    autogen_new()
except ImportError:
    autogen_old()
asyncio.set_event_loop(asyncio.new_event_loop())
for part in (smolagents, kernel_client, server_client, gateway):
    part()
