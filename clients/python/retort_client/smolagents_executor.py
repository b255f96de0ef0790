# SPDX-License-Identifier: Apache-2.0
"""An executor for smolagents: the agent's code runs in a box, and its variables stay from step to step.

    from smolagents import CodeAgent
    from retort_client.smolagents_executor import RetortExecutor

    agent = CodeAgent(tools=[], model=model)
    agent.python_executor = RetortExecutor()
"""

from __future__ import annotations

from smolagents import AgentLogger, LogLevel
from smolagents.local_python_executor import CodeOutput
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from .client import Client

try:
    from smolagents.serialization import SafeSerializer
except ImportError:  # older versions pickle
    SafeSerializer = None


class RetortExecutor(RemotePythonExecutor):
    """Parameters as of `session.create`; `client` is an engine, by default that of RETORT_URL or one of its own."""

    def __init__(self, additional_imports=(), logger=None, client=None, **create):
        logger = logger or AgentLogger(level=LogLevel.ERROR)
        self._own = client is None
        self.client = client or Client()
        super().__init__(list(additional_imports), logger)
        self.session = self.client.session(**create)
        self.installed_packages = self.install_packages(list(additional_imports))

    def _final_answer(self, message):
        """The answer in the message of the exception with which final_answer() ends a step."""
        if SafeSerializer:
            return SafeSerializer.loads(message, allow_pickle=self.allow_pickle)
        import base64
        import pickle
        return pickle.loads(base64.b64decode(message))

    def run_code_raise_errors(self, code):
        result = self.session.run(code)
        logs = result.stdout
        if result.ok:
            return CodeOutput(output=self._value(result), logs=logs, is_final_answer=False)
        error = result.error or {"name": "", "message": ""}
        if error["name"].endswith(RemotePythonExecutor.FINAL_ANSWER_EXCEPTION):
            return CodeOutput(output=self._final_answer(error["message"]), logs=logs, is_final_answer=True)
        parts = [logs, result.stderr, result.failure]
        raise AgentError("\n".join(part.rstrip("\n") for part in parts if part), self.logger)

    @staticmethod
    def _value(result):
        """A picture as a picture, anything else as its text."""
        for shown in (result.record.get("value") or {}, *result.record["displays"]):
            picture = shown.get("image/png") or shown.get("data", {}).get("image/png")
            if picture:
                import base64
                from io import BytesIO

                import PIL.Image
                return PIL.Image.open(BytesIO(base64.b64decode(picture)))
        return result.text

    def cleanup(self):
        self.session.close()
        if self._own:
            self.client.close()

    def delete(self):
        self.cleanup()
