/* Requests for a person's approval, sent through the client. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/job.h"

/* Build an elicitation with one check box. @text describes the approval; its reference is taken.
 * Owns: the caller. */
json_t *mcp_approval_question(json_t *text, const char *description);

/* Did the person tick the box and submit the form? Any other response is a refusal. */
bool mcp_approval_is_given(const json_t *answer);

/*
 * Ask the person about the tool calls of a running step that wait for approval.
 * Returns: false if no call waits for approval, or if the client cannot ask a person.
 */
bool mcp_job_ask_for(struct mcp_job *job, const json_t *record);
/* Is this request the response to mcp_job_ask_for()? Then decide the calls accordingly, and wait
 * for the step. */
bool mcp_job_go_on(struct mcp_job *job);
/* Interrupt the step for which such a request waits. */
void mcp_job_interrupt(const struct mcp_job *job);
