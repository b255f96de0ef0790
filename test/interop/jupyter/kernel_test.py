# SPDX-License-Identifier: Apache-2.0
"""The tests that Jupyter has for kernels, jupyter_kernel_test, for two languages."""

import unittest

import jupyter_kernel_test


class Python(jupyter_kernel_test.KernelTests):
    kernel_name = "retort"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}, {"text": "str.isal", "matches": {"isalnum", "isalpha"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]
    code_generate_error = "raise ValueError('x')"
    code_execute_result = [{"code": "1+2+3", "result": "6"}, {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"}]
    code_display_data = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()", "mime": "image/png"}]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class JavaScript(jupyter_kernel_test.KernelTests):
    kernel_name = "retort-javascript"
    language_name = "javascript"
    file_extension = ".js"
    code_hello_world = "console.log('hello, world')"
    code_stderr = "console.error('test')"
    completion_samples = [{"text": "Math.sq", "matches": {"sqrt"}}]
    complete_code_samples = ["1", "f(2)"]
    incomplete_code_samples = ["function f() {", "`a"]
    code_generate_error = "throw new Error('x')"
    code_execute_result = [{"code": "1+2+3", "result": "6"}]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")


if __name__ == "__main__":
    unittest.main()
