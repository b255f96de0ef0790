/* What a person is asked through the client. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* An elicitation with one box to tick: @text says what for; reference taken. Owns: the caller. */
json_t *mcp_approval_question(json_t *text, const char *description);

/* Was it ticked, and sent? Whatever else came is a no. */
bool mcp_approval_is_given(const json_t *answer);
