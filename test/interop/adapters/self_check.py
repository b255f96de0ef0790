# SPDX-License-Identifier: Apache-2.0
"""inspect_ai's own checks of sandbox providers, run by pytest against ours.

A box has one user, so the check that wants to be root and to make another one cannot pass.
"""

import pytest
import pytest_asyncio
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from retort_client.inspect_sandbox import RetortSandboxEnvironment

EXPECTED = {"test_exec_as_user": "a box has one user, and no root"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sample():
    made = await RetortSandboxEnvironment.sample_init("check", None, {})
    yield made["default"]
    await RetortSandboxEnvironment.sample_cleanup("check", None, made, False)
    await RetortSandboxEnvironment.task_cleanup("check", None, True)


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox_env(sample, request):
    name = request.node.originalname
    if name in EXPECTED:
        request.node.add_marker(pytest.mark.xfail(reason=EXPECTED[name], strict=True))
    return sample
