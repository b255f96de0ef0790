/* The code in what a model has written. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Find the code in @text, @bytes long: the first block of Markdown between "```" lines that is in
 * @language, which its first line may name; otherwise the first block in any language; otherwise
 * what follows a "```" line that is not ended; otherwise all of @text. The first line of a block
 * names its language, or is empty. The names are those of program.languages.
 *
 * Source: github.com/bytedance/SandboxFusion, sandbox/utils/extraction.py, for the first three.
 * Returns: where the code begins; @n: its bytes.
 */
const char *completion_code(const char *text, size_t bytes, const char *language, size_t *n);
