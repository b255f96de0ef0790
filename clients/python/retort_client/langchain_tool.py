# SPDX-License-Identifier: Apache-2.0
"""A tool for LangChain: Python in a box, whose variables stay from call to call.

    from retort_client.langchain_tool import RetortPython

    with RetortPython.start() as tool:
        print(tool.invoke("6 * 7"))    # 42
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from .client import Client, Session

TEXT_MAX = 20000


class _Arguments(BaseModel):
    code: str = Field(description="Python code. The value of its last expression is shown.")


class RetortPython(BaseTool):
    name: str = "python"
    description: str = (
        "Runs Python code in a sandbox and returns what it prints, and the value of its last expression. Variables, "
        "imports and files stay for the next call. After an error, correct the code and call again.")
    args_schema: type[BaseModel] = _Arguments
    _session: Session = PrivateAttr()
    _own: Client | None = PrivateAttr(default=None)

    def __init__(self, session: Session, own: Client | None = None, **data: Any):
        super().__init__(**data)
        self._session, self._own = session, own

    @classmethod
    def start(cls, client: Client | None = None, **create: Any) -> RetortPython:
        """A tool with a session of its own: parameters as of `session.create`."""
        own = None if client else Client()
        return cls((client or own).session(**create), own)

    def _run(self, code: str, **_: Any) -> str:
        result = self._session.run(code)
        parts = [result.stdout, result.stderr, result.text, result.failure]
        text = "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
        if len(text) > TEXT_MAX:
            text = f"{text[:TEXT_MAX // 2]}\n... {len(text) - TEXT_MAX} characters left out ...\n{text[-TEXT_MAX // 2:]}"
        return text

    def close(self):
        self._session.close()
        if self._own:
            self._own.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
