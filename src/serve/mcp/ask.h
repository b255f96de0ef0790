/* What a person is asked through the client. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/job.h"

/* An elicitation with one box to tick: @text says what for; reference taken. Owns: the caller. */
json_t *mcp_approval_question(json_t *text, const char *description);

/* Did the person tick the box and send it? Any other answer is a no. */
bool mcp_approval_is_given(const json_t *answer);

/*
 * Ask for the tool calls of a running step that wait for approval.
 * Returns: false when no call waits, or the client cannot ask a person.
 */
bool mcp_job_ask_for(struct mcp_job *job, const json_t *record);
/* Is this request the answer to that? Then decide the calls accordingly, and wait for the step. */
bool mcp_job_go_on(struct mcp_job *job);
/* Interrupt the step that such a request waits for. */
void mcp_job_interrupt(const struct mcp_job *job);
